//===- RegionInliner.cpp - regions of attn ops in device code -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionInliner.h"

#include "Instructions.h"

#include "attnc/Dialect/Attn/Erf.h"
#include "attnc/Dialect/Attn/IndexRange.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::nvvm;

/// The type in which a scalar of a region is computed.
static Type computeType(Type type) {
  if (type.isIndex())
    return IntegerType::get(type.getContext(), 32);
  return type.isF16() || type.isBF16() ? Float32Type::get(type.getContext()) : type;
}

RegionInliner::RegionInliner(KernelBuilder &k, Region &region) : k(k), region(region) {
  if (!region.empty())
    wideIndices = findWideIndices(region);
}

Reg RegionInliner::inlined(ArrayRef<Reg> arguments) {
  return inlined(region.front().getTerminator()->getOperand(0), arguments);
}

Reg RegionInliner::inlined(Value value, ArrayRef<Reg> arguments) {
  IRMapping mapping;
  for (auto [from, to] : llvm::zip_equal(region.getArguments(), arguments))
    mapping.map(from, Value(convert(to, computeType(from.getType()))));
  return inlineValue(value, mapping);
}

Reg RegionInliner::inlineValue(Value value, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return {k.b(), known};
  Reg scalar = inlineOp(value.getDefiningOp(), mapping);
  mapping.map(value, Value(scalar));
  return scalar;
}

Reg RegionInliner::inlineConstant(arith::ConstantOp op) {
  Type type = computeType(op.getType());
  if (auto number = dyn_cast<FloatAttr>(op.getValue()))
    return {k.b(),
            arith::ConstantOp::create(k.b(), k.b().getFloatAttr(type, number.getValueAsDouble()))};
  int64_t number = cast<IntegerAttr>(op.getValue()).getInt();
  if (wideIndices.contains(op))
    return Reg::constant(k.b(), k.b().getI64Type(), number);
  if (op.getType().isIndex())
    number = std::clamp(number, -kMaxIndex, kMaxIndex);
  return Reg::constant(k.b(), type, number);
}

/// A cast between an integer and an index; a number that is not wide is saturated.
Reg RegionInliner::castIndex(Operation *op, Reg x) {
  if (!op->getResult(0).getType().isIndex())
    return convert(x, op->getResult(0).getType());
  Type i64 = k.b().getI64Type();
  if (isa<arith::IndexCastUIOp>(op) && x.getType() != i64)
    x = {k.b(), arith::ExtUIOp::create(k.b(), i64, x)};
  if (wideIndices.contains(op))
    return convert(x, i64);
  if (x.getType().getIntOrFloatBitWidth() >= 32)
    x = clamp(x, x.constant(-kMaxIndex), x.constant(kMaxIndex));
  return convert(x, k.b().getI32Type());
}

/// Widens all index operands to 64 bits if one of them is, or if `op` requires it. Returns whether
/// they are.
bool RegionInliner::widenIndices(Operation *op, Regs &operands) {
  auto indices = llvm::make_filter_range(llvm::zip(op->getOperands(), operands), [](auto pair) {
    return std::get<0>(pair).getType().isIndex();
  });
  bool isWide = wideIndices.contains(op);
  for (auto [written, operand] : indices)
    isWide |= operand.getType().isInteger(64);
  if (isWide)
    for (auto [written, operand] : indices)
      operand = widen(operand);
  return isWide;
}

/// Whether `op` converts between floats with `fastmath<contract>`: a value need not be rounded to
/// the narrower type.
static bool mayKeepPrecision(Operation *op) {
  auto flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr();
  return flags && arith::bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::contract);
}

/// The nearest bf16 as f32. The instruction for pairs is the fast one.
static Reg roundToBF16(KernelBuilder &k, Reg x) {
  Reg pair = pack(k, x, k.f32(0), k.b().getBF16Type());
  return bitcast({k.b(), arith::ShLIOp::create(k.b(), pair, k.i32(16))}, x.getType());
}

/// Casts of floats and of their bits, which depend on the type as written in the spec.
Reg RegionInliner::round(Operation *op, Reg x) {
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  if (!isa<arith::BitcastOp>(op) && mayKeepPrecision(op))
    return convert(x, computeType(to));
  if (!isa<arith::BitcastOp>(op) && x.getType().isF32() && computeType(to).isF32() &&
      (from.isBF16() || to.isBF16()))
    return roundToBF16(k, x);
  if (isa<FloatType>(from))
    x = convert(x, from);
  x = isa<arith::BitcastOp>(op) ? bitcast(x, to) : convert(x, to);
  return isa<FloatType>(to) ? convert(x, computeType(to)) : x;
}

/// Clamps computed coordinates, so that no spec reads outside a tensor; the region's own arguments
/// are in bounds.
Reg RegionInliner::inlineExtract(Operation *op, IRMapping &mapping) {
  auto extract = cast<tensor::ExtractOp>(op);
  Buffer buffer = k.input("captured", extract.getTensor());
  Regs indices;
  for (auto [index, size] : llvm::zip(extract.getIndices(), buffer.sizes)) {
    Reg i = inlineValue(index, mapping);
    indices.push_back(
        isa<BlockArgument>(index) ? i : clamp(i, i.constant(0), convert(size, i.getType()) - 1));
  }
  Reg element = k.loadElement(buffer, indices, extract.getType());
  return isa<FloatType>(extract.getType()) ? convert(element, computeType(extract.getType()))
                                           : element;
}

/// Whether only functions read a quotient that are as smooth there as elsewhere: an ulp more or
/// less changes little.
static bool isReadBySmoothFunctions(Operation *op) {
  return computeType(op->getResult(0).getType()).isF32() &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           return isa<math::TanhOp, math::ExpOp, math::Exp2Op>(user);
         });
}

/// A division takes a dozen instructions, a product one.
static Reg divideByConstant(KernelBuilder &k, Operation *op, Reg x) {
  FloatAttr divisor;
  if (!isa<arith::DivFOp>(op) || !matchPattern(op->getOperand(1), m_Constant(&divisor)) ||
      !isReadBySmoothFunctions(op))
    return {};
  constexpr double kSmallest = 1e-30, kLargest = 1e30;
  double y = divisor.getValueAsDouble();
  bool isUsual = std::abs(y) >= kSmallest && std::abs(y) <= kLargest;
  return isUsual ? x * k.f32(1 / y) : Reg();
}

/// Coefficients from the highest power down.
static Reg polynomial(KernelBuilder &k, Reg x, ArrayRef<float> coefficients) {
  Reg sum = k.f32(coefficients[0]);
  for (float coefficient : coefficients.drop_front())
    sum = fma(sum, x, k.f32(coefficient));
  return sum;
}

static Reg erf(KernelBuilder &k, Reg x) {
  Reg magnitude(k.b(), math::AbsFOp::create(k.b(), x)), t = min(magnitude, k.f32(kLargestErf));
  Reg small = fma(polynomial(k, x * x, kErfNearZero), x, x);
  Reg large = k.f32(1) - exp2(k, polynomial(k, t, kErfTail) * t);
  large = {k.b(), math::CopySignOp::create(k.b(), large, x)};
  return select(isNaN(x), x, select(t < k.f32(kErfTailFrom), small, large));
}

/// Functions that LLVM has no code for on this target.
Reg RegionInliner::inlineFunction(Operation *op, ArrayRef<Reg> operands) {
  constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.6931471805599453;
  Reg x = operands[0];
  if (isa<math::ExpOp>(op))
    return exp2(k, x * k.f32(kLog2E));
  if (isa<math::Exp2Op>(op))
    return exp2(k, x);
  if (isa<math::LogOp>(op))
    return log2(k, x) * k.f32(kLn2);
  if (isa<math::Log2Op>(op))
    return log2(k, x);
  if (isa<math::RsqrtOp>(op))
    return k.f32(1) / Reg(k.b(), math::SqrtOp::create(k.b(), x));
  if (isa<math::ErfOp>(op))
    return erf(k, x);
  if (!isa<math::TanhOp>(op))
    return {};
  // (1 - e) / (1 + e) for e = exp(-2 |x|), with the sign of x.
  Reg e = exp2(k, Reg(k.b(), math::AbsFOp::create(k.b(), x)) * k.f32(-2 * kLog2E));
  Reg magnitude = divideFast(k, k.f32(1) - e, k.f32(1) + e);
  return {k.b(), math::CopySignOp::create(k.b(), magnitude, x)};
}

Reg RegionInliner::inlineOp(Operation *op, IRMapping &mapping) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return inlineConstant(constant);
  if (isa<tensor::ExtractOp>(op))
    return inlineExtract(op, mapping);
  if (auto dim = dyn_cast<tensor::DimOp>(op))
    return k.input("captured", dim.getSource()).sizes[*dim.getConstantIndex()];
  Regs operands = llvm::map_to_vector(op->getOperands(),
                                      [&](Value operand) { return inlineValue(operand, mapping); });
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return castIndex(op, operands[0]);
  bool isWide = widenIndices(op, operands);
  if (isa<arith::TruncFOp, arith::ExtFOp, arith::BitcastOp>(op))
    return round(op, operands[0]);
  if (Reg quotient = divideByConstant(k, op, operands[0]))
    return quotient;
  if (Reg value = isa<math::MathDialect>(op->getDialect()) ? inlineFunction(op, operands) : Reg())
    return value;
  auto values = llvm::map_to_vector(operands, [](Reg reg) { return Value(reg); });
  Type written = op->getResult(0).getType();
  Type type = isWide && written.isIndex() ? k.b().getI64Type() : computeType(written);
  OperationState state(op->getLoc(), op->getName(), values, type, op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return {k.b(), k.b().create(state)->getResult(0)};
}
