//===- DeviceCode.cpp - the PTX of a kernel -------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceCode.h"

#include "attnc/Target/CodeGen/CodeGen.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::cuda;

/// A tensor map is a parameter of the kernel, of which copies take the address.
static void markMaps(KernelOp kernel, LLVM::LLVMFuncOp function) {
  OpBuilder builder(function);
  unsigned count = function.getNumArguments();
  auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 128);
  for (unsigned i = count - kernel.getMaps().size(); i < count; ++i) {
    function.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes));
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(64));
    function.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(), builder.getUnitAttr());
  }
}

/// Declares the shared memory that the launch asks for, and takes its address. Swizzled rows repeat
/// every 1024 bytes. Comes after the passes, which verify two symbols of a module in threads:
/// kernels are compiled in forked processes, which have none.
static void lowerSharedMemory(LLVM::LLVMFuncOp function) {
  auto uses = llvm::to_vector(function.getOps<SharedMemoryOp>());
  if (uses.empty())
    return;
  OpBuilder builder(function);
  constexpr StringLiteral name = "shared_memory";
  auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
  LLVM::GlobalOp::create(builder, function.getLoc(), bytes, /*isConstant=*/false,
                         LLVM::Linkage::External, name, /*value=*/Attribute(),
                         /*alignment=*/1024, /*addrSpace=*/3);
  builder.setInsertionPointToStart(&function.front());
  Value address =
      LLVM::AddressOfOp::create(builder, function.getLoc(), uses.front().getType(), name);
  for (SharedMemoryOp use : uses) {
    use.replaceAllUsesWith(address);
    use.erase();
  }
}

/// A module of an LLVM function with the kernel's body. The number of threads is all that ptxas
/// needs to take changes of a warpgroup's registers (setmaxnreg): it starts with an equal share.
static OwningOpRef<ModuleOp> outline(KernelOp kernel) {
  Location loc = kernel.getLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder builder(module->getBodyRegion());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                          llvm::to_vector(kernel.getBody().getArgumentTypes()));
  auto function = LLVM::LLVMFuncOp::create(builder, loc, kernel.getSymName(), type);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    builder.getDenseI32ArrayAttr({int32_t(kernel.getThreads()), 1, 1}));
  IRMapping mapping;
  kernel.getBody().cloneInto(&function.getBody(), mapping);
  auto end = cast<ReturnOp>(function.getBody().back().getTerminator());
  builder.setInsertionPoint(end);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  end.erase();
  markMaps(kernel, function);
  return module;
}

static LogicalResult lowerToLLVM(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.addPass(arith::createArithExpandOpsPass());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createConvertNVVMToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  return passes.run(module);
}

static std::unique_ptr<llvm::Module> translate(ModuleOp module, llvm::LLVMContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  return translateModuleToLLVMIR(module, context, "device");
}

/// PTX 7.1 is that of CUDA 11.1, the first with capability 8.6; 8.0 the first with what runs on 9.0
/// alone.
static DeviceCode describe(int64_t capability) {
  bool isExact = capability == 90;
  return {"", capability, isExact, isExact ? 80 : 71, isExact ? 120 : 111};
}

static std::unique_ptr<llvm::TargetMachine> makeMachine(const DeviceCode &code, Location loc) {
  std::string cpu = "sm_" + std::to_string(code.capability) + (code.isExact ? "a" : "");
  std::string features = "+ptx" + std::to_string(code.ptxVersion);
  attn::MachineOptions options;
  options.cpu = cpu;
  options.features = features;
  options.level = llvm::CodeGenOptLevel::Aggressive;
  return attn::makeTargetMachine(llvm::Triple("nvptx64-nvidia-cuda"), options, loc);
}

FailureOr<DeviceCode> cuda::compileToPtx(KernelOp kernel, int64_t capability) {
  DeviceCode code = describe(capability);
  OwningOpRef<ModuleOp> outlined = outline(kernel);
  llvm::LLVMContext context;
  if (failed(lowerToLLVM(*outlined)))
    return failure();
  lowerSharedMemory(*outlined->getOps<LLVM::LLVMFuncOp>().begin());
  std::unique_ptr<llvm::Module> module = translate(*outlined, context);
  if (!module)
    return kernel.emitOpError("could not be translated to LLVM IR");
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(code, kernel.getLoc());
  if (!machine)
    return failure();
  attn::setTarget(*module, *machine);
  attn::runPasses(*module, machine.get(), [](llvm::PassBuilder &builder) {
    return builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3);
  });
  FailureOr<std::string> ptx =
      attn::emitCode(*module, *machine, llvm::CodeGenFileType::AssemblyFile, kernel.getLoc());
  if (failed(ptx))
    return failure();
  code.ptx = std::move(*ptx);
  return code;
}
