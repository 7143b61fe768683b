//===- CompileKernel.cpp - CUDA kernels into files ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceCode.h"
#include "Launcher.h"

#include "attnc/Files/WholeFile.h"
#include "attnc/Machine/GpuInfo.h"
#include "attnc/Target/CodeGen/CodeGen.h"
#include "attnc/Target/NVPTX/Export.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Bitcode/BitcodeWriter.h"

using namespace mlir;
using namespace mlir::cuda;
using attn::Artefact;
using attn::GpuInfo;

static FailureOr<int64_t> getCapability(KernelOp kernel, StringRef target) {
  std::optional<GpuInfo> gpu = GpuInfo::fromTarget(target);
  if (gpu && gpu->hasTensorCores())
    return gpu->capability;
  return kernel.emitOpError("expected a target with cuda and cuda_capability_80 or above, found ")
         << target;
}

static std::unique_ptr<llvm::TargetMachine> makeHostMachine(StringRef target, Location loc) {
  FailureOr<std::string> triple = attn::getTriple(target, loc);
  if (failed(triple))
    return nullptr;
  attn::MachineOptions options;
  options.relocation = llvm::Reloc::PIC_;
  return attn::makeTargetMachine(llvm::Triple(*triple), options, loc);
}

/// What a stmt is to a pipeline: the code before it is compiled.
static std::string printKernel(KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel->print(os, OpPrintingFlags().useLocalScope());
  os << '\n';
  return text;
}

/// The bytes of one file.
static FailureOr<std::string> compile(KernelOp kernel, StringRef target, Artefact artefact,
                                      const DeviceCode &code) {
  if (artefact == Artefact::device_code)
    return code.ptx;
  if (artefact == Artefact::stmt)
    return printKernel(kernel);
  if (artefact != Artefact::object && artefact != Artefact::bitcode)
    return kernel.emitOpError("expected to be compiled to an object, bitcode, stmt or device code");
  std::unique_ptr<llvm::TargetMachine> machine = makeHostMachine(target, kernel.getLoc());
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = buildLauncher(kernel, code, context);
  attn::setTarget(*module, *machine);
  if (artefact == Artefact::object)
    return attn::emitCode(*module, *machine, llvm::CodeGenFileType::ObjectFile, kernel.getLoc());
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  llvm::WriteBitcodeToFile(*module, os);
  return bytes;
}

namespace {
struct KernelTarget : attn::KernelTargetOpInterface::ExternalModel<KernelTarget, KernelOp> {
  LogicalResult compileKernel(Operation *op, StringRef target,
                              const attn::ArtefactPaths &files) const {
    auto kernel = cast<KernelOp>(op);
    FailureOr<int64_t> capability = getCapability(kernel, target);
    FailureOr<DeviceCode> code = failure();
    if (failed(capability) || failed(code = compileToPtx(kernel, *capability)))
      return failure();
    for (const auto &[artefact, path] : files) {
      FailureOr<std::string> bytes = compile(kernel, target, artefact, *code);
      if (failed(bytes))
        return failure();
      if (auto error = attn::writeWholeFile(path, [&](raw_ostream &os) { os << *bytes; }))
        return kernel.emitOpError("could not write ") << path << ": " << error.message();
    }
    return success();
  }
};
} // namespace

void cuda::registerKernelTarget(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, CudaDialect *) {
    KernelOp::attachInterface<KernelTarget>(*context);
  });
}
