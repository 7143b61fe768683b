//===- Activations.cpp - ONNX's functions of one float --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Importer.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

using FloatFn = std::function<Value(Body &, Value)>;

static LogicalResult importFloat(Node &node, FloatFn f, Type result = nullptr) {
  TensorRef input = node.input(0);
  if (!isa<FloatType>(input->element))
    return node.error() << "expected floats, found " << input->element;
  FailureOr<TensorRef> tensor =
      applyElementwise(node, {input}, result ? result : input->element,
                       [f](Body &body, ArrayRef<Value> x) { return f(body, x[0]); });
  return node.setOutput(tensor);
}

static Value constant(Body &body, Value x, double value) {
  return floatConstant(body, x.getType(), value);
}

static Value times(Body &body, Value x, double factor) {
  return body.make<arith::MulFOp>(x, constant(body, x, factor));
}

Value imports::bendBelow(Body &body, Value x, Value below) {
  Value isNegative = body.make<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, constant(body, x, 0));
  return body.make<arith::SelectOp>(isNegative, below, x);
}

template <typename Op>
static LogicalResult importMath(Node &node) {
  return importFloat(node, [](Body &body, Value x) -> Value { return body.make<Op>(x); });
}

static LogicalResult importReciprocal(Node &node) {
  return importFloat(node, [](Body &body, Value x) -> Value {
    return body.make<arith::DivFOp>(constant(body, x, 1), x);
  });
}

static Value sigmoid(Body &body, Value x) {
  Value one = constant(body, x, 1);
  Value power = body.make<math::ExpOp>(body.make<arith::NegFOp>(x));
  return body.make<arith::DivFOp>(one, body.make<arith::AddFOp>(one, power));
}

/// Half of x, times one plus `bend`.
static Value geluWith(Body &body, Value x, Value bend) {
  Value one = constant(body, x, 1);
  return body.make<arith::MulFOp>(times(body, x, 0.5), body.make<arith::AddFOp>(one, bend));
}

static Value geluErf(Body &body, Value x) {
  return geluWith(body, x, body.make<math::ErfOp>(times(body, x, M_SQRT1_2)));
}

static Value geluTanh(Body &body, Value x) {
  Value cube = body.make<arith::MulFOp>(x, body.make<arith::MulFOp>(x, x));
  Value sum = body.make<arith::AddFOp>(x, times(body, cube, 0.044715));
  return geluWith(body, x, body.make<math::TanhOp>(times(body, sum, std::sqrt(2 / M_PI))));
}

static LogicalResult importGelu(Node &node) {
  StringRef form = node.getString("approximate", "none");
  if (form != "none" && form != "tanh")
    return node.error() << "expected attribute 'approximate' none or tanh, found " << form;
  return importFloat(node, form == "tanh" ? geluTanh : geluErf);
}

static LogicalResult importSigmoid(Node &node) { return importFloat(node, sigmoid); }

static LogicalResult importSwish(Node &node) {
  double alpha = node.getFloat("alpha", 1);
  return importFloat(node, [=](Body &body, Value x) -> Value {
    return body.make<arith::MulFOp>(x, sigmoid(body, times(body, x, alpha)));
  });
}

static LogicalResult importLeakyRelu(Node &node) {
  double alpha = node.getFloat("alpha", 0.01f);
  return importFloat(
      node, [=](Body &body, Value x) { return bendBelow(body, x, times(body, x, alpha)); });
}

static LogicalResult importElu(Node &node) {
  double alpha = node.getFloat("alpha", 1);
  return importFloat(node, [=](Body &body, Value x) {
    return bendBelow(body, x, times(body, body.make<math::ExpM1Op>(x), alpha));
  });
}

static LogicalResult importSelu(Node &node) {
  double alpha = node.getFloat("alpha", 1.67326319217681884765625);
  double gamma = node.getFloat("gamma", 1.05070102214813232421875);
  return importFloat(node, [=](Body &body, Value x) {
    Value below = times(body, body.make<math::ExpM1Op>(x), alpha);
    return times(body, bendBelow(body, x, below), gamma);
  });
}

static LogicalResult importCelu(Node &node) {
  double alpha = node.getFloat("alpha", 1);
  return importFloat(node, [=](Body &body, Value x) {
    Value power = body.make<arith::DivFOp>(x, constant(body, x, alpha));
    return bendBelow(body, x, times(body, body.make<math::ExpM1Op>(power), alpha));
  });
}

/// x / (1 + |x|)
static LogicalResult importSoftsign(Node &node) {
  return importFloat(node, [](Body &body, Value x) -> Value {
    Value magnitude = body.make<math::AbsFOp>(x);
    return body.make<arith::DivFOp>(x, body.make<arith::AddFOp>(magnitude, constant(body, x, 1)));
  });
}

static LogicalResult importThresholdedRelu(Node &node) {
  double alpha = node.getFloat("alpha", 1);
  return importFloat(node, [=](Body &body, Value x) -> Value {
    Value isAbove =
        body.make<arith::CmpFOp>(arith::CmpFPredicate::OGT, x, constant(body, x, alpha));
    return body.make<arith::SelectOp>(isAbove, x, constant(body, x, 0));
  });
}

/// 0 within ±lambd, `bias` nearer to 0 elsewhere.
static LogicalResult importShrink(Node &node) {
  double bias = node.getFloat("bias", 0), lambd = node.getFloat("lambd", 0.5);
  return importFloat(node, [=](Body &body, Value x) -> Value {
    auto shift = [&](arith::CmpFPredicate predicate, double bound, double by, Value otherwise) {
      Value isBeyond = body.make<arith::CmpFOp>(predicate, x, constant(body, x, bound));
      Value shifted = body.make<arith::AddFOp>(x, constant(body, x, by));
      return body.make<arith::SelectOp>(isBeyond, shifted, otherwise);
    };
    Value above = shift(arith::CmpFPredicate::OGT, lambd, -bias, constant(body, x, 0));
    return shift(arith::CmpFPredicate::OLT, -lambd, bias, above);
  });
}

/// max(0, min(1, alpha x + beta))
static Value hardSigmoid(Body &body, Value x, double alpha, double beta) {
  Value line = body.make<arith::AddFOp>(times(body, x, alpha), constant(body, x, beta));
  Value below = body.make<arith::MinimumFOp>(line, constant(body, x, 1));
  return body.make<arith::MaximumFOp>(below, constant(body, x, 0));
}

static LogicalResult importHardSigmoid(Node &node) {
  double alpha = node.getFloat("alpha", 0.2f), beta = node.getFloat("beta", 0.5);
  return importFloat(node, [=](Body &body, Value x) { return hardSigmoid(body, x, alpha, beta); });
}

static LogicalResult importHardSwish(Node &node) {
  return importFloat(node, [](Body &body, Value x) -> Value {
    return body.make<arith::MulFOp>(x, hardSigmoid(body, x, 1.0 / 6, 0.5));
  });
}

/// log(1 + exp(x)), where exp never overflows.
static Value softplus(Body &body, Value x) {
  Value small = body.make<arith::NegFOp>(body.make<math::AbsFOp>(x));
  Value rest = body.make<math::Log1pOp>(body.make<math::ExpOp>(small));
  return body.make<arith::AddFOp>(body.make<arith::MaximumFOp>(x, constant(body, x, 0)), rest);
}

static LogicalResult importSoftplus(Node &node) { return importFloat(node, softplus); }

static LogicalResult importMish(Node &node) {
  return importFloat(node, [](Body &body, Value x) -> Value {
    return body.make<arith::MulFOp>(x, body.make<math::TanhOp>(softplus(body, x)));
  });
}

static LogicalResult importRound(Node &node) {
  return importFloat(node, [](Body &body, Value x) { return body.make<math::RoundEvenOp>(x); });
}

static LogicalResult importSign(Node &node) {
  TensorRef input = node.input(0);
  if (!isa<FloatType>(input->element) && !input->element.isInteger(1)) {
    FailureOr<TensorRef> sign =
        applyElementwise(node, {input}, input->element, [](Body &body, ArrayRef<Value> x) -> Value {
          auto integer = [&](int64_t value) {
            return arith::ConstantOp::create(body.b, body.loc,
                                             body.b.getIntegerAttr(x[0].getType(), value));
          };
          Value capped = body.make<arith::MinSIOp>(x[0], integer(1));
          return body.make<arith::MaxSIOp>(capped, integer(-1));
        });
    return node.setOutput(sign);
  }
  return importFloat(node, [](Body &body, Value x) -> Value {
    Value zero = constant(body, x, 0);
    Value isPositive = body.make<arith::CmpFOp>(arith::CmpFPredicate::OGT, x, zero);
    // Zero and NaN are their own signs.
    Value rest = body.make<arith::SelectOp>(
        body.make<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, zero), constant(body, x, -1), x);
    return body.make<arith::SelectOp>(isPositive, constant(body, x, 1), rest);
  });
}

static LogicalResult importIsInf(Node &node) {
  bool negative = node.getInt("detect_negative", 1), positive = node.getInt("detect_positive", 1);
  auto isInf = [=](Body &body, Value x) {
    double infinity = std::numeric_limits<double>::infinity();
    auto equals = [&](double value) -> Value {
      return body.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x, constant(body, x, value));
    };
    Value none = arith::ConstantOp::create(body.b, body.loc, body.b.getBoolAttr(false));
    return body.make<arith::OrIOp>(positive ? equals(infinity) : none,
                                   negative ? equals(-infinity) : none);
  };
  return importFloat(node, isInf, node.body.b.getI1Type());
}

ArrayRef<OpEntry> imports::getActivationOps() {
  static const OpEntry entries[] = {
      {"", "Acos", "f", "x", {}, importMath<math::AcosOp>},
      {"", "Acosh", "f", "x", {}, importMath<math::AcoshOp>},
      {"", "Asin", "f", "x", {}, importMath<math::AsinOp>},
      {"", "Asinh", "f", "x", {}, importMath<math::AsinhOp>},
      {"", "Atan", "f", "x", {}, importMath<math::AtanOp>},
      {"", "Atanh", "f", "x", {}, importMath<math::AtanhOp>},
      {"", "Ceil", "f", "x", {}, importMath<math::CeilOp>},
      {"", "Celu", "f", "x", {{"alpha", Float}}, importCelu},
      {"", "Cos", "f", "x", {}, importMath<math::CosOp>},
      {"", "Cosh", "f", "x", {}, importMath<math::CoshOp>},
      {"", "Elu", "f", "x", {{"alpha", Float}}, importElu},
      {"", "Erf", "f", "x", {}, importMath<math::ErfOp>},
      {"", "Exp", "f", "x", {}, importMath<math::ExpOp>},
      {"", "Floor", "f", "x", {}, importMath<math::FloorOp>},
      {"", "Gelu", "f", "x", {{"approximate", String}}, importGelu},
      {"", "HardSigmoid", "f", "x", {{"alpha", Float}, {"beta", Float}}, importHardSigmoid},
      {"", "HardSwish", "f", "x", {}, importHardSwish},
      {"", "IsInf", "f", "x", {{"detect_negative", Int}, {"detect_positive", Int}}, importIsInf},
      {"", "LeakyRelu", "f", "x", {{"alpha", Float}}, importLeakyRelu},
      {"", "Log", "f", "x", {}, importMath<math::LogOp>},
      {"", "Mish", "f", "x", {}, importMish},
      {"", "Reciprocal", "f", "x", {}, importReciprocal},
      {"", "Round", "f", "x", {}, importRound},
      {"", "Selu", "f", "x", {{"alpha", Float}, {"gamma", Float}}, importSelu},
      {"", "Shrink", "f", "x", {{"bias", Float}, {"lambd", Float}}, importShrink},
      {"", "Sigmoid", "f", "x", {}, importSigmoid},
      {"", "Sign", "n", "x", {}, importSign},
      {"", "Sin", "f", "x", {}, importMath<math::SinOp>},
      {"", "Sinh", "f", "x", {}, importMath<math::SinhOp>},
      {"", "Softplus", "f", "x", {}, importSoftplus},
      {"", "Softsign", "f", "x", {}, importSoftsign},
      {"", "Sqrt", "f", "x", {}, importMath<math::SqrtOp>},
      {"", "Swish", "f", "x", {{"alpha", Float}}, importSwish},
      {"", "Tan", "f", "x", {}, importMath<math::TanOp>},
      {"", "Tanh", "f", "x", {}, importMath<math::TanhOp>},
      {"", "ThresholdedRelu", "f", "x", {{"alpha", Float}}, importThresholdedRelu},
  };
  return entries;
}
