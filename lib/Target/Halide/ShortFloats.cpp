//===- ShortFloats.cpp - f16 and bf16 in kernels as bits ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShortFloats.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::halide;
using namespace ::Halide;
using namespace ::Halide::Internal;

static bool isHalfPrecision(Type type) { return type.is_float() && type.bits() == 16; }

static Type bitsOf(Type type) { return isHalfPrecision(type) ? type.with_code(Type::UInt) : type; }

/// Whether `expr` only moves its operands' values, without computing.
static bool isDataMovement(const Expr &expr) {
  switch (expr.node_type()) {
  case IRNodeType::FloatImm:
  case IRNodeType::Cast:
  case IRNodeType::Reinterpret:
  case IRNodeType::Variable:
  case IRNodeType::Select:
  case IRNodeType::Load:
  case IRNodeType::Let:
    return true;
  default:
    return Call::as_intrinsic(expr, {Call::likely, Call::if_then_else});
  }
}

/// Whether `expr` compares f16 or bf16.
template <typename Op>
static bool comparesHalfPrecision(const Expr &expr) {
  const Op *op = expr.as<Op>();
  return op && isHalfPrecision(op->a.type());
}

static bool comparesHalfPrecision(const Expr &expr) {
  return comparesHalfPrecision<EQ>(expr) || comparesHalfPrecision<NE>(expr) ||
         comparesHalfPrecision<LT>(expr) || comparesHalfPrecision<LE>(expr) ||
         comparesHalfPrecision<GT>(expr) || comparesHalfPrecision<GE>(expr);
}

Expr ShortFloats::mutate(const Expr &expr) {
  if (inKernel && expr.defined() && error.empty() &&
      ((isHalfPrecision(expr.type()) && !isDataMovement(expr)) || comparesHalfPrecision(expr)))
    error = "expected f16 and bf16 arithmetic in f32 on a GPU";
  return IRMutator::mutate(expr);
}

Expr ShortFloats::visit(const FloatImm *number) {
  if (!inKernel || !isHalfPrecision(number->type))
    return number;
  uint16_t bits = number->type.is_bfloat() ? bfloat16_t(number->value).to_bits()
                                           : float16_t(number->value).to_bits();
  return make_const(UInt(16), bits);
}

/// f16 to f32 and back, to the nearest, as instructions; undefined for other types.
static Expr convertOnCuda(Type type, const Expr &value) {
  auto call = [&](const char *name, Type result, const Expr &x) {
    return Call::make(result, name, {x}, Call::PureExtern);
  };
  if (type == Float(32) && value.type() == Float(16))
    return call("llvm.convert.from.fp16.f32", type, reinterpret(UInt(16), value));
  if (type == Float(16) && value.type() == Float(32))
    return reinterpret(type, call("llvm.convert.to.fp16.f32", UInt(16), value));
  return {};
}

Expr ShortFloats::visit(const Cast *cast) {
  if (Expr converted = onCuda ? convertOnCuda(cast->type, cast->value) : Expr();
      converted.defined())
    return mutate(converted);
  if (inKernel && (isHalfPrecision(cast->type) || isHalfPrecision(cast->value.type())))
    return mutate(lower_float16_cast(cast));
  return IRMutator::visit(cast);
}

Expr ShortFloats::visit(const Reinterpret *bits) {
  Type type = inKernel ? bitsOf(bits->type) : bits->type;
  Expr value = mutate(bits->value);
  return value.type() == type ? value : reinterpret(type, value);
}

Expr ShortFloats::visit(const Variable *var) {
  if (!isHalfPrecision(var->type))
    return var;
  Expr bits = Variable::make(bitsOf(var->type), var->name);
  return inKernel ? bits : reinterpret(var->type, bits);
}

Expr ShortFloats::mutateToBits(const Expr &expr) {
  Expr result = mutate(expr);
  return isHalfPrecision(result.type()) ? reinterpret(bitsOf(result.type()), result) : result;
}

template <typename Let, typename Body>
Body ShortFloats::mutateLets(const Let *let, Body body) {
  std::vector<std::pair<std::string, Expr>> values;
  for (; let; let = body.template as<Let>()) {
    values.emplace_back(let->name, mutateToBits(let->value));
    body = let->body;
  }
  body = mutate(body);
  for (auto &[name, value] : llvm::reverse(values))
    body = Let::make(name, value, body);
  return body;
}

Expr ShortFloats::visit(const Let *let) { return mutateLets(let, Expr()); }
Stmt ShortFloats::visit(const LetStmt *let) { return mutateLets(let, Stmt()); }

Expr ShortFloats::visit(const Load *load) {
  if (!inKernel)
    return IRMutator::visit(load);
  return Load::make(bitsOf(load->type), load->name, mutate(load->index), load->image, load->param,
                    mutate(load->predicate), load->alignment);
}

Expr ShortFloats::visit(const Call *call) {
  if (!inKernel || !isHalfPrecision(call->type))
    return IRMutator::visit(call);
  return Call::make(bitsOf(call->type), call->name, mutate(call->args), call->call_type);
}

Stmt ShortFloats::visit(const For *loop) {
  bool isKernel = loop->for_type == ForType::GPUBlock;
  ScopedValue<bool> within(inKernel, inKernel || isKernel);
  ScopedValue<bool> cuda(onCuda, isKernel ? loop->device_api == DeviceAPI::CUDA : onCuda);
  return IRMutator::visit(loop);
}

Stmt ShortFloats::visit(const Allocate *allocate) {
  if (!inKernel || !isHalfPrecision(allocate->type))
    return IRMutator::visit(allocate);
  return Allocate::make(allocate->name, bitsOf(allocate->type), allocate->memory_type,
                        mutate(allocate->extents), mutate(allocate->condition),
                        mutate(allocate->body));
}
