//===- InlineRegion.cpp - regions of attn ops in halide bodies ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rebuilds a region's ops inside a halide body: index becomes i32, or i64 if a comparison needs it;
// f16 and bf16 become f32, which rounds less; tensor.extract reads an input; scalars captured from
// outside are rematerialised.
//
//===----------------------------------------------------------------------===//

#include "PipelineBuilder.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/IndexRange.h"
#include "attnc/Dialect/Attn/RegionChain.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// The type in which a scalar of a region is computed.
static Type computeType(Type type) {
  if (type.isIndex())
    return IntegerType::get(type.getContext(), 32);
  bool isShort = isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
  return isShort ? Float32Type::get(type.getContext()) : type;
}

FailureOr<Scalar> PipelineBuilder::inlineRegion(Region &region, ArrayRef<Scalar> args,
                                                ArrayRef<std::pair<Value, Scalar>> known) {
  Value yielded = region.front().getTerminator()->getOperand(0);
  return inlineRegionValue(region, yielded, args, known);
}

FailureOr<Scalar> PipelineBuilder::inlineRegionValue(Region &region, Value value,
                                                     ArrayRef<Scalar> args,
                                                     ArrayRef<std::pair<Value, Scalar>> known) {
  auto [entry, isNew] = wideIndicesOf.try_emplace(&region);
  // Regions of attn ops are verified; those of tensor.generate are not.
  if (isNew && failed(verifyChains(region)))
    return failure();
  if (isNew)
    entry->second = findWideIndices(region);
  wideIndices = entry->second;
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

/// Whether an integer is computed from a float within its region. Values in `seen` are not visited
/// again.
static bool comesFromFloat(Value value, llvm::SmallDenseSet<Value> &seen) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<tensor::ExtractOp>(op) || !seen.insert(value).second)
    return false;
  return isa<arith::FPToSIOp, arith::FPToUIOp>(op) ||
         llvm::any_of(op->getOperands(), [&](Value each) { return comesFromFloat(each, seen); });
}

static bool comesFromFloat(Value value) {
  llvm::SmallDenseSet<Value> seen;
  return comesFromFloat(value, seen);
}

/// `cast` applied to `from`, giving a 32-bit index.
static Scalar toIndex(Scalar from, Operation *cast) {
  auto cut = [](Scalar x) { return clamp(x, x.constant(-kMaxIndex), x.constant(kMaxIndex)); };
  bool isWide = from.getType().isInteger(64);
  Scalar index = convert(isWide ? cut(from) : from, from.b().getI32Type());
  // Halide finds no bounds for a value cast from a float, and fails if it is an operand of a select
  // of indices.
  return !isWide && (isCutOff(cast) || comesFromFloat(cast->getOperand(0))) ? cut(index) : index;
}

/// A cast between an integer and an index. Narrower integers are extended when read; an i1 is
/// zero-extended.
static Scalar castIndex(Scalar from, Operation *cast, Type type, bool isWide) {
  Type i64 = from.b().getI64Type();
  if (!cast->getResult(0).getType().isIndex())
    return convert(from, type);
  if (isa<arith::IndexCastUIOp>(cast) && from.getType() != i64)
    from = {from.b(), arith::ExtUIOp::create(from.b(), i64, from)};
  else if (from.getType().isInteger(1))
    from = {from.b(), arith::ExtSIOp::create(from.b(), i64, from)};
  return isWide ? convert(from, i64) : toIndex(from, cast);
}

/// Widens all index operands to 64 bits if one of them is, or if `op` requires it. Returns whether
/// they are.
bool PipelineBuilder::widenIndices(Operation *op, SmallVectorImpl<Value> &operands) {
  Type i64 = builder.getI64Type();
  auto indices = llvm::make_filter_range(llvm::zip(op->getOperands(), operands), [](auto pair) {
    return std::get<0>(pair).getType().isIndex();
  });
  bool isWide = wideIndices.contains(op);
  for (auto [written, scalar] : indices)
    isWide |= scalar.getType() == i64;
  if (isWide)
    for (auto [written, scalar] : indices)
      scalar = convert(Scalar(builder, scalar), i64);
  return isWide;
}

/// Whether `op` converts between floats with `fastmath<contract>`: a value need not be rounded to
/// the narrower type, which the kernel holds in a wider one.
static bool mayKeepPrecision(Operation *op) {
  if (!isa<arith::TruncFOp, arith::ExtFOp>(op))
    return false;
  auto flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr();
  return flags && arith::bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::contract);
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
    return op->emitError(
               "expected a region of arith and math ops with one result and tensor.extract, found ")
           << op->getName();

  APInt amount;
  if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op) &&
      matchPattern(op->getOperand(1), m_ConstantInt(&amount)) && amount.uge(amount.getBitWidth()))
    return op->emitError("expected a shift by less than ")
           << amount.getBitWidth() << ", the width, found " << amount.getSExtValue();

  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    FailureOr<Scalar> scalar = inlineValue(operand, mapping);
    if (failed(scalar))
      return failure();
    operands.push_back(*scalar);
  }
  bool isWide = widenIndices(op, operands);
  Type written = op->getResult(0).getType();
  Type type = isWide && written.isIndex() ? builder.getI64Type() : computeType(written);
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return castIndex(Scalar(builder, operands[0]), op, type, isWide);
  if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && type != written) {
    if (isa<FloatType>(written))
      return this->constant(type, cast<FloatAttr>(constant.getValue()).getValueAsDouble());
    int64_t number = cast<IntegerAttr>(constant.getValue()).getInt();
    auto attr =
        builder.getIntegerAttr(type, isWide ? number : std::clamp(number, -kMaxIndex, kMaxIndex));
    return Scalar(builder, arith::ConstantOp::create(builder, attr));
  }
  if (mayKeepPrecision(op))
    return convert(Scalar(builder, operands[0]), type);
  // These depend on the type as written in the spec.
  if (isa<arith::TruncFOp, arith::ExtFOp, arith::BitcastOp>(op)) {
    Scalar x = convert(Scalar(builder, operands[0]), op->getOperand(0).getType());
    x = isa<arith::BitcastOp>(op) ? fromBits(x, written) : convert(x, written);
    return convert(x, type);
  }
  // Halide bounds and simplifies its own division alone.
  if (ranges.isPlainDivision(op))
    return isa<arith::RemSIOp, arith::RemUIOp>(op)
               ? Scalar(builder, halide::ModOp::create(builder, operands[0], operands[1]))
               : Scalar(builder, arith::FloorDivSIOp::create(builder, operands[0], operands[1]));
  OperationState state(op->getLoc(), op->getName(), operands, type, op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return Scalar(builder, builder.create(state)->getResult(0));
}

/// Clamps computed coordinates, so that no spec reads outside a tensor; the region's own arguments
/// are in bounds.
FailureOr<Scalar> PipelineBuilder::inlineExtract(Operation *op, IRMapping &mapping) {
  auto extract = cast<tensor::ExtractOp>(op);
  Func in = input("captured" + std::to_string(inputs.size()), extract.getTensor());
  SmallVector<Scalar> coords;
  for (auto [dim, index] : llvm::enumerate(llvm::reverse(extract.getIndices()))) {
    FailureOr<Scalar> coord = inlineValue(index, mapping);
    if (failed(coord))
      return failure();
    // Wider values are clamped before truncation.
    Scalar c = coord->getType().isInteger(64) ? *coord : convert(*coord, builder.getI32Type());
    if (!isa<BlockArgument>(index))
      c = clamp(c, c.constant(0), convert(extent(in, dim) - 1, c.getType()));
    c = convert(c, builder.getI32Type());
    coords.push_back(c);
  }
  return convert(in(coords), computeType(extract.getType()));
}
