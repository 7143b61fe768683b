//===- Quantize.h - quantized integers of ONNX ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_IMPORT_ONNX_QUANTIZE_H
#define ATTNC_LIB_IMPORT_ONNX_QUANTIZE_H

#include "Importer.h"

namespace mlir::attn::imports {

/// The numbers of a constant of f32, f16 or integers of up to 32 bits, row-major; none if `tensor`
/// is no such constant.
std::optional<std::vector<float>> readNumbers(Node &node, const TensorRef &tensor);
/// A constant of row-major elements; a large one is a weight.
TensorRef makeNumbers(Node &node, RankedTensorType type, ArrayRef<char> bytes);
TensorRef makeFloats(Node &node, ArrayRef<int64_t> shape, ArrayRef<float> numbers);

/// left · right, or left · rightᵀ, exactly, in i32, as a linear layer of i8. Null unless `left` is
/// bytes of rank 2 or more with one zero point, and `right` a constant matrix of known sizes, at
/// most LinearOp::kMostIntegerFeatures deep, of i8 with zero points 0 or UINT8 with 128.
TensorRef multiplyIntegers(Node &node, const IntegerFactor &left, const IntegerFactor &right,
                           bool isTransposed = false);
/// The same in f32 of what DequantizeLinear has made of integers: by one scale in f32, or of
/// `right` one for each column of the result.
TensorRef multiplyQuantized(Node &node, const TensorRef &left, const TensorRef &right,
                            bool isTransposed = false);

/// Bytes with the scale and the zero point that map 0 to 255 to the range of all numbers and 0.
struct DynamicallyQuantized {
  TensorRef bytes, scale, zero;
};
FailureOr<DynamicallyQuantized> quantizeDynamically(Node &node, const TensorRef &input);

} // namespace mlir::attn::imports

#endif // ATTNC_LIB_IMPORT_ONNX_QUANTIZE_H
