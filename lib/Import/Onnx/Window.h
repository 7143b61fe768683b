//===- Window.h - windows that move over a tensor ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by convolutions and pools: tensors [batch, channels, …] with a window along each dimension
// after the channels.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_IMPORT_ONNX_WINDOW_H
#define ATTNC_LIB_IMPORT_ONNX_WINDOW_H

#include "Importer.h"

namespace mlir::attn::imports {

/// The largest kernels, strides, dilations and pads.
constexpr int64_t kMostSteps = 1 << 20;

/// A window along one dimension: kernel size, stride, dilation and pads.
struct Window {
  int64_t size, stride, dilation, before, after;
  /// Whether the last place may reach past the end.
  bool roundsUp = false;

  int64_t getSpan() const { return (size - 1) * dilation + 1; }
  bool staysInside() const { return before == 0 && after == 0 && !roundsUp; }
};

/// The windows of a kernel, from the node's attributes.
FailureOr<SmallVector<Window>> getWindows(Node &node, ArrayRef<int64_t> kernel);

/// The number of places of each window: the sizes of the result.
FailureOr<SmallVector<OpFoldResult>> countPlaces(Node &node, ArrayRef<Window> windows);

/// The input's element at `front` (batch and channel), `steps` into the window at `places`;
/// `outside` beyond the input.
Value readWindow(Body &at, const TensorRef &input, ArrayRef<Window> windows, ArrayRef<Value> front,
                 ArrayRef<Value> places, ArrayRef<Value> steps, double outside);

/// `tensor` in another shape, still a constant if it is one.
TensorRef reshapeWeight(Node &node, const TensorRef &tensor, ArrayRef<OpFoldResult> sizes);

} // namespace mlir::attn::imports

#endif // ATTNC_LIB_IMPORT_ONNX_WINDOW_H
