//===- ShortFloats.h - floats of 16 bits ------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f16 and bf16 as bits. Finite numbers take a few instructions: weights have millions of them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_REFERENCE_SHORTFLOATS_H
#define ATTNC_REFERENCE_SHORTFLOATS_H

#include "attnc/Reference/Reference.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"

#include <cmath>

namespace mlir::attn::reference {

/// Exponents of f32 and f16 differ by this factor where their bits are 13 apart.
constexpr float kF16Factor = 0x1p112f;

inline double readShort(uint16_t bits, FloatType type) {
  constexpr uint16_t kExponent = 0x7c00;
  if (type.isBF16())
    return llvm::bit_cast<float>(uint32_t(bits) << 16);
  if ((bits & kExponent) == kExponent)
    return llvm::APFloat(type.getFloatSemantics(), llvm::APInt(16, bits)).convertToDouble();
  float magnitude = llvm::bit_cast<float>(uint32_t(bits & 0x7fff) << 13) * kF16Factor;
  return bits >> 15 ? -magnitude : magnitude;
}

/// The bits of the nearest number, of two the even one.
inline uint16_t writeShort(double value, FloatType type) {
  double rounded = roundTo(value, type);
  if (!std::isfinite(rounded)) {
    llvm::APFloat number(rounded);
    bool isInexact;
    number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &isInexact);
    return number.bitcastToAPInt().getZExtValue();
  }
  float exact = rounded;
  if (type.isBF16())
    return llvm::bit_cast<uint32_t>(exact) >> 16;
  uint32_t magnitude = llvm::bit_cast<uint32_t>(std::abs(exact) / kF16Factor) >> 13;
  return magnitude | (std::signbit(exact) ? 0x8000 : 0);
}

} // namespace mlir::attn::reference

#endif // ATTNC_REFERENCE_SHORTFLOATS_H
