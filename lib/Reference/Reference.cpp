//===- Reference.cpp - evaluates a function -------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Reference/Reference.h"

#include "Environment.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

Array::Array(Type elementType, ArrayRef<int64_t> shape) : elementType(elementType), shape(shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (llvm::MulOverflow(count, size, count) || count > int64_t(values.max_size()))
      llvm::report_bad_alloc_error("out of memory");
  values.resize(count);
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

namespace {
/// Significant bits of a float type, and the exponents of its normal numbers.
struct FloatFormat {
  int precision, least, most;
};
} // namespace

/// Of the two most used types without a look into their interface.
static FloatFormat getFormat(FloatType type) {
  if (type.isBF16())
    return {8, -126, 127};
  if (type.isF16())
    return {11, -14, 15};
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  return {int(llvm::APFloat::semanticsPrecision(semantics)),
          llvm::APFloat::semanticsMinExponent(semantics),
          llvm::APFloat::semanticsMaxExponent(semantics)};
}

static int getExponent(double value) {
  return int(llvm::bit_cast<uint64_t>(value) >> 52 & 0x7ff) - 1023;
}

/// NaN beyond the largest number, as there are no infinities.
static double roundToFloat8(double value, FloatType type) {
  llvm::APFloat rounded(value);
  bool inexact;
  rounded.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return rounded.convertToDouble();
}

double reference::roundTo(double value, FloatType type) {
  if (isa<Float8E4M3FNType>(type))
    return roundToFloat8(value, type);
  if (type.isF64() || !std::isfinite(value) || value == 0)
    return value;
  if (type.isF32())
    return static_cast<float>(value);
  FloatFormat format = getFormat(type);
  int exponent = std::max(getExponent(value), format.least);
  // 1.5 · 2^52 units in the type's last place, beside which a double has no room for parts of one.
  uint64_t biased = 1023 + 52 + exponent - format.precision + 1;
  double large = llvm::bit_cast<double>(biased << 52 | uint64_t(1) << 51);
  double rounded = (value + large) - large;
  if (getExponent(rounded) > format.most)
    return std::copysign(INFINITY, value);
  return std::copysign(rounded, value);
}

/// Functions that libraries compute to a few units in the last place.
static bool isInexact(Operation *op) {
  return isa_and_nonnull<math::MathDialect>(op->getDialect()) && op->getNumResults() == 1 &&
         isa<FloatType>(getElementTypeOrSelf(op->getResult(0))) &&
         !isa<math::AbsFOp, math::CeilOp, math::CopySignOp, math::FloorOp, math::FmaOp,
              math::RoundEvenOp, math::RoundOp, math::SqrtOp, math::TruncOp>(op);
}

bool reference::hasUnstableSteps(func::FuncOp function) {
  bool isRounded = false, isBlurred = false;
  function.walk([&](Operation *op) {
    isBlurred |= isInexact(op);
    isRounded |= isa<arith::FPToSIOp, arith::FPToUIOp, arith::CmpFOp, arith::RemFOp, math::CeilOp,
                     math::FloorOp, math::RoundEvenOp, math::RoundOp, math::TruncOp>(op);
  });
  return isRounded && isBlurred;
}

double Environment::blur(double value, Operation *op) const {
  bool isAbove = arithmetic == Arithmetic::PlainAbove;
  if ((!isAbove && arithmetic != Arithmetic::PlainBelow) || !isInexact(op))
    return value;
  double step = std::abs(value) * 2 * std::numeric_limits<float>::epsilon();
  return isAbove ? value + step : value - step;
}

double Environment::round(double value, Type type) const {
  if (arithmetic == Arithmetic::Exact)
    return value;
  if (arithmetic == Arithmetic::PlainReversed &&
      std::abs(value) < std::numeric_limits<float>::min())
    return std::copysign(0, value);
  if (type.isF64())
    return static_cast<float>(value);
  return roundTo(value, cast<FloatType>(type));
}

void Environment::round(Array &array) const {
  if (arithmetic == Arithmetic::Exact || !array.isFloat())
    return;
  for (Scalar &value : array.values)
    value.real = round(value.real, array.elementType);
}

//===----------------------------------------------------------------------===//
// Environment
//===----------------------------------------------------------------------===//

static std::string print(ArrayRef<int64_t> shape) {
  auto sizes = llvm::map_range(shape, [](int64_t size) { return std::to_string(size); });
  return "[" + llvm::join(sizes, ", ") + "]";
}

LogicalResult Environment::set(Value value, Array array) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (type && failed(verifyCompatibleShape(type.getShape(), array.shape)))
    return emitError(value.getLoc(), "expected a value of type ")
           << type << ", found shape " << print(array.shape);
  round(array);
  values[value] = std::move(array);
  return success();
}

SmallVector<int64_t> Environment::getIntegers(ArrayRef<OpFoldResult> mixed) const {
  return llvm::map_to_vector(mixed, [&](OpFoldResult entry) {
    std::optional<int64_t> constant = getConstantIntValue(entry);
    return constant ? *constant : getInteger(cast<Value>(entry));
  });
}

SmallVector<int64_t> Environment::getResultShape(AttnOpInterface op) const {
  return evaluateSizes(op.getResultSizes(0), [&](TensorDim size) { return getSize(size); });
}

void Environment::reportOnce(Operation *op, const Twine &message) {
  if (!hasError)
    op->emitError(message);
  hasError = true;
}

LogicalResult reference::checkSize(Operation *op, const Twine &what, int64_t expected,
                                   int64_t found) {
  if (expected == found)
    return success();
  return op->emitError("expected ") << what << " to be " << expected << ", found " << found;
}

int64_t reference::getLinear(ArrayRef<int64_t> shape, ArrayRef<int64_t> index) {
  int64_t linear = 0;
  for (auto [size, at] : llvm::zip_equal(shape, index))
    linear = linear * size + at;
  return linear;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

LogicalResult reference::reportUnknown(Operation *op) {
  return op->emitError("expected an op that the reference evaluates, found ") << op->getName();
}

static Evaluators collectEvaluators() {
  Evaluators evaluators;
  evaluators.add(evaluateConstant);
  for (auto add : {addAttention, addLayers, addMatmul, addPackedRows, addPages, addQuantize,
                   addSequence, addShapes, addTensorOps})
    add(evaluators);
  return evaluators;
}

static LogicalResult checkSizes(AttnOpInterface op, Environment &env) {
  std::string contradiction =
      findContradiction(op.getSizeConstraints(), [&](TensorDim size) { return env.getSize(size); });
  return contradiction.empty() ? success() : op->emitError(contradiction);
}

static LogicalResult evaluateOp(Operation *op, Environment &env) {
  static const Evaluators evaluators = collectEvaluators();
  auto attnOp = dyn_cast<AttnOpInterface>(op);
  if (attnOp && failed(checkSizes(attnOp, env)))
    return failure();
  const Evaluators::Function *evaluate = evaluators.find(op);
  return evaluate ? (*evaluate)(op, env) : evaluateElementwise(op, env);
}

static bool isEvaluated(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  Type element = tensor ? tensor.getElementType() : type;
  auto integer = dyn_cast<IntegerType>(element);
  return integer ? integer.getWidth() <= 64 : isa<FloatType, IndexType>(element);
}

/// Refuses ops whose elements don't fit into a Scalar. Constants may have lost their places, what
/// is computed from them has one.
static LogicalResult checkElements(func::FuncOp function) {
  auto check = [](Operation *op) -> WalkResult {
    for (Type type : op->getResultTypes())
      if (!isEvaluated(type) && !op->hasTrait<OpTrait::ConstantLike>())
        return op->emitError("expected elements that are index, integers of at most 64 bits or "
                             "floats, found ")
               << type;
    return WalkResult::advance();
  };
  return failure(function.walk(check).wasInterrupted());
}

FailureOr<std::vector<Array>> reference::evaluate(func::FuncOp function, ArrayRef<Array> inputs,
                                                  Arithmetic arithmetic) {
  if (failed(checkElements(function)))
    return failure();
  Environment env(arithmetic);
  for (auto [argument, input] : llvm::zip_equal(function.getArguments(), inputs))
    if (failed(env.set(argument, input)))
      return failure();
  if (!function.getBody().hasOneBlock())
    return function.emitError("expected one block");
  Block &block = function.getBody().front();
  for (Operation &op : block.without_terminator())
    if (failed(evaluateOp(&op, env)) || env.hasFailed())
      return failure();
  std::vector<Array> results;
  for (Value result : block.getTerminator()->getOperands())
    results.push_back(env.get(result));
  return results;
}
