//===- Register.cpp - values that a thread computes -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Register.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn::nvvm;

/// Builds `FloatOp` or `IntOp`, by the operands' type.
template <typename FloatOp, typename IntOp>
static Reg build(Reg x, Reg y) {
  if (x.isFloat())
    return {x.b(), FloatOp::create(x.b(), x, y)};
  return {x.b(), IntOp::create(x.b(), x, y)};
}

static Reg compare(arith::CmpFPredicate floats, arith::CmpIPredicate integers, Reg x, Reg y) {
  if (x.isFloat())
    return {x.b(), arith::CmpFOp::create(x.b(), floats, x, y)};
  return {x.b(), arith::CmpIOp::create(x.b(), integers, x, y)};
}

Reg Reg::constant(ImplicitLocOpBuilder &builder, Type type, int64_t number) {
  TypedAttr attr = isa<FloatType>(type) ? TypedAttr(builder.getFloatAttr(type, number))
                                        : TypedAttr(builder.getIntegerAttr(type, number));
  return {builder, arith::ConstantOp::create(builder, attr)};
}

Reg Reg::real(ImplicitLocOpBuilder &builder, double number) {
  return {builder, arith::ConstantOp::create(builder, builder.getF32FloatAttr(number))};
}

namespace mlir::attn::nvvm {

Reg operator+(Reg x, Reg y) { return build<arith::AddFOp, arith::AddIOp>(x, y); }
Reg operator-(Reg x, Reg y) { return build<arith::SubFOp, arith::SubIOp>(x, y); }
Reg operator*(Reg x, Reg y) { return build<arith::MulFOp, arith::MulIOp>(x, y); }
Reg operator/(Reg x, Reg y) { return build<arith::DivFOp, arith::DivUIOp>(x, y); }
Reg operator%(Reg x, Reg y) { return build<arith::RemFOp, arith::RemUIOp>(x, y); }
Reg operator&(Reg x, Reg y) { return {x.b(), arith::AndIOp::create(x.b(), x, y)}; }
Reg operator|(Reg x, Reg y) { return {x.b(), arith::OrIOp::create(x.b(), x, y)}; }
Reg operator^(Reg x, Reg y) { return {x.b(), arith::XOrIOp::create(x.b(), x, y)}; }
Reg operator<(Reg x, Reg y) {
  return compare(arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt, x, y);
}
Reg operator<=(Reg x, Reg y) {
  return compare(arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle, x, y);
}
Reg operator==(Reg x, Reg y) {
  return compare(arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq, x, y);
}
Reg operator-(Reg x) { return {x.b(), arith::NegFOp::create(x.b(), x)}; }
Reg isNot(Reg x) { return x ^ x.constant(1); }

Reg select(Reg condition, Reg yes, Reg no) {
  return {condition.b(), arith::SelectOp::create(condition.b(), condition, yes, no)};
}
// Arith's would be expanded to comparisons.
Reg min(Reg x, Reg y) { return build<LLVM::MinNumOp, arith::MinSIOp>(x, y); }
Reg max(Reg x, Reg y) { return build<LLVM::MaxNumOp, arith::MaxSIOp>(x, y); }
Reg fma(Reg x, Reg y, Reg z) { return {x.b(), math::FmaOp::create(x.b(), x, y, z)}; }
Reg isNaN(Reg x) { return {x.b(), arith::CmpFOp::create(x.b(), arith::CmpFPredicate::UNO, x, x)}; }

Reg convert(Reg x, Type type) {
  Type from = x.getType();
  auto &b = x.b();
  if (from == type)
    return x;
  bool narrows = from.getIntOrFloatBitWidth() > type.getIntOrFloatBitWidth();
  if (isa<FloatType>(from))
    return narrows ? Reg(b, arith::TruncFOp::create(b, type, Value(x)))
                   : Reg(b, arith::ExtFOp::create(b, type, Value(x)));
  return narrows ? Reg(b, arith::TruncIOp::create(b, type, x))
                 : Reg(b, arith::ExtSIOp::create(b, type, x));
}

Reg bitcast(Reg x, Type type) {
  if (x.getType() == type)
    return x;
  return {x.b(), LLVM::BitcastOp::create(x.b(), type, x)};
}

Reg widen(Reg x) { return convert(x, x.b().getI64Type()); }

} // namespace mlir::attn::nvvm
