//===- StrictFloat.cpp - float ops that stay as written -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StrictFloat.h"

using namespace ::Halide;
using namespace ::Halide::Internal;

/// The prefix of variables whose expressions stay.
static constexpr char kFast[] = "fast$";

namespace {
class Strictify : public IRGraphMutator {
  using IRGraphMutator::visit;

  template <typename Op>
  Expr visitBinary(const Op *op, Call::IntrinsicOp strict) {
    if (!op->a.type().is_float())
      return IRGraphMutator::visit(op);
    return Call::make(op->type, strict, {mutate(op->a), mutate(op->b)}, Call::PureIntrinsic);
  }

  Expr visit(const Add *op) override { return visitBinary(op, Call::strict_add); }
  Expr visit(const Sub *op) override { return visitBinary(op, Call::strict_sub); }
  Expr visit(const Mul *op) override { return visitBinary(op, Call::strict_mul); }
  Expr visit(const Div *op) override { return visitBinary(op, Call::strict_div); }
  Expr visit(const Min *op) override { return visitBinary(op, Call::strict_min); }
  Expr visit(const Max *op) override { return visitBinary(op, Call::strict_max); }
  Expr visit(const LT *op) override { return visitBinary(op, Call::strict_lt); }
  Expr visit(const LE *op) override { return visitBinary(op, Call::strict_le); }
  Expr visit(const EQ *op) override { return visitBinary(op, Call::strict_eq); }
  Expr visit(const GT *op) override {
    return op->a.type().is_float() ? mutate(op->b < op->a) : IRGraphMutator::visit(op);
  }
  Expr visit(const GE *op) override {
    return op->a.type().is_float() ? mutate(op->b <= op->a) : IRGraphMutator::visit(op);
  }
  Expr visit(const NE *op) override {
    return op->a.type().is_float() ? !mutate(op->b == op->a) : IRGraphMutator::visit(op);
  }
  Expr visit(const Let *op) override {
    return op->name.rfind(kFast, 0) == 0 ? Let::make(op->name, mutate(op->value), op->body)
                                         : IRGraphMutator::visit(op);
  }
};
} // namespace

Expr mlir::halide::strictFloat(const Expr &e) { return Strictify().mutate(e); }

Expr mlir::halide::keepFast(Expr x, const std::function<Expr(Expr)> &function) {
  std::string name = unique_name(kFast);
  return Let::make(name, x, function(Variable::make(x.type(), name)));
}
