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

/// A module of an LLVM function with the kernel's body.
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

/// PTX 7.1 is that of CUDA 11.1, the first with capability 8.6.
static std::unique_ptr<llvm::TargetMachine> makeMachine(int64_t capability, Location loc) {
  std::string cpu = "sm_" + std::to_string(capability);
  attn::MachineOptions options;
  options.cpu = cpu;
  options.features = "+ptx71";
  options.level = llvm::CodeGenOptLevel::Aggressive;
  return attn::makeTargetMachine(llvm::Triple("nvptx64-nvidia-cuda"), options, loc);
}

FailureOr<std::string> cuda::compileToPtx(KernelOp kernel, int64_t capability) {
  OwningOpRef<ModuleOp> outlined = outline(kernel);
  llvm::LLVMContext context;
  if (failed(lowerToLLVM(*outlined)))
    return failure();
  std::unique_ptr<llvm::Module> module = translate(*outlined, context);
  if (!module)
    return kernel.emitOpError("could not be translated to LLVM IR");
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(capability, kernel.getLoc());
  if (!machine)
    return failure();
  attn::setTarget(*module, *machine);
  attn::runPasses(*module, machine.get(), [](llvm::PassBuilder &builder) {
    return builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3);
  });
  return attn::emitCode(*module, *machine, llvm::CodeGenFileType::AssemblyFile, kernel.getLoc());
}
