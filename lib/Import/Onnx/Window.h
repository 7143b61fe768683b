//===- Window.h - windows that move over a tensor ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What convolutions and pools have in common: tensors [batch, channels, …], and a window along
// each of the dimensions behind.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_IMPORT_ONNX_WINDOW_H
#define ATTNC_LIB_IMPORT_ONNX_WINDOW_H

#include "Importer.h"

namespace mlir::attn::imports {

/// The largest kernels, strides, dilations and pads.
constexpr int64_t kMostSteps = 1 << 20;

/// How a window moves along one dimension.
struct Window {
  int64_t size, stride, dilation, before, after;
  /// Whether the last place may reach past the end.
  bool roundsUp = false;

  int64_t getSpan() const { return (size - 1) * dilation + 1; }
  bool staysInside() const { return before == 0 && after == 0 && !roundsUp; }
};

/// The windows that the node's attributes say of a kernel.
FailureOr<SmallVector<Window>> getWindows(Node &node, ArrayRef<int64_t> kernel);

/// How many places each window has.
FailureOr<SmallVector<OpFoldResult>> countPlaces(Node &node, ArrayRef<Window> windows);

/// The input's element at `front` (batch and channel), and so many steps into the window at
/// `places`; `outside` beyond the input.
Value readWindow(Body &at, const TensorRef &input, ArrayRef<Window> windows, ArrayRef<Value> front,
                 ArrayRef<Value> places, ArrayRef<Value> steps, double outside);

/// `tensor` in another shape, still a constant if it is one.
TensorRef reshapeWeight(Node &node, const TensorRef &tensor, ArrayRef<OpFoldResult> sizes);

} // namespace mlir::attn::imports

#endif // ATTNC_LIB_IMPORT_ONNX_WINDOW_H
