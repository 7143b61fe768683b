//===- Tensor.cpp - arguments of kernels ----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Execution/Tensor.h"

#include "attnc/Reference/ShortFloats.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstdlib>
#include <cstring>

using namespace mlir;
using namespace attnc;

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

Tensor Tensor::copy() const {
  Tensor result(elementType, shape);
  std::memcpy(result.data(), data(), numBytes());
  return result;
}

template <typename T>
static T load(const char *data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
static void store(char *data, int64_t index, T value) {
  std::memcpy(data + index * sizeof(T), &value, sizeof(T));
}

double Tensor::get(int64_t index) const {
  auto type = dyn_cast<FloatType>(elementType);
  if (!type)
    return getInteger(index);
  if (type.isF32())
    return load<float>(data(), index);
  if (type.isF64())
    return load<double>(data(), index);
  if (type.getWidth() == 8)
    return llvm::APFloat(type.getFloatSemantics(), llvm::APInt(8, load<uint8_t>(data(), index)))
        .convertToDouble();
  return mlir::attn::reference::readShort(load<uint16_t>(data(), index), type);
}

void Tensor::set(int64_t index, double value) {
  auto type = dyn_cast<FloatType>(elementType);
  if (!type)
    return setInteger(index, static_cast<int64_t>(value));
  if (type.isF32())
    return store<float>(data(), index, value);
  if (type.isF64())
    return store<double>(data(), index, value);
  if (type.getWidth() == 8) {
    llvm::APFloat rounded(value);
    bool inexact;
    rounded.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    return store<uint8_t>(data(), index, rounded.bitcastToAPInt().getZExtValue());
  }
  store<uint16_t>(data(), index, mlir::attn::reference::writeShort(value, type));
}

int64_t Tensor::getInteger(int64_t index) const {
  int64_t size = mlir::attn::getElementBytes(elementType);
  uint64_t bits = 0;
  std::memcpy(&bits, data() + index * size, size);
  bool isSigned = !elementType.isUnsignedInteger() && !elementType.isInteger(1);
  return isSigned ? llvm::SignExtend64(bits, size * 8) : bits;
}

void Tensor::setInteger(int64_t index, int64_t value) {
  int64_t size = mlir::attn::getElementBytes(elementType);
  std::memcpy(data() + index * size, &value, size);
}
