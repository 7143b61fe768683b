//===- FunctionConverter.cpp - convert ops to kernels and their calls -----===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionConverter.h"

#include "Rows.h"
#include "SizeChecks.h"

#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/Decompose.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult FunctionConverter::convert(const Lowerings &all) {
  lowerings = &all;
  if (!function.getBody().hasOneBlock())
    return function.emitError("expected a function of one block, found ")
           << function.getBody().getBlocks().size();
  if (failed(host.create()))
    return failure();
  Block &block = function.getBody().front();
  if (failed(convertBlock(block)) ||
      failed(convertReturn(cast<func::ReturnOp>(block.getTerminator()))))
    return failure();
  host.finish();
  return success();
}

LogicalResult FunctionConverter::convertBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(convertOp(op)))
      return failure();
  return success();
}

LogicalResult FunctionConverter::convertOp(Operation &op) {
  if (!isDecomposed(&op))
    return op.emitOpError("expected ops that have kernels: run attn-decompose first");
  if (auto *lower = lowerings->find(&op))
    return (*lower)(&op, *this);
  // Scalars are rematerialised where a region or a size reads them.
  if (llvm::none_of(op.getResultTypes(), llvm::IsaPred<TensorType>))
    return success();
  if (!isElementwise(&op))
    return op.emitError("expected an op that convert-attn-to-halide knows, found ") << op.getName();
  return convertToPipeline(&op, [&](PipelineBuilder &p) { return lowerElementwise(p, &op, cpu); });
}

LogicalResult FunctionConverter::convertReturn(func::ReturnOp op) {
  for (auto [n, tensor] : llvm::enumerate(op.getOperands()))
    if (host.getBuffer(tensor) != host.getResultBuffer(n) &&
        failed(copy(op.getLoc(), tensor, host.getResultBuffer(n))))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Requests of lowerings
//===----------------------------------------------------------------------===//

/// The rank is limited by the number of variable names, sizes by indices of 32 bits.
static LogicalResult verifyShapes(TypeRange types, function_ref<InFlightDiagnostic()> emitError) {
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && tensor.getRank() > kMaxRank)
      return emitError() << "expected tensors of rank " << kMaxRank << " or less, found "
                         << tensor.getRank();
    auto isTooLarge = [](int64_t size) { return size > halide::kMaxSize; };
    if (tensor && llvm::any_of(tensor.getShape(), isTooLarge))
      return emitError() << "expected sizes of at most " << halide::kMaxSize << ", found " << type;
  }
  return success();
}

LogicalResult FunctionConverter::checkComputed(Operation *op) {
  auto emitError = [&] { return op->emitOpError(); };
  if (failed(verifyShapes(op->getOperandTypes(), emitError)) ||
      failed(verifyShapes(op->getResultTypes(), emitError)))
    return failure();
  requireSizes(host, *op);
  return success();
}

LogicalResult FunctionConverter::convertToPipeline(Operation *op, Lower lower) {
  if (failed(checkComputed(op)))
    return failure();
  return call(op->getLoc(), op->getName().stripDialect(), op->getResult(0), lower);
}

LogicalResult FunctionConverter::callKernel(ArrayRef<Value> destinations, Location loc,
                                            StringRef kind, Build build,
                                            function_ref<Value()> condition) {
  std::string stem = (function.getName() + "_").str(); // keywords are no longer ones
  if (!isCIdentifier(stem))
    stem = "function_";
  std::string name;
  do
    name = (stem + kind + "_" + Twine(numKernels++)).str();
  while (SymbolTable::lookupSymbolIn(function->getParentOp(), name));
  OpBuilder builder(function);
  FailureOr<BuiltKernel> built = build(builder, name);
  if (failed(built))
    return failure();
  built->kernel->setAttr(kKindAttr, builder.getStringAttr(kind));
  if (built->fallback)
    shareFallback(*built, kind);
  host.call(loc, share(built->kernel), built->inputs, destinations,
            condition ? condition() : Value());
  return success();
}

LogicalResult FunctionConverter::callOn(ArrayRef<Value> destinations, Location loc, StringRef kind,
                                        Lower lower, function_ref<Value()> condition) {
  auto build = [&](OpBuilder &builder, StringRef name) -> FailureOr<BuiltKernel> {
    PipelineBuilder p(builder, loc, name);
    if (failed(lower(p)))
      return failure();
    return p.getKernel();
  };
  return callKernel(destinations, loc, kind, build, condition);
}

LogicalResult FunctionConverter::call(Location loc, StringRef kind, Value result, Lower lower,
                                      function_ref<Value()> condition) {
  return callOn(host.getDestination(result), loc, kind, lower, condition);
}

LogicalResult FunctionConverter::copy(Location loc, Value tensor, Value to,
                                      function_ref<Value()> condition) {
  if (failed(verifyShapes(tensor.getType(), [&] { return emitError(loc); })))
    return failure();
  return callOn(
      to, loc, "copy", [&](PipelineBuilder &p) { return lowerCopy(p, tensor, cpu); }, condition);
}

LogicalResult FunctionConverter::copyUnlessInPlace(Location loc, Value tensor, Value result) {
  Value from = host.getBuffer(tensor), to = host.getDestination(result);
  auto isElsewhere = [&] { return host.isElsewhere(from, to); };
  bool mayBeInPlace = isa<BlockArgument>(from) && isa<BlockArgument>(to);
  return copy(loc, tensor, to,
              mayBeInPlace ? function_ref<Value()>(isElsewhere) : function_ref<Value()>());
}

LogicalResult FunctionConverter::requireNoneWrong(Location loc, StringRef kind, Value tensor,
                                                  const Twine &message, Lower lower) {
  Value left = host.allocate(MemRefType::get({1}, IntegerType::get(function.getContext(), 32)));
  auto lowerCheck = [&](PipelineBuilder &p) {
    p.getOp()->setAttr(kCheckAttr, p.b().getUnitAttr());
    return lower(p);
  };
  if (failed(callOn(left, loc, kind, lowerCheck)))
    return failure();
  host.requireNoneWrong(loc, left, tensor, message);
  return success();
}

/// Before the kernel, so that equal kernels name the same one.
void FunctionConverter::shareFallback(const BuiltKernel &built, StringRef kind) {
  KernelOpInterface kernel = built.kernel, fallback = built.fallback;
  fallback->setAttr(kKindAttr, StringAttr::get(function.getContext(), kind));
  ++numKernels;
  kernel->setAttr("fallback", FlatSymbolRefAttr::get(share(fallback).getNameAttr()));
}

FailureOr<Value> FunctionConverter::getCompact(Value tensor) {
  if (host.isCompact(tensor))
    return host.getBuffer(tensor);
  Value compact = host.allocate(tensor);
  if (failed(copy(tensor.getLoc(), tensor, compact)))
    return failure();
  return compact;
}

/// Reuses an equal kernel built before: layers of one shape are compiled once.
KernelOpInterface FunctionConverter::share(KernelOpInterface kernel) {
  StringAttr name = kernel.getNameAttr();
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel.setName(StringAttr::get(name.getContext(), ""));
  kernel->print(os, OpPrintingFlags().useLocalScope());
  kernel.setName(name);
  auto [known, isNew] = kernels.try_emplace(text, kernel);
  if (!isNew) {
    kernel->erase();
    --numKernels;
  }
  return known->second;
}
