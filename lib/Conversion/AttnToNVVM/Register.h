//===- Register.h - values that a thread computes ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTONVVM_REGISTER_H
#define ATTNC_CONVERSION_ATTNTONVVM_REGISTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn::nvvm {

/// A value of a thread; operators build ops at the insertion point. Integers are divided as
/// unsigned and compared as signed ones.
class Reg {
public:
  Reg() = default;
  Reg(ImplicitLocOpBuilder &builder, Value value) : builder(&builder), value(value) {}

  operator Value() const { return value; }
  explicit operator bool() const { return bool(value); }
  Type getType() const { return value.getType(); }
  ImplicitLocOpBuilder &b() const { return *builder; }
  bool isFloat() const { return isa<FloatType>(getType()); }

  /// A constant of this value's type.
  Reg constant(int64_t number) const { return constant(*builder, getType(), number); }
  static Reg constant(ImplicitLocOpBuilder &builder, Type type, int64_t number);
  static Reg real(ImplicitLocOpBuilder &builder, double number);

private:
  ImplicitLocOpBuilder *builder = nullptr;
  Value value;
};

using Regs = SmallVector<Reg>;

Reg operator+(Reg x, Reg y);
Reg operator-(Reg x, Reg y);
Reg operator*(Reg x, Reg y);
Reg operator/(Reg x, Reg y);
Reg operator%(Reg x, Reg y);
Reg operator&(Reg x, Reg y);
Reg operator|(Reg x, Reg y);
Reg operator^(Reg x, Reg y);
Reg operator<(Reg x, Reg y);
Reg operator<=(Reg x, Reg y);
Reg operator==(Reg x, Reg y);
Reg operator-(Reg x);
Reg isNot(Reg x);
inline Reg operator>(Reg x, Reg y) { return y < x; }
inline Reg operator>=(Reg x, Reg y) { return y <= x; }

inline Reg operator+(Reg x, int64_t y) { return x + x.constant(y); }
inline Reg operator-(Reg x, int64_t y) { return x - x.constant(y); }
inline Reg operator*(Reg x, int64_t y) { return x * x.constant(y); }
inline Reg operator/(Reg x, int64_t y) { return x / x.constant(y); }
inline Reg operator%(Reg x, int64_t y) { return x % x.constant(y); }
inline Reg operator&(Reg x, int64_t y) { return x & x.constant(y); }
inline Reg operator^(Reg x, int64_t y) { return x ^ x.constant(y); }
inline Reg operator<(Reg x, int64_t y) { return x < x.constant(y); }
inline Reg operator>=(Reg x, int64_t y) { return x >= x.constant(y); }
inline Reg operator==(Reg x, int64_t y) { return x == x.constant(y); }

Reg select(Reg condition, Reg yes, Reg no);
/// Of signed integers, or of floats, where NaN loses.
Reg min(Reg x, Reg y);
Reg max(Reg x, Reg y);
inline Reg clamp(Reg x, Reg low, Reg high) { return max(min(x, high), low); }
Reg fma(Reg x, Reg y, Reg z);
/// Whether a float is NaN.
Reg isNaN(Reg x);
Reg convert(Reg x, Type type);
/// The same bits as another type.
Reg bitcast(Reg x, Type type);
/// To a signed 64-bit integer.
Reg widen(Reg x);

} // namespace mlir::attn::nvvm

#endif // ATTNC_CONVERSION_ATTNTONVVM_REGISTER_H
