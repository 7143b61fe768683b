//===- ShortFloatsTest.cpp - f16 and bf16 of the reference ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Reference/ShortFloats.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace mlir::attn::reference;

namespace {
class ShortFloats : public testing::Test {
protected:
  MLIRContext context;
  FloatType types[2] = {Float16Type::get(&context), BFloat16Type::get(&context)};
};
} // namespace

static double readExactly(uint16_t bits, FloatType type) {
  return llvm::APFloat(type.getFloatSemantics(), llvm::APInt(16, bits)).convertToDouble();
}

static uint16_t writeExactly(double value, FloatType type) {
  llvm::APFloat number(value);
  bool isInexact;
  number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &isInexact);
  return number.bitcastToAPInt().getZExtValue();
}

TEST_F(ShortFloats, AllBitsAreRead) {
  for (FloatType type : types)
    for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
      double expected = readExactly(bits, type), found = readShort(bits, type);
      ASSERT_TRUE(std::isnan(expected)
                      ? std::isnan(found)
                      : llvm::bit_cast<uint64_t>(expected) == llvm::bit_cast<uint64_t>(found))
          << bits << ": " << expected << ", " << found;
      if (!std::isnan(expected))
        ASSERT_EQ(writeShort(expected, type), bits);
    }
}

/// Numbers of each exponent that either type has, some between two, at the middle and beside it.
TEST_F(ShortFloats, DoublesAreRoundedToTheNearest) {
  std::mt19937_64 random(0);
  for (FloatType type : types)
    for (int i = 0; i < 1000000; ++i) {
      int exponent = int(random() % 300) - 160;
      uint64_t bits = random() << 12 >> 12;
      if (i % 3 == 0)
        bits = bits >> 41 << 41 | (random() % 3 - 1); // close to the middle of two
      double value = std::ldexp(1 + double(bits & 0xfffffffffffff) * 0x1p-52, exponent);
      value = random() % 2 ? -value : value;
      ASSERT_EQ(writeShort(value, type), writeExactly(value, type)) << value;
      ASSERT_EQ(roundTo(value, type), readExactly(writeExactly(value, type), type)) << value;
    }
}
