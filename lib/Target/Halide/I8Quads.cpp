//===- I8Quads.cpp - products of four bytes -------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "I8Quads.h"
#include "BF16Pairs.h"

using namespace ::Halide;
using namespace ::Halide::Internal;

static constexpr char kMake[] = "make_i8_quad", kDot[] = "dot_i8_quad";

Expr mlir::halide::makeI8Quad(const std::vector<Expr> &bytes) {
  return Call::make(Int(32, bytes[0].type().lanes()), kMake, bytes, Call::PureExtern);
}

Expr mlir::halide::dotI8Quad(const Expr &acc, const Expr &a, const Expr &b) {
  return Call::make(acc.type(), kDot, {acc, a, b}, Call::PureExtern);
}

mlir::halide::I8QuadsPass::I8QuadsPass(const Target &target)
    // The CPUs whose vpdpbusd Halide knows are those with instructions for bf16.
    : hasInstruction(hasBF16Instructions(target)) {}

/// The bytes as one number, the first in the lowest bits.
static Expr joinBytes(const std::vector<Expr> &bytes) {
  Type quads = Int(32, bytes[0].type().lanes());
  Expr loaded = mlir::halide::loadInterleaved(bytes);
  if (loaded.defined())
    return reinterpret(quads, loaded);
  Type u32 = UInt(32, quads.lanes());
  Expr joined = make_zero(u32);
  for (int i = 3; i >= 0; --i)
    joined = (joined << 8) | cast(u32, reinterpret(UInt(8, quads.lanes()), bytes[i]));
  return reinterpret(quads, joined);
}

/// What CodeGen_X86 matches to vpdpbusd.
static Expr dotByInstruction(const Expr &acc, const Expr &a, const Expr &b) {
  int lanes = acc.type().lanes();
  Expr products =
      widening_mul(reinterpret(UInt(8, 4 * lanes), a), reinterpret(Int(8, 4 * lanes), b));
  return acc +
         VectorReduce::make(VectorReduce::Add, Cast::make(Int(32, 4 * lanes), products), lanes);
}

/// The products of every second byte at a time, two in a lane: pmaddwd on x86-64.
static Expr dotByPairs(const Expr &acc, const Expr &a, const Expr &b) {
  int lanes = acc.type().lanes();
  Type i16 = Int(16, 2 * lanes), u16 = UInt(16, 2 * lanes);
  Expr x = reinterpret(u16, a), y = reinterpret(i16, b);
  auto dot = [&](const Expr &left, const Expr &right) {
    return VectorReduce::make(VectorReduce::Add, widening_mul(reinterpret(i16, left), right),
                              lanes);
  };
  return acc + dot(x & make_const(u16, 255), (y << 8) >> 8) + dot(x >> 8, y >> 8);
}

static Expr dotByElement(const Expr &acc, const Expr &a, const Expr &b) {
  Type i32 = acc.type(), i8 = Int(8, i32.lanes()), u8 = UInt(8, i32.lanes());
  Expr sum = acc;
  for (int i = 0; i < 4; ++i)
    sum = sum + cast(i32, cast(u8, a >> (8 * i))) * cast(i32, cast(i8, b >> (8 * i)));
  return sum;
}

Expr mlir::halide::I8QuadsPass::visit(const Call *call) {
  if (call->name != kMake && call->name != kDot)
    return IRMutator::visit(call);
  std::vector<Expr> in = mutate(call->args);
  if (call->name == kMake)
    return joinBytes(in);
  int lanes = call->type.lanes();
  if (hasInstruction && (lanes == 4 || lanes == 8 || lanes == 16))
    return dotByInstruction(in[0], in[1], in[2]);
  return lanes >= 4 ? dotByPairs(in[0], in[1], in[2]) : dotByElement(in[0], in[1], in[2]);
}
