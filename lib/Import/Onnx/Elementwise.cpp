//===- Elementwise.cpp - ONNX ops on single elements ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each op is a function of scalars, and becomes an `attn.map` or, where no operand is data, an
// index expression.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "Sizes.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value imports::floatConstant(Body &body, Type type, double value) {
  return arith::ConstantOp::create(body.b, body.loc, body.b.getFloatAttr(type, value));
}

static Value constantLike(Body &body, Type type, double value) {
  if (isa<FloatType>(type))
    return floatConstant(body, type, value);
  return arith::ConstantOp::create(body.b, body.loc, body.b.getIntegerAttr(type, int64_t(value)));
}

static Value castFromFloat(Body &body, Value x, Type type) {
  if (type.isInteger(1))
    return body.make<arith::CmpFOp>(arith::CmpFPredicate::UNE, x,
                                    floatConstant(body, x.getType(), 0));
  if (isa<IntegerType>(type))
    return body.make<arith::FPToSIOp>(type, x);
  unsigned from = x.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  if (from == to) // f16 and bf16, by way of f32
    return castFromFloat(body, castFromFloat(body, x, body.b.getF32Type()), type);
  if (from < to)
    return body.make<arith::ExtFOp>(type, x);
  return body.make<arith::TruncFOp>(type, x);
}

static Value castFromInteger(Body &body, Value x, Type type) {
  bool isBool = x.getType().isInteger(1);
  if (isa<FloatType>(type))
    return isBool ? body.make<arith::UIToFPOp>(type, x) : body.make<arith::SIToFPOp>(type, x);
  if (type.isInteger(1))
    return body.make<arith::CmpIOp>(arith::CmpIPredicate::ne, x,
                                    constantLike(body, x.getType(), 0));
  if (x.getType().getIntOrFloatBitWidth() > type.getIntOrFloatBitWidth())
    return body.make<arith::TruncIOp>(type, x);
  return isBool ? body.make<arith::ExtUIOp>(type, x) : body.make<arith::ExtSIOp>(type, x);
}

Value imports::castScalar(Body &body, Value scalar, Type type) {
  if (scalar.getType() == type)
    return scalar;
  return isa<FloatType>(scalar.getType()) ? castFromFloat(body, scalar, type)
                                          : castFromInteger(body, scalar, type);
}

TensorRef imports::castTensor(Body &body, const TensorRef &tensor, Type type) {
  if (tensor->element == type)
    return tensor;
  return makeMap(body, type, tensor->sizes, {tensor},
                 [type](Body &at, ArrayRef<Value> x) { return castScalar(at, x[0], type); });
}

//===----------------------------------------------------------------------===//
// Application
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<OpFoldResult>> imports::broadcast(Node &node, ArrayRef<TensorRef> operands) {
  size_t rank = 0;
  for (const TensorRef &operand : operands)
    rank = std::max<size_t>(rank, operand->getRank());
  SmallVector<OpFoldResult> result(rank, fixedSize(node.model.context, 1));
  for (const TensorRef &operand : operands)
    for (auto [dim, size] : llvm::enumerate(llvm::reverse(operand->sizes))) {
      OpFoldResult &wide = result[rank - 1 - dim];
      auto known = getStatic(wide), other = getStatic(size);
      if (known && other && *known != 1 && *other != 1 && *known != *other)
        return node.error() << "expected shapes that broadcast, found sizes " << *known << " and "
                            << *other;
      // A size that only the call tells is taken to be the known one, unless that is 1.
      bool isWider = isAtMostOne(wide) && !isAtMostOne(size) && other != 1;
      if (known == 1 || isWider || (!known && other && *other != 1))
        wide = size;
    }
  return result;
}

/// The only elements of dimensions that broadcast to `sizes`, if their size is not known to be 1.
static FailureOr<TensorRef> takeRepeated(Node &node, TensorRef operand,
                                         ArrayRef<OpFoldResult> sizes) {
  for (auto [dim, wide] : llvm::enumerate(sizes.take_back(operand->getRank()))) {
    OpFoldResult size = operand->sizes[dim];
    if (!isAtMostOne(size) || sameSize(size, wide))
      continue;
    auto first = makeSlice(node.body, operand, dim, fixedSize(node, 0), fixedSize(node, 1));
    if (failed(first))
      return failure();
    operand = *first;
  }
  return operand;
}

FailureOr<TensorRef> imports::applyElementwise(Node &node, ArrayRef<TensorRef> operands,
                                               Type element, ScalarFn scalar) {
  FailureOr<SmallVector<OpFoldResult>> sizes = broadcast(node, operands);
  if (failed(sizes))
    return failure();
  SmallVector<TensorRef> repeated;
  for (const TensorRef &operand : operands) {
    FailureOr<TensorRef> taken = takeRepeated(node, operand, *sizes);
    if (failed(taken))
      return failure();
    repeated.push_back(*taken);
  }
  return makeMap(node.body, element, *sizes, repeated, std::move(scalar));
}

static SmallVector<TensorRef> getInputs(Node &node) {
  SmallVector<TensorRef> inputs;
  for (int index = 0; index < node.numInputs(); ++index)
    inputs.push_back(node.input(index));
  return inputs;
}

static LogicalResult checkSameType(Node &node, ArrayRef<TensorRef> operands) {
  for (const TensorRef &operand : operands)
    if (operand->element != operands[0]->element)
      return node.error() << "expected operands of one type, found " << operands[0]->element
                          << " and " << operand->element;
  return success();
}

/// Ops of one element type. `Result` is null where it is the operands' own.
static LogicalResult importSame(Node &node, ScalarFn scalar, Type result = nullptr) {
  SmallVector<TensorRef> operands = getInputs(node);
  if (failed(checkSameType(node, operands)))
    return failure();
  FailureOr<TensorRef> tensor =
      applyElementwise(node, operands, result ? result : operands[0]->element, std::move(scalar));
  return node.setOutput(tensor);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

template <typename FloatOp, typename IntOp>
static Value combine(Body &body, ArrayRef<Value> x) {
  if (isa<FloatType>(x[0].getType()))
    return body.make<FloatOp>(x[0], x[1]);
  return body.make<IntOp>(x[0], x[1]);
}

template <typename FloatOp, typename IntOp>
static LogicalResult importBinary(Node &node) {
  return importSame(node, combine<FloatOp, IntOp>);
}

/// Folds any number of operands, from left to right.
template <typename FloatOp, typename IntOp>
static LogicalResult importVariadic(Node &node) {
  return importSame(node, [](Body &body, ArrayRef<Value> x) {
    Value result = x[0];
    for (Value next : x.drop_front())
      result = combine<FloatOp, IntOp>(body, {result, next});
    return result;
  });
}

static LogicalResult importMean(Node &node) {
  if (failed(checkFloat(node, node.input(0))) ||
      failed(importVariadic<arith::AddFOp, arith::AddIOp>(node)))
    return failure();
  TensorRef sum = node.scope.lookup(node.proto.output(0));
  double count = node.numInputs();
  return node.setOutput(
      makeMap(node.body, sum->element, sum->sizes, {sum}, [=](Body &at, ArrayRef<Value> x) {
        return at.make<arith::DivFOp>(x[0], floatConstant(at, x[0].getType(), count));
      }));
}

/// The constant that a tensor of one element holds.
static std::optional<double> getFactor(const TensorRef &tensor) {
  if (!tensor->elements || tensor->elements->size() != 1)
    return std::nullopt;
  return getConstantFloat(tensor->elements->front());
}

static Value floorMod(Body &body, Value x, Value y) {
  Value rest = body.make<arith::RemSIOp>(x, y), zero = constantLike(body, x.getType(), 0);
  Value isNegative =
      body.make<arith::CmpIOp>(arith::CmpIPredicate::slt, body.make<arith::XOrIOp>(rest, y), zero);
  Value isRest = body.make<arith::CmpIOp>(arith::CmpIPredicate::ne, rest, zero);
  return body.make<arith::SelectOp>(body.make<arith::AndIOp>(isNegative, isRest),
                                    body.make<arith::AddIOp>(rest, y), rest);
}

static LogicalResult importMod(Node &node) {
  bool asC = node.getInt("fmod", 0);
  bool isFloat = isa<FloatType>(node.input(0)->element);
  if (isFloat && !asC)
    return node.error() << "expected attribute 'fmod' 1 for floats, found 0";
  return importSame(node, [=](Body &body, ArrayRef<Value> x) -> Value {
    if (isFloat)
      return body.make<arith::RemFOp>(x[0], x[1]);
    return asC ? body.make<arith::RemSIOp>(x[0], x[1]) : floorMod(body, x[0], x[1]);
  });
}

/// The constant that an exponent is, whatever its type.
static std::optional<double> getPower(const TensorRef &exponent) {
  if (!exponent->elements || exponent->elements->size() != 1)
    return std::nullopt;
  auto integer = getConstantInt(exponent->elements->front());
  return integer ? std::optional<double>(*integer) : getFactor(exponent);
}

/// An integer times itself, which has no rounding and wraps as a product does.
static LogicalResult importIntegerPow(Node &node, std::optional<double> power) {
  TensorRef base = node.input(0);
  if (!power || *power < 0 || *power > 64 || *power != std::floor(*power))
    return node.error() << "expected a constant exponent from 0 to 64 for integers, found "
                        << (power ? std::to_string(*power) : "another");
  FailureOr<TensorRef> result = applyElementwise(
      node, {base, node.input(1)}, base->element, [=](Body &body, ArrayRef<Value> x) {
        Value product = constantLike(body, x[0].getType(), 1);
        for (int i = 0; i < *power; ++i)
          product = body.make<arith::MulIOp>(product, x[0]);
        return product;
      });
  return node.setOutput(result);
}

static LogicalResult importPow(Node &node) {
  TensorRef base = node.input(0), exponent = node.input(1);
  Type element = base->element;
  std::optional<double> power = getPower(exponent);
  if (!isa<FloatType>(element))
    return importIntegerPow(node, power);
  FailureOr<TensorRef> result = applyElementwise(
      node, {base, exponent}, element, [=](Body &body, ArrayRef<Value> x) -> Value {
        if (power == 2)
          return body.make<arith::MulFOp>(x[0], x[0]);
        if (power == 0.5)
          return body.make<math::SqrtOp>(x[0]);
        return body.make<math::PowFOp>(x[0], castScalar(body, x[1], element));
      });
  return node.setOutput(result);
}

static LogicalResult importRelu(Node &node) {
  return importSame(node, [](Body &body, ArrayRef<Value> x) {
    return combine<arith::MaximumFOp, arith::MaxSIOp>(
        body, {x[0], constantLike(body, x[0].getType(), 0)});
  });
}

/// The slope broadcasts to the input.
static LogicalResult importPRelu(Node &node) {
  return importSame(node, [](Body &body, ArrayRef<Value> x) -> Value {
    return bendBelow(body, x[0], body.make<arith::MulFOp>(x[0], x[1]));
  });
}

static LogicalResult importNeg(Node &node) {
  return importSame(node, [](Body &body, ArrayRef<Value> x) -> Value {
    if (isa<FloatType>(x[0].getType()))
      return body.make<arith::NegFOp>(x[0]);
    return body.make<arith::SubIOp>(constantLike(body, x[0].getType(), 0), x[0]);
  });
}

static LogicalResult importAbs(Node &node) {
  return importSame(node, [](Body &body, ArrayRef<Value> x) -> Value {
    if (isa<FloatType>(x[0].getType()))
      return body.make<math::AbsFOp>(x[0]);
    return body.make<math::AbsIOp>(x[0]);
  });
}

static LogicalResult importClip(Node &node) {
  TensorRef input = node.input(0), low = node.input(1), high = node.input(2);
  SmallVector<TensorRef> operands = {input};
  for (const TensorRef &bound : {low, high})
    if (bound)
      operands.push_back(bound);
  bool hasLow = bool(low);
  if (failed(checkSameType(node, operands)))
    return failure();
  FailureOr<TensorRef> result =
      applyElementwise(node, operands, input->element, [=](Body &body, ArrayRef<Value> x) -> Value {
        Value clipped = x[0];
        if (hasLow)
          clipped = combine<arith::MaximumFOp, arith::MaxSIOp>(body, {clipped, x[1]});
        if (x.size() > 1u + hasLow)
          clipped = combine<arith::MinimumFOp, arith::MinSIOp>(body, {clipped, x.back()});
        return clipped;
      });
  return node.setOutput(result);
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// Whether one is negative and the other a size: shapes are compared with -1.
static bool areDifferent(Value x, Value y) {
  if (getConstantInt(x))
    std::swap(x, y);
  auto known = getConstantInt(y);
  return known && *known < 0 && Polynomial::of(x).isNonNegative();
}

template <arith::CmpFPredicate floats, arith::CmpIPredicate integers>
static LogicalResult importCompare(Node &node) {
  return importSame(
      node,
      [](Body &body, ArrayRef<Value> x) -> Value {
        if (isa<FloatType>(x[0].getType()))
          return body.make<arith::CmpFOp>(floats, x[0], x[1]);
        if (integers == arith::CmpIPredicate::eq && areDifferent(x[0], x[1]))
          return arith::ConstantOp::create(body.b, body.loc, body.b.getBoolAttr(false));
        return body.make<arith::CmpIOp>(integers, x[0], x[1]);
      },
      node.body.b.getI1Type());
}

template <typename Op>
static LogicalResult importLogical(Node &node) {
  return importSame(
      node, [](Body &body, ArrayRef<Value> x) -> Value { return body.make<Op>(x[0], x[1]); });
}

/// All bits; an i1 has one.
static LogicalResult importNot(Node &node) {
  return importSame(node, [](Body &body, ArrayRef<Value> x) -> Value {
    return body.make<arith::XOrIOp>(x[0], constantLike(body, x[0].getType(), -1));
  });
}

static LogicalResult importIsNan(Node &node) {
  return importSame(
      node,
      [](Body &body, ArrayRef<Value> x) -> Value {
        return body.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, x[0], x[0]);
      },
      node.body.b.getI1Type());
}

static LogicalResult importWhere(Node &node) {
  SmallVector<TensorRef> operands = getInputs(node);
  if (!operands[0]->element.isInteger(1) || operands[1]->element != operands[2]->element)
    return node.error() << "expected a condition of i1 and two operands of one type, found "
                        << operands[0]->element << ", " << operands[1]->element << " and "
                        << operands[2]->element;
  FailureOr<TensorRef> result = applyElementwise(
      node, operands, operands[1]->element, [](Body &body, ArrayRef<Value> x) -> Value {
        return body.make<arith::SelectOp>(x[0], x[1], x[2]);
      });
  return node.setOutput(result);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static LogicalResult castTo(Node &node, Type type) {
  TensorRef input = node.input(0);
  if (input->element == type)
    return node.setOutput(input);
  FailureOr<TensorRef> result =
      applyElementwise(node, {input}, type, [type](Body &body, ArrayRef<Value> x) {
        return castScalar(body, x[0], type);
      });
  if (failed(result))
    return failure();
  return node.setOutput(*result);
}

/// The low 8 bits of an integer, or of a float's whole part.
static LogicalResult castToBytes(Node &node) {
  TensorRef input = node.input(0);
  if (input->isByte)
    return node.setOutput(input);
  Type byte = getByteType(node.model.context);
  FailureOr<TensorRef> result =
      applyElementwise(node, {input}, byte, [byte](Body &body, ArrayRef<Value> x) {
        return body.make<arith::AndIOp>(castScalar(body, x[0], byte),
                                        constantLike(body, byte, 255));
      });
  return node.setOutput(result);
}

static LogicalResult importCast(Node &node) {
  if (node.getInt("to", 0) == ::onnx::TensorProto::UINT8)
    return castToBytes(node);
  FailureOr<Type> type = node.getType("to");
  if (failed(type) || !*type)
    return failed(type) ? failure()
                        : LogicalResult(node.error() << "expected attribute 'to', found none");
  return castTo(node, *type);
}

static LogicalResult importCastLike(Node &node) {
  return node.input(1)->isByte ? castToBytes(node) : castTo(node, node.input(1)->element);
}

static LogicalResult importIdentity(Node &node) { return node.setOutput(node.input(0)); }

/// The identity at inference; training mode is not imported.
static LogicalResult importDropout(Node &node) {
  if (TensorRef training = node.input(2)) {
    FailureOr<SmallVector<int64_t>> mode = node.getConstants(2, "training_mode");
    if (failed(mode))
      return failure();
    if (llvm::any_of(*mode, [](int64_t value) { return value != 0; }))
      return node.error() << "expected training_mode false, found true";
  }
  if (node.wantsOutput(1)) {
    Value kept =
        arith::ConstantOp::create(node.body.b, node.body.loc, node.body.b.getBoolAttr(true));
    node.setOutput(1, makeExpand(node.body, makeElements(node.body, kept.getType(), {kept}, {}),
                                 node.input(0)->sizes));
  }
  return node.setOutput(node.input(0));
}

/// A branch that is chosen at import.
static LogicalResult importIf(Node &node) {
  FailureOr<SmallVector<int64_t>> condition = node.getConstants(0, "the condition");
  if (failed(condition) || condition->size() != 1)
    return failed(condition) ? failure()
                             : LogicalResult(node.error() << "expected one condition, found "
                                                          << condition->size());
  StringRef name = condition->front() ? "then_branch" : "else_branch";
  const auto *branch = node.getAttribute(name);
  if (!branch || branch->g().output_size() < node.proto.output_size())
    return node.error() << "expected '" << name << "' to have " << node.proto.output_size()
                        << " outputs";
  Scope inner = node.scope;
  // A branch without nodes costs a copy of the scope, too.
  node.model.budget->addNodes(1 + inner.size() / 16);
  if (failed(importNodes(node.model, branch->g(), inner, node.body)))
    return failure();
  for (int index = 0; index < node.proto.output_size(); ++index) {
    TensorRef result = inner.lookup(branch->g().output(index).name());
    if (!result)
      return node.error() << "expected '" << name << "' to compute its output '"
                          << branch->g().output(index).name() << "'";
    node.setOutput(index, result);
  }
  return success();
}

ArrayRef<OpEntry> imports::getElementwiseOps() {
  using FP = arith::CmpFPredicate;
  using IP = arith::CmpIPredicate;
  static const OpEntry entries[] = {
      {"", "Abs", "n", "x", {}, importAbs},
      {"", "Add", "nn", "x", {}, importBinary<arith::AddFOp, arith::AddIOp>},
      {"", "And", "bb", "x", {}, importLogical<arith::AndIOp>},
      {"", "BitwiseAnd", "ii", "x", {}, importLogical<arith::AndIOp>},
      {"", "BitwiseNot", "i", "x", {}, importNot},
      {"", "BitwiseOr", "ii", "x", {}, importLogical<arith::OrIOp>},
      {"", "BitwiseXor", "ii", "x", {}, importLogical<arith::XOrIOp>},
      {"", "Cast", "x", "x", {{"to", Int}, {"saturate", Int}}, importCast},
      {"", "CastLike", "xx", "x", {{"saturate", Int}}, importCastLike},
      {"", "Clip", "nn?n?", "x", {}, importClip},
      {"", "Div", "nn", "x", {}, importBinary<arith::DivFOp, arith::DivSIOp>},
      {"", "Dropout", "xf?b?", "xx?", {{"ratio", Float}, {"seed", Int}}, importDropout},
      {"", "Equal", "xx", "x", {}, importCompare<FP::OEQ, IP::eq>},
      {"", "Greater", "nn", "x", {}, importCompare<FP::OGT, IP::sgt>},
      {"", "GreaterOrEqual", "nn", "x", {}, importCompare<FP::OGE, IP::sge>},
      {"", "Identity", "x", "x", {}, importIdentity},
      {"", "If", "b", "x*", {{"else_branch", Graph}, {"then_branch", Graph}}, importIf},
      {"", "IsNaN", "f", "x", {}, importIsNan},
      {"", "Less", "nn", "x", {}, importCompare<FP::OLT, IP::slt>},
      {"", "LessOrEqual", "nn", "x", {}, importCompare<FP::OLE, IP::sle>},
      {"", "Max", "n*", "x", {}, importVariadic<arith::MaximumFOp, arith::MaxSIOp>},
      {"", "Mean", "f*", "x", {}, importMean},
      {"", "Min", "n*", "x", {}, importVariadic<arith::MinimumFOp, arith::MinSIOp>},
      {"", "Mod", "nn", "x", {{"fmod", Int}}, importMod},
      {"", "Mul", "nn", "x", {}, importBinary<arith::MulFOp, arith::MulIOp>},
      {"", "Neg", "n", "x", {}, importNeg},
      {"", "Not", "b", "x", {}, importNot},
      {"", "Or", "bb", "x", {}, importLogical<arith::OrIOp>},
      {"", "PRelu", "ff", "x", {}, importPRelu},
      {"", "Pow", "nn", "x", {}, importPow},
      {"", "Relu", "n", "x", {}, importRelu},
      {"", "Sub", "nn", "x", {}, importBinary<arith::SubFOp, arith::SubIOp>},
      {"", "Sum", "n*", "x", {}, importVariadic<arith::AddFOp, arith::AddIOp>},
      {"", "Where", "bxx", "x", {}, importWhere},
      {"", "Xor", "bb", "x", {}, importLogical<arith::XOrIOp>},
  };
  return entries;
}
