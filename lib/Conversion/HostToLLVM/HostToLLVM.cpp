//===- HostToLLVM.cpp - host functions to the LLVM dialect
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A host function takes a user context and returns a status. The host dialect's ops are converted
// in HostOps.cpp; memref, arith and func by upstream's patterns.
//
//===----------------------------------------------------------------------===//

#include "HostOps.h"

#include "attnc/Conversion/Passes.h"
#include "attnc/Dialect/Host/Host.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir {
#define GEN_PASS_DEF_CONVERTHOSTTOLLVM
#include "attnc/Conversion/Passes.h.inc"
} // namespace mlir

using namespace mlir;

//===----------------------------------------------------------------------===//
// Host functions
//===----------------------------------------------------------------------===//

/// Adds the user context and the status. Attributes of the spec are dropped: the LLVM dialect would
/// refuse them.
static LogicalResult addContextAndStatus(func::FuncOp host) {
  auto pointer = LLVM::LLVMPointerType::get(host.getContext());
  host.removeArgAttrsAttr();
  auto discardable = llvm::to_vector(host->getDiscardableAttrs());
  for (NamedAttribute attr : discardable)
    host->removeDiscardableAttr(attr.getName());
  auto status = IntegerType::get(host.getContext(), 32);
  if (failed(host.insertArgument(0, pointer, {}, host.getLoc())) ||
      failed(host.insertResult(0, status, {})))
    return failure();
  auto back = cast<func::ReturnOp>(host.getBody().front().getTerminator());
  OpBuilder builder(back);
  Value zero = arith::ConstantIntOp::create(builder, back.getLoc(), 0, 32);
  back.getOperandsMutable().assign(zero);
  return success();
}

/// The function `size` of `host`, whose arguments it takes but for the last.
static FailureOr<func::FuncOp> findSizeFunction(ModuleOp module, func::FuncOp host) {
  auto size = module.lookupSymbol<func::FuncOp>((host.getSymName() + "_workspace").str());
  for (auto alloc : host.getBody().getOps<memref::AllocOp>())
    return alloc.emitOpError("expected temporaries in a workspace; run host-plan-workspace first");
  if (!size || !host.getBody().hasOneBlock() ||
      size.getNumArguments() + 1 != host.getNumArguments())
    return host.emitOpError("expected @")
           << host.getSymName() << "_workspace beside it; run host-plan-workspace first";
  return size;
}

/// Whether a buffer has elements; null if its type implies it.
static Value buildHasElements(OpBuilder &builder, Location loc, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (type.hasStaticShape() && type.getNumElements() > 0)
    return Value();
  Value count = arith::ConstantIndexOp::create(builder, loc, 1);
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    count = arith::MulIOp::create(builder, loc, count,
                                  memref::DimOp::create(builder, loc, buffer, dim));
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, count, zero);
}

/// Skips kernels with empty outputs: their vectors and tiles would reach beyond empty dimensions,
/// which Halide refuses.
static void skipEmptyOutputs(host::CallOp call) {
  OpBuilder builder(call);
  Value any;
  for (auto [parameter, buffer] :
       llvm::zip_equal(call.getKernel().getParameters(), call.getBuffers())) {
    if (!parameter.isWritten())
      continue;
    Value some = buildHasElements(builder, call.getLoc(), buffer);
    if (!some)
      return;
    any = any ? arith::OrIOp::create(builder, call.getLoc(), any, some).getResult() : some;
  }
  if (Value condition = call.getCondition())
    any = arith::AndIOp::create(builder, call.getLoc(), condition, any);
  call.getConditionMutable().assign(any);
}

/// The argument that a buffer is or views, -1 for others.
static int32_t findArgument(Value buffer) {
  auto argument = dyn_cast<BlockArgument>(host::getViewedBuffer(buffer));
  return argument ? argument.getArgNumber() : -1;
}

static void nameArguments(host::CallOp call) {
  auto arguments = llvm::map_to_vector(call.getBuffers(), findArgument);
  call->setAttr(host::kArgumentsAttr, DenseI32ArrayAttr::get(call.getContext(), arguments));
}

namespace {

/// A function on memrefs and its entry point on pointers to descriptors.
struct Entry {
  std::string function;
  SmallVector<MemRefType> memrefs;
  bool hasContext;
};

struct ConvertHostToLLVMPass : impl::ConvertHostToLLVMBase<ConvertHostToLLVMPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(prepare()) || failed(convert()))
      return signalPassFailure();
    LLVMTypeConverter converter(&getContext());
    for (const Entry &entry : entries)
      emitEntry(converter, entry);
  }

private:
  LogicalResult prepare();
  LogicalResult convert();
  void emitEntry(const LLVMTypeConverter &converter, const Entry &entry);

  SmallVector<Entry> entries;
};

} // namespace

static SmallVector<MemRefType> getMemRefs(func::FuncOp function) {
  return llvm::map_to_vector(function.getArgumentTypes(),
                             [](Type type) { return dyn_cast<MemRefType>(type); });
}

/// Refuses other functions; a workspace function belongs to its host function.
static LogicalResult verifyOthers(ModuleOp module, const llvm::DenseSet<func::FuncOp> &known) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && !known.contains(function))
      return function.emitOpError(
                 "expected a host function, on memrefs alone and without results, found ")
             << function.getFunctionType();
  return success();
}

/// Descriptors represent strided layouts only.
static LogicalResult verifyLayouts(func::FuncOp host) {
  for (Type type : host.getArgumentTypes())
    if (!cast<MemRefType>(type).isStrided())
      return host.emitOpError("expected strided memrefs as arguments, found ") << type;
  return success();
}

/// The host cannot access GPU tensors of the caller or results of kernels on the GPU.
static LogicalResult verifyReads(func::FuncOp host) {
  WalkResult walk = host.walk([](Operation *op) {
    if (!isa<memref::LoadOp, memref::StoreOp>(op))
      return WalkResult::advance();
    op->emitOpError("expected host.load alone to touch elements of buffers on a GPU");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult ConvertHostToLLVMPass::prepare() {
  entries.clear();
  getOperation().walk(nameArguments);
  llvm::DenseSet<func::FuncOp> known;
  for (auto host : getOperation().getOps<func::FuncOp>()) {
    if (!host::isHostFunction(host))
      continue;
    FailureOr<func::FuncOp> size = findSizeFunction(getOperation(), host);
    if (failed(size))
      return failure();
    known.insert_range(ArrayRef{host, *size});
    for (func::FuncOp function : {host, *size})
      entries.push_back({function.getSymName().str(), getMemRefs(function), function == host});
    size->removeArgAttrsAttr();
    if (failed(verifyLayouts(host)) || (onDevice && failed(verifyReads(host))) ||
        failed(addContextAndStatus(host)))
      return failure();
  }
  if (failed(verifyOthers(getOperation(), known)))
    return failure();
  getOperation().walk(skipEmptyOutputs);
  host::declareCallees(getOperation(), onDevice);
  return success();
}

/// Loops and branches become blocks, before ops in them split these.
static LogicalResult flattenLoops(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  populateSCFToControlFlowConversionPatterns(patterns);
  ConversionTarget target(*module.getContext());
  target.addIllegalDialect<scf::SCFDialect>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(module, target, std::move(patterns));
}

LogicalResult ConvertHostToLLVMPass::convert() {
  RewritePatternSet views(&getContext());
  memref::populateExpandStridedMetadataPatterns(views);
  memref::populateResolveExtractStridedMetadataPatterns(views);
  arith::populateArithExpandOpsPatterns(views);
  if (failed(applyPatternsGreedily(getOperation(), std::move(views))) ||
      failed(flattenLoops(getOperation())))
    return failure();

  LLVMTypeConverter converter(&getContext());
  RewritePatternSet patterns(&getContext());
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateAffineToStdConversionPatterns(patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  host::populateHostToLLVMPatterns(converter, patterns, onDevice);
  LLVMConversionTarget target(getContext());
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(getOperation(), target, std::move(patterns));
}

/// Loads the descriptors and calls the function with their unpacked fields.
void ConvertHostToLLVMPass::emitEntry(const LLVMTypeConverter &converter, const Entry &entry) {
  auto callee = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(entry.function);
  Location loc = callee.getLoc();
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(callee);
  callee.setLinkage(LLVM::Linkage::Internal);
  auto pointer = LLVM::LLVMPointerType::get(&getContext());
  SmallVector<Type> types(entry.hasContext ? 2 : 1, pointer);
  auto function = LLVM::LLVMFuncOp::create(
      builder, loc, entry.function + "_host",
      LLVM::LLVMFunctionType::get(callee.getFunctionType().getReturnType(), types));
  Block *body = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(body);

  SmallVector<Value> arguments;
  if (entry.hasContext)
    arguments.push_back(body->getArgument(0));
  Value descriptors = body->getArguments().back();
  for (auto [position, type] : llvm::enumerate(entry.memrefs)) {
    Value place = LLVM::GEPOp::create(builder, loc, pointer, pointer, descriptors,
                                      ArrayRef<LLVM::GEPArg>{int32_t(position)});
    Value address = LLVM::LoadOp::create(builder, loc, pointer, place);
    Value descriptor =
        LLVM::LoadOp::create(builder, loc, converter.convertType(MemRefType(type)), address);
    MemRefDescriptor::unpack(builder, loc, descriptor, type, arguments);
  }
  auto call = LLVM::CallOp::create(builder, loc, callee, arguments);
  LLVM::ReturnOp::create(builder, loc, call.getResult());
}
