//===- Float8.cpp - f8E4M3FN as expressions -------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sign, 4 bits of an exponent of bias 7 and 3 of a mantissa; no infinities, 0x7f is NaN.
//
//===----------------------------------------------------------------------===//

#include "Float8.h"
#include "FloatExpressions.h"
#include "MathFunctions.h"

#include "attnc/Dialect/Halide/Halide.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::halide;
namespace H = ::Halide;
using H::Expr;

/// How much further left a mantissa is in an f32, and how much larger its exponents' bias is.
static constexpr int kShift = 20, kBias = 120;
/// The smallest normal number.
static constexpr float kNormal = 0x1p-6f;

bool halide::isFloat8(Type type) { return isa<Float8E4M3FNType>(type); }

bool halide::computesFloat8(Operation *op) {
  bool isFloat8 = llvm::any_of(op->getOperandTypes(), halide::isFloat8) ||
                  llvm::any_of(op->getResultTypes(), halide::isFloat8);
  return isFloat8 &&
         !isa<arith::ExtFOp, arith::TruncFOp, arith::BitcastOp, arith::SelectOp, arith::ConstantOp,
              LikelyOp, UndefOp, StrictFloatOp, FetchAheadOp, StoreBesideOp, StoreWhereOp>(op);
}

static Expr bitsOf(uint32_t number) { return H::Internal::make_const(H::UInt(32), number); }

/// With the larger bias, a subnormal 2^-9 · m is 2^-7 · (1 + m / 8), of which its double is
/// 2^-6 above twice the number; of a normal one the double is further off.
static Expr widenOnce(Expr bits) {
  H::Type f32 = H::Float(32), i32 = H::Int(32);
  Expr wide = H::cast(i32, bits) << kShift, magnitude = wide & (0x7f << kShift);
  Expr normal = H::reinterpret(f32, magnitude + (kBias << 23));
  Expr number = H::min(normal, normal * 2.0f - kNormal);
  Expr moved = blend(magnitude == 0x7f << kShift, Expr(0x7fc00000), H::reinterpret(i32, number));
  return H::reinterpret(f32, moved | (wide & i32.min()));
}

Expr halide::widenFloat8(Expr bits) { return readOnce(bits, widenOnce); }

static Expr narrowOnce(Expr e) {
  H::Type f32 = H::Float(32), u32 = H::UInt(32);
  Expr bits = H::reinterpret(u32, e),
       magnitude = H::min(bits & bitsOf(0x7fffffff), bitsOf(0x7f800000));
  Expr half = bitsOf((1 << (kShift - 1)) - 1) + ((magnitude >> kShift) & 1);
  Expr normal =
      H::min((magnitude + half) >> kShift, bitsOf((kBias << 3) + 0x7f)) - bitsOf(kBias << 3);
  // The last bit of 2^14 stands for 2^-9: the sum rounds to it.
  Expr moved = H::strict_float(H::reinterpret(f32, magnitude) + 0x1p14f);
  Expr subnormal = H::reinterpret(u32, moved) - H::reinterpret(u32, Expr(0x1p14f));
  Expr isNormal = magnitude >= H::reinterpret(u32, Expr(kNormal));
  Expr result = blend(isNormal, normal, subnormal) | ((bits >> 24) & 0x80);
  return H::reinterpret(H::Int(8), H::cast(H::UInt(8), result));
}

Expr halide::narrowToFloat8(Expr e) { return readOnce(e, narrowOnce); }
