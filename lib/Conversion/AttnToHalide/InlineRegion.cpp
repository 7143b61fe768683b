//===- InlineRegion.cpp - regions of attn ops in halide bodies ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region's ops are rebuilt inside a halide body: index becomes i32, f16 and bf16
// become f32, which rounds less, a tensor read becomes a read of an input, and scalars
// from outside are rebuilt from what defines them.
//
//===----------------------------------------------------------------------===//

#include "PipelineBuilder.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

/// The type that a scalar of a region is computed in.
static Type computeType(Type type) {
  if (type.isIndex())
    return IntegerType::get(type.getContext(), 32);
  return type.isF16() || type.isBF16() ? Float32Type::get(type.getContext()) : type;
}

FailureOr<Scalar> PipelineBuilder::inlineRegion(Region &region, ArrayRef<Scalar> args,
                                                ArrayRef<std::pair<Value, Scalar>> known) {
  Value yielded = region.front().getTerminator()->getOperand(0);
  return inlineRegionValue(region, yielded, args, known);
}

FailureOr<Scalar> PipelineBuilder::inlineRegionValue(Region &region, Value value,
                                                     ArrayRef<Scalar> args,
                                                     ArrayRef<std::pair<Value, Scalar>> known) {
  IRMapping mapping;
  for (auto [from, to] : llvm::zip_equal(region.getArguments(), args))
    mapping.map(from, Value(convert(to, computeType(from.getType()))));
  for (auto [from, to] : known)
    mapping.map(from, Value(convert(to, computeType(from.getType()))));
  return inlineValue(value, mapping);
}

FailureOr<Scalar> PipelineBuilder::inlineValue(Value value, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return Scalar(builder, known);
  Operation *op = value.getDefiningOp();
  if (!op)
    return emitError(value.getLoc(), "expected a tensor argument, found a scalar: pass it as a "
                                     "tensor without dimensions and read it with tensor.extract");
  FailureOr<Scalar> scalar = inlineOp(op, mapping);
  if (succeeded(scalar))
    mapping.map(value, Value(*scalar));
  return scalar;
}

/// Whether an integer follows from a float within its region.
static bool comesFromFloat(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<tensor::ExtractOp>(op))
    return false;
  return isa<arith::FPToSIOp, arith::FPToUIOp>(op) ||
         llvm::any_of(op->getOperands(), comesFromFloat);
}

/// What is larger becomes this as an index: no tensor is that long, and sums with positions still
/// have room in 32 bits.
static constexpr int64_t kMost = int64_t(1) << 30;

/// `from`, which stands for `value`, as an index.
static Scalar toIndex(Scalar from, Value value) {
  bool isWide = from.getType().isInteger(64);
  if (isWide)
    from = clamp(from, from.constant(-kMost), from.constant(kMost));
  Scalar index = convert(from, from.b().getI32Type());
  // Halide takes what was a float for unbounded, and fails where it is one of several
  // indices to choose from.
  if (!isWide && comesFromFloat(value))
    return clamp(index, index.constant(-kMost), index.constant(kMost));
  return index;
}

FailureOr<Scalar> PipelineBuilder::inlineOp(Operation *op, IRMapping &mapping) {
  if (isa<tensor::ExtractOp>(op))
    return inlineExtract(op, mapping);
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    auto type = cast<RankedTensorType>(dim.getSource().getType());
    return extent(input("captured" + std::to_string(inputs.size()), dim.getSource()),
                  type.getRank() - 1 - *dim.getConstantIndex());
  }
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || !isMemoryEffectFree(op) ||
      !isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return op->emitError("expected arith, math and tensor.extract in a region, found ")
           << op->getName();

  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    FailureOr<Scalar> scalar = inlineValue(operand, mapping);
    if (failed(scalar))
      return failure();
    operands.push_back(*scalar);
  }
  Type written = op->getResult(0).getType(), type = computeType(written);
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    Scalar from(builder, operands[0]);
    if (!written.isIndex())
      return convert(from, type);
    // A narrower type is extended as it is read; an i1 by itself as a number without a sign.
    Type wide = builder.getI64Type();
    if (isa<arith::IndexCastUIOp>(op) && from.getType() != wide)
      from = {builder, arith::ExtUIOp::create(builder, wide, from)};
    else if (from.getType().isInteger(1))
      from = {builder, arith::ExtSIOp::create(builder, wide, from)};
    return toIndex(from, op->getOperand(0));
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && type != written)
    return this->constant(
        type, isa<FloatType>(written)
                  ? cast<FloatAttr>(constant.getValue()).getValueAsDouble()
                  : std::clamp(cast<IntegerAttr>(constant.getValue()).getInt(), -kMost, kMost));
  // These are about the type as it is written.
  if (isa<arith::TruncFOp, arith::ExtFOp, arith::BitcastOp>(op)) {
    Scalar x = convert(Scalar(builder, operands[0]), op->getOperand(0).getType());
    x = isa<arith::BitcastOp>(op) ? fromBits(x, written) : convert(x, written);
    return convert(x, type);
  }
  OperationState state(op->getLoc(), op->getName(), operands, type, op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return Scalar(builder, builder.create(state)->getResult(0));
}

/// A coordinate that is not simply one of the region's own (these are within bounds
/// already) is clamped: whatever a spec computes, nothing outside the tensor is read.
FailureOr<Scalar> PipelineBuilder::inlineExtract(Operation *op, IRMapping &mapping) {
  auto extract = cast<tensor::ExtractOp>(op);
  Func in = input("captured" + std::to_string(inputs.size()), extract.getTensor());
  SmallVector<Scalar> coords;
  for (auto [dim, index] : llvm::enumerate(llvm::reverse(extract.getIndices()))) {
    FailureOr<Scalar> coord = inlineValue(index, mapping);
    if (failed(coord))
      return failure();
    Scalar c = convert(*coord, builder.getI32Type());
    if (!isa<BlockArgument>(index))
      c = clamp(c, i32(0), extent(in, dim) - 1);
    coords.push_back(c);
  }
  return convert(in(coords), computeType(extract.getType()));
}
