//===- BF16Pairs.cpp - products of pairs of bf16 --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BF16Pairs.h"
#include "MathFunctions.h"

using namespace ::Halide;
using namespace ::Halide::Internal;

static constexpr char kMake[] = "make_bf16_pair", kDot[] = "dot_bf16_pair",
                      kRound[] = "round_bf16_pair", kRoundOne[] = "round_bf16";

Expr mlir::halide::makeBF16Pair(const Expr &low, const Expr &high) {
  return Call::make(Int(32, low.type().lanes()), kMake, {low, high}, Call::PureExtern);
}

Expr mlir::halide::dotBF16Pair(const Expr &acc, const Expr &a, const Expr &b) {
  return Call::make(acc.type(), kDot, {acc, a, b}, Call::PureExtern);
}

Expr mlir::halide::roundBF16Pair(const Expr &low, const Expr &high) {
  return Call::make(Int(32, low.type().lanes()), kRound, {low, high}, Call::PureExtern);
}

Expr mlir::halide::roundBF16(const Expr &x) {
  return Call::make(BFloat(16, x.type().lanes()), kRoundOne, {x}, Call::PureExtern);
}

bool mlir::halide::hasBF16Instructions(const Target &target) {
  return target.features_any_of(
      {Target::AVX512_Zen4, Target::AVX512_Zen5, Target::AVX512_SapphireRapids});
}

//===----------------------------------------------------------------------===//
// Halves
//===----------------------------------------------------------------------===//

/// The load of every `stride`-th element behind changes of its type, if `part` is one.
static const Load *findPart(const Expr &part, int stride) {
  if (const Reinterpret *other = part.as<Reinterpret>())
    return findPart(other->value, stride);
  const Load *load = part.as<Load>();
  const Ramp *ramp = load ? load->index.as<Ramp>() : nullptr;
  return ramp && is_const(ramp->stride, stride) && is_const_one(load->predicate) ? load : nullptr;
}

Expr mlir::halide::loadInterleaved(const std::vector<Expr> &parts) {
  int count = parts.size();
  const Load *first = findPart(parts[0], count);
  if (!first)
    return Expr();
  const Expr &base = first->index.as<Ramp>()->base;
  for (int i = 1; i < count; ++i) {
    const Load *part = findPart(parts[i], count);
    if (!part || part->name != first->name ||
        !is_const(simplify(part->index.as<Ramp>()->base - base), i))
      return Expr();
  }
  int elements = count * parts[0].type().lanes();
  return Load::make(first->type.with_lanes(elements), first->name, Ramp::make(base, 1, elements),
                    first->image, first->param, const_true(elements), first->alignment);
}

static Expr joinHalves(const Expr &low, const Expr &high) {
  Type pairs = Int(32, low.type().lanes());
  if (pairs.is_scalar())
    return cast(pairs, cast(UInt(16), low)) | (cast(pairs, cast(UInt(16), high)) << 16);
  Expr loaded = mlir::halide::loadInterleaved({low, high});
  return reinterpret(pairs, loaded.defined() ? loaded : Shuffle::make_interleave({low, high}));
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// What CodeGen_X86 matches to vdpbf16ps.
static Expr dotByInstruction(const Expr &acc, const Expr &a, const Expr &b) {
  int lanes = acc.type().lanes();
  auto elements = [&](const Expr &pairs) {
    return Cast::make(Float(32, 2 * lanes), reinterpret(BFloat(16, 2 * lanes), pairs));
  };
  Expr products = elements(a) * elements(b);
  return acc + VectorReduce::make(VectorReduce::Add, products, lanes);
}

/// vcvtne2ps2bf16 of 32 elements, or of 16 twice; null for vectors of other lengths. Halide has
/// vcvtneps2bf16 of 4 alone.
static Expr roundOneByInstruction(const Expr &x) {
  int lanes = x.type().lanes();
  auto round = [](const Expr &both) {
    return Call::make(BFloat(16, 32), "vcvtne2ps2bf16", {both}, Call::PureExtern);
  };
  if (lanes == 32)
    return round(x);
  if (lanes != 16)
    return Expr();
  return mlir::halide::readOnce(x, [&](const Expr &once) {
    return Shuffle::make_slice(round(Shuffle::make_concat({once, once})), 0, 1, lanes);
  });
}

/// vcvtne2ps2bf16 of 32 elements, and one shuffle.
static Expr roundByInstruction(const Expr &low, const Expr &high) {
  int lanes = low.type().lanes();
  Expr both = Call::make(BFloat(16, 2 * lanes), "vcvtne2ps2bf16",
                         {Shuffle::make_concat({low, high})}, Call::PureExtern);
  Expr bits = reinterpret(UInt(16, 2 * lanes), both);
  std::vector<int> order;
  for (int lane = 0; lane < lanes; ++lane)
    order.insert(order.end(), {lane, lanes + lane});
  return reinterpret(Int(32, lanes), Shuffle::make({bits}, order));
}

//===----------------------------------------------------------------------===//
// Single elements
//===----------------------------------------------------------------------===//

static Expr dotByElement(const Expr &acc, const Expr &a, const Expr &b) {
  Type f32 = acc.type(), u32 = UInt(32, f32.lanes());
  auto upper = [&](const Expr &x) {
    return reinterpret(f32, reinterpret(u32, x) & make_const(u32, 0xffff0000));
  };
  auto lower = [&](const Expr &x) { return reinterpret(f32, reinterpret(u32, x) << 16); };
  return acc + upper(a) * upper(b) + lower(a) * lower(b);
}

/// The bits of `x` with the nearest bf16 in the upper half.
static Expr roundToUpper(const Expr &x) {
  Type u32 = UInt(32, x.type().lanes());
  Expr bits = reinterpret(u32, x), isOdd = (bits >> 16) & 1;
  Expr isNaN = (bits & make_const(u32, 0x7fffffff)) > make_const(u32, 0x7f800000);
  return select(isNaN, bits | make_const(u32, 0x400000), bits + 0x7fff + isOdd);
}

static Expr roundOneByElement(const Expr &x) {
  int lanes = x.type().lanes();
  return reinterpret(BFloat(16, lanes), cast(UInt(16, lanes), roundToUpper(x) >> 16));
}

static Expr roundByElement(const Expr &low, const Expr &high) {
  Type u32 = UInt(32, low.type().lanes());
  Expr upper = roundToUpper(high) & make_const(u32, 0xffff0000);
  return reinterpret(Int(32, u32.lanes()), (roundToUpper(low) >> 16) | upper);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

Expr mlir::halide::BF16PairsPass::visit(const Call *call) {
  bool isDot = call->name == kDot, isMade = call->name == kMake;
  bool isRound = call->name == kRound, isRoundOne = call->name == kRoundOne;
  if (!isDot && !isMade && !isRound && !isRoundOne)
    return IRMutator::visit(call);
  std::vector<Expr> in = mutate(call->args);
  if (isRoundOne) {
    Expr rounded = roundOneByInstruction(in[0]);
    return rounded.defined() ? rounded : roundOneByElement(in[0]);
  }
  if (isMade)
    return joinHalves(in[0], in[1]);
  int lanes = call->type.lanes();
  if (isDot)
    return hasInstructions && lanes >= 4 ? dotByInstruction(in[0], in[1], in[2])
                                         : dotByElement(in[0], in[1], in[2]);
  return hasInstructions && lanes == 16 ? roundByInstruction(in[0], in[1])
                                        : roundByElement(in[0], in[1]);
}
