//===- Tensor.cpp - a dense array in memory -------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tensor.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstdlib>
#include <cstring>

using namespace mlir;
using namespace attnc;

int64_t attnc::getElementSize(Type type) {
  int64_t bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return llvm::divideCeil(bits, 8);
}

std::optional<int64_t> attnc::getNumElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (size < 0 || llvm::MulOverflow(count, size, count) || count > (int64_t(1) << 48))
      return std::nullopt;
  return count;
}

std::string attnc::describe(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "a scalar";
  return llvm::join(llvm::map_range(shape, [](int64_t size) { return std::to_string(size); }), "x");
}

Tensor::Tensor(Type elementType, ArrayRef<int64_t> shape)
    : elementType(elementType), shape(shape), numElements(*getNumElements(shape)) {
  size_t size = llvm::alignTo(std::max<int64_t>(numBytes(), 1), 64);
  bytes.reset(static_cast<char *>(std::aligned_alloc(64, size)));
  if (!bytes)
    llvm::report_bad_alloc_error("out of memory");
  std::memset(bytes.get(), 0, size);
}

template <typename T>
static T load(const char *data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

double Tensor::get(int64_t index) const {
  if (elementType.isF32())
    return load<float>(data(), index);
  if (elementType.isF64())
    return load<double>(data(), index);
  int64_t size = getElementSize(elementType);
  uint64_t bits = 0;
  std::memcpy(&bits, data() + index * size, size);
  if (auto type = dyn_cast<FloatType>(elementType)) {
    llvm::APFloat value(type.getFloatSemantics(), llvm::APInt(type.getWidth(), bits));
    return value.convertToDouble();
  }
  if (elementType.isUnsignedInteger() || elementType.isInteger(1))
    return bits;
  return llvm::SignExtend64(bits, size * 8);
}

void Tensor::set(int64_t index, double value) {
  if (elementType.isF32()) {
    float rounded = value;
    std::memcpy(data() + index * sizeof(float), &rounded, sizeof(float));
    return;
  }
  int64_t size = getElementSize(elementType);
  uint64_t bits = static_cast<int64_t>(value);
  if (auto type = dyn_cast<FloatType>(elementType)) {
    llvm::APFloat rounded(value);
    bool inexact;
    rounded.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    bits = rounded.bitcastToAPInt().getZExtValue();
  }
  std::memcpy(data() + index * size, &bits, size);
}
