//===- Tensor.h - arguments of kernels --------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_EXECUTION_TENSOR_H
#define ATTNC_EXECUTION_TENSOR_H

#include "attnc/Dialect/Attn/ConstantBytes.h"

#include "mlir/IR/BuiltinTypes.h"

#include <memory>
#include <optional>

namespace attnc {

/// Number of elements; none if memory can't hold them.
std::optional<int64_t> getNumElements(llvm::ArrayRef<int64_t> shape);

/// `2x128x64`
std::string describe(llvm::ArrayRef<int64_t> shape);

/// A tensor as kernels read and write it: dense, in C order, aligned to 64 bytes.
class Tensor {
public:
  /// All zero. The shape was checked with getNumElements.
  Tensor(mlir::Type elementType, llvm::ArrayRef<int64_t> shape);

  Tensor copy() const;

  mlir::Type getElementType() const { return elementType; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t size() const { return numElements; }
  int64_t numBytes() const { return numElements * mlir::attn::getElementBytes(elementType); }
  char *data() const { return bytes.get(); }

  double get(int64_t index) const;
  void set(int64_t index, double value);
  /// The same for integers, which a double can't always represent.
  int64_t getInteger(int64_t index) const;
  void setInteger(int64_t index, int64_t value);

private:
  struct Free {
    void operator()(char *bytes) const { std::free(bytes); }
  };
  mlir::Type elementType;
  llvm::SmallVector<int64_t> shape;
  int64_t numElements;
  std::unique_ptr<char, Free> bytes;
};

} // namespace attnc

#endif // ATTNC_EXECUTION_TENSOR_H
