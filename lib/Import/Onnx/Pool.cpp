//===- Pool.cpp - ONNX's pools --------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pool reduces the elements under each window.
//
//===----------------------------------------------------------------------===//

#include "Sizes.h"
#include "Window.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

static LogicalResult checkPool(Node &node) {
  int64_t rank = node.input(0)->getRank();
  if (rank < 3 || rank > 5)
    return node.error() << "expected an input of rank 3 to 5, found " << rank;
  return success();
}

static FailureOr<SmallVector<Window>> getPoolWindows(Node &node) {
  if (failed(checkPool(node)))
    return failure();
  auto kernel = node.getInts("kernel_shape");
  size_t count = node.input(0)->getRank() - 2;
  if (!kernel || kernel->size() != count)
    return node.error() << "expected attribute 'kernel_shape' of " << count << " dimensions";
  FailureOr<SmallVector<Window>> windows = getWindows(node, *kernel);
  if (failed(windows))
    return failure();
  // No place is in the border alone.
  for (const Window &window : *windows)
    if (std::max(window.before, window.after) >= window.getSpan())
      return node.error() << "expected pads below the kernel's " << window.getSpan() << ", found "
                          << std::max(window.before, window.after);
  return windows;
}

/// Reduces the elements under each window: [batch, channels, places…].
static FailureOr<TensorRef> reduceWindows(Node &node, ArrayRef<Window> all, ReduceKind kind,
                                          double outside) {
  FailureOr<SmallVector<OpFoldResult>> places = countPlaces(node, all);
  if (failed(places))
    return failure();
  TensorRef input = node.input(0);
  SmallVector<Window> windows(all);
  SmallVector<OpFoldResult> sizes(ArrayRef(input->sizes).take_front(2)), seen;
  llvm::append_range(sizes, *places);
  SmallVector<OpFoldResult> patches(sizes), rows(sizes);
  for (const Window &window : windows)
    seen.push_back(fixedSize(node, window.size));
  llvm::append_range(patches, seen);
  rows.push_back(multiply(node.body, seen));
  TensorRef patch = makeGenerate(
      node.body, input->element, patches, {input}, [=](Body &at, ArrayRef<Value> indices) {
        size_t count = windows.size();
        return readWindow(at, input, windows, indices.take_front(2), indices.slice(2, count),
                          indices.take_back(count), outside);
      });
  return makeReduce(node.body, makeReshape(node.body, patch, rows), kind, int64_t(sizes.size()),
                    /*keep=*/false);
}

static LogicalResult importMaxPool(Node &node) {
  FailureOr<SmallVector<Window>> windows = getPoolWindows(node);
  if (failed(windows))
    return failure();
  auto largest =
      reduceWindows(node, *windows, ReduceKind::max, -std::numeric_limits<double>::infinity());
  return node.setOutput(largest);
}

/// The number of elements of the window at `place` within the input, or the padded input.
static Value countSteps(Body &at, const Window &window, Value place, OpFoldResult size, bool pads) {
  Value start = at.make<arith::SubIOp>(at.make<arith::MulIOp>(place, at.index(window.stride)),
                                       at.index(window.before));
  Value begin = at.index(pads ? -window.before : 0);
  Value end = at.make<arith::AddIOp>(toIndex(at, size), at.index(pads ? window.after : 0));
  auto stepsTo = [&](Value limit) {
    Value steps = at.make<arith::CeilDivSIOp>(at.make<arith::SubIOp>(limit, start),
                                              at.index(window.dilation));
    return at.make<arith::MinSIOp>(at.make<arith::MaxSIOp>(steps, at.index(0)),
                                   at.index(window.size));
  };
  return at.make<arith::SubIOp>(stepsTo(end), stepsTo(begin));
}

static LogicalResult importAveragePool(Node &node) {
  FailureOr<SmallVector<Window>> windows = getPoolWindows(node);
  if (failed(windows))
    return failure();
  bool isInside = llvm::all_of(*windows, [](const Window &window) { return window.staysInside(); });
  auto reduced = reduceWindows(node, *windows, isInside ? ReduceKind::mean : ReduceKind::sum, 0);
  if (failed(reduced))
    return failure();
  if (isInside)
    return node.setOutput(*reduced);
  TensorRef input = node.input(0), sum = *reduced;
  bool pads = node.getInt("count_include_pad", 0);
  auto average = [=, windows = *windows](Body &at, ArrayRef<Value> indices) -> Value {
    Value steps = at.index(1);
    for (auto [dim, window] : llvm::enumerate(windows))
      steps = at.make<arith::MulIOp>(
          steps, countSteps(at, window, indices[2 + dim], input->sizes[2 + dim], pads));
    Value count =
        castScalar(at, at.make<arith::IndexCastOp>(at.b.getI64Type(), steps), input->element);
    return at.make<arith::DivFOp>(at.read(sum, indices), count);
  };
  return node.setOutput(makeGenerate(node.body, input->element, sum->sizes, {sum}, average));
}

template <ReduceKind kind>
static LogicalResult importGlobalPool(Node &node) {
  if (failed(checkPool(node)))
    return failure();
  TensorRef input = node.input(0);
  auto dims = llvm::to_vector(llvm::seq<int64_t>(2, input->getRank()));
  return node.setOutput(makeReduce(node.body, input, kind, dims, /*keep=*/true));
}

ArrayRef<OpEntry> imports::getPoolOps() {
  static const OpEntry entries[] = {
      {"",
       "AveragePool",
       "f",
       "x",
       {{"auto_pad", String},
        {"ceil_mode", Int},
        {"count_include_pad", Int},
        {"dilations", Ints},
        {"kernel_shape", Ints},
        {"pads", Ints},
        {"strides", Ints}},
       importAveragePool},
      {"", "GlobalAveragePool", "f", "x", {}, importGlobalPool<ReduceKind::mean>},
      {"", "GlobalMaxPool", "f", "x", {}, importGlobalPool<ReduceKind::max>},
      // The order of elements matters to indices alone, which are not supported.
      {"",
       "MaxPool",
       "f",
       "xx?",
       {{"auto_pad", String},
        {"ceil_mode", Int},
        {"dilations", Ints},
        {"kernel_shape", Ints},
        {"pads", Ints},
        {"storage_order", Int},
        {"strides", Ints}},
       importMaxPool},
  };
  return entries;
}
