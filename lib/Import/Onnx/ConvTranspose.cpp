//===- ConvTranspose.cpp - ONNX's transposed convolution ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A linear layer multiplies each input position with the whole kernel; an element of the result is
// the sum of the products that overlap there.
//
//===----------------------------------------------------------------------===//

#include "Window.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

static LogicalResult checkOperands(Node &node) {
  TensorRef input = node.input(0), weight = node.input(1), bias = node.input(2);
  if (input->getRank() < 3 || input->getRank() > 5 || weight->getRank() != input->getRank() ||
      weight->element != input->element || !weight->getType().hasStaticShape())
    return node.error() << "expected an input and a weight of known sizes, of one type and one "
                        << "rank from 3 to 5, found " << input->getType() << " and "
                        << weight->getType();
  int64_t group = node.getInt("group", 1), channels = *getStatic(weight->sizes[0]);
  if (group < 1 || group > std::max<int64_t>(channels, 1) || channels % group != 0)
    return node.error() << "expected attribute 'group' to divide " << channels
                        << " channels, found " << group;
  if (!sameSize(input->sizes[1], weight->sizes[0]))
    return node.error() << "expected an input of " << channels << " channels, found "
                        << input->getType();
  int64_t outputs = group * *getStatic(weight->sizes[1]);
  if (bias && (bias->element != input->element || bias->getRank() != 1 ||
               getStatic(bias->sizes[0]) != outputs))
    return node.error() << "expected a bias of " << outputs << " elements, found "
                        << bias->getType();
  return success();
}

/// Limits the number of places that add to one element: its sum is unrolled.
static LogicalResult checkOverlap(Node &node, ArrayRef<Window> windows) {
  constexpr int64_t most = 128;
  int64_t count = 1;
  for (const Window &window : windows) {
    count *= llvm::divideCeil(window.size, window.stride);
    if (count > most)
      return node.error() << "expected at most " << most
                          << " places that give to one element, found more";
  }
  return success();
}

static FailureOr<SmallVector<Window>> getSpread(Node &node) {
  SmallVector<int64_t> kernel;
  for (OpFoldResult size : ArrayRef(node.input(1)->sizes).drop_front(2))
    kernel.push_back(*getStatic(size));
  if (node.getInts("kernel_shape").value_or(kernel) != kernel)
    return node.error() << "expected attribute 'kernel_shape' to be the weight's";
  FailureOr<SmallVector<Window>> windows = getWindows(node, kernel);
  if (succeeded(windows))
    for (const Window &window : *windows)
      if (window.dilation != 1)
        return node.error() << "expected dilations of 1, found " << window.dilation;
  if (failed(windows) || failed(checkOverlap(node, *windows)))
    return failure();
  return windows;
}

/// The products of each place: [batch, group, places, outputs of the group and kernel].
static FailureOr<TensorRef> multiplyPlaces(Node &node, int64_t group) {
  Body &body = node.body;
  TensorRef input = node.input(0), weight = node.input(1);
  OpFoldResult channels = fixedSize(node, *getStatic(weight->sizes[0]) / group);
  OpFoldResult places = multiply(body, ArrayRef(input->sizes).drop_front(2));
  OpFoldResult width = multiply(body, ArrayRef(weight->sizes).drop_front());
  Sizes rows = {input->sizes[0], fixedSize(node, group), channels, places},
        all = {input->sizes[0], fixedSize(node, group), places, width}, matrix = {channels, width};
  TensorRef turned = makeTranspose(body, makeReshape(body, input, rows), {0, 1, 3, 2});
  if (group == 1) // a layer
    turned = makeReshape(body, turned, {input->sizes[0], places, channels});
  else
    matrix.insert(matrix.begin(), fixedSize(node, group));
  FailureOr<TensorRef> product =
      multiplyMatrices(node, turned, reshapeWeight(node, weight, matrix));
  if (failed(product))
    return failure();
  return makeReshape(body, *product, all);
}

/// The sizes of the result but batch and channels.
static FailureOr<Sizes> getSpreadSizes(Node &node, ArrayRef<Window> windows) {
  Body &body = node.body;
  auto more = node.getInts("output_padding").value_or(SmallVector<int64_t>(windows.size(), 0));
  if (more.size() != windows.size())
    return node.error() << "expected attribute 'output_padding' for " << windows.size()
                        << " dimensions";
  Sizes sizes;
  for (auto [dim, window] : llvm::enumerate(windows)) {
    if (more[dim] < 0 || more[dim] > kMostSteps)
      return node.error() << "expected attribute 'output_padding' from 0 to " << kMostSteps
                          << ", found " << more[dim];
    OpFoldResult size = node.input(0)->sizes[2 + dim];
    int64_t rest = window.size - window.stride + more[dim] - window.before - window.after;
    auto known = getStatic(size);
    if (known && *known * window.stride + rest < 1)
      return node.error() << "expected a result with elements, found a size of "
                          << *known * window.stride + rest;
    sizes.push_back(
        known ? fixedSize(node, *known * window.stride + rest)
              : OpFoldResult(body.make<arith::AddIOp>(
                    body.make<arith::MulIOp>(toIndex(body, size), body.index(window.stride)),
                    body.index(rest))));
  }
  return sizes;
}

/// The sum of the products that overlap at `place`, over `windows`, the dimensions left. `step` is
/// the linear index in the kernel, `from` that of the input place, `isInside` whether both exist.
static Value addUp(Body &at, ArrayRef<Window> windows, ArrayRef<OpFoldResult> sizes,
                   ArrayRef<Value> place, Value from, Value step, Value isInside,
                   function_ref<Value(Value, Value, Value)> read) {
  if (windows.empty())
    return read(from, step, isInside);
  const Window &window = windows.front();
  Value size = toIndex(at, sizes.front()), zero = at.index(0), stride = at.index(window.stride);
  Value shifted = at.make<arith::AddIOp>(place.front(), at.index(window.before));
  Value last = at.make<arith::DivUIOp>(shifted, stride),
        first = at.make<arith::RemUIOp>(shifted, stride);
  Value sum;
  for (int64_t tap = 0; tap * window.stride < window.size && !Budget::isSpent(at.b); ++tap) {
    Value own = at.make<arith::SubIOp>(last, at.index(tap));
    Value k = at.make<arith::AddIOp>(first, at.index(tap * window.stride));
    Value inside = isInside;
    auto require = [&](arith::CmpIPredicate predicate, Value a, Value b) {
      Value holds = at.make<arith::CmpIOp>(predicate, a, b);
      inside = inside ? at.make<arith::AndIOp>(inside, holds) : holds;
    };
    require(arith::CmpIPredicate::slt, own, size);
    require(arith::CmpIPredicate::sge, own, zero);
    require(arith::CmpIPredicate::slt, k, at.index(window.size));
    Value end = at.make<arith::SubIOp>(size, at.index(1));
    own = at.make<arith::MaxSIOp>(at.make<arith::MinSIOp>(own, end), zero);
    k = at.make<arith::MinSIOp>(k, at.index(window.size - 1));
    Value part =
        addUp(at, windows.drop_front(), sizes.drop_front(), place.drop_front(),
              at.make<arith::AddIOp>(at.make<arith::MulIOp>(from, size), own),
              at.make<arith::AddIOp>(at.make<arith::MulIOp>(step, at.index(window.size)), k),
              inside, read);
    sum = sum ? at.make<arith::AddFOp>(sum, part) : part;
  }
  return sum;
}

LogicalResult imports::importConvTranspose(Node &node) {
  if (StringRef pad = node.getString("auto_pad", "NOTSET"); pad != "NOTSET")
    return node.error() << "expected attribute 'auto_pad' NOTSET, found " << pad;
  if (failed(checkOperands(node)))
    return failure();
  int64_t group = node.getInt("group", 1);
  TensorRef input = node.input(0), weight = node.input(1), bias = node.input(2);
  FailureOr<SmallVector<Window>> windows = getSpread(node);
  if (failed(windows))
    return failure();
  FailureOr<Sizes> places = getSpreadSizes(node, *windows);
  FailureOr<TensorRef> product = multiplyPlaces(node, group);
  if (failed(places) || failed(product))
    return failure();
  int64_t outputs = *getStatic(weight->sizes[1]), kernel = 1;
  for (const Window &window : *windows)
    kernel *= window.size;
  Sizes sizes = {input->sizes[0], fixedSize(node, group * outputs)};
  llvm::append_range(sizes, *places);
  auto build = [=, product = *product, windows = *windows](Body &at,
                                                           ArrayRef<Value> place) -> Value {
    Value zero = floatConstant(at, product->element, 0), count = at.index(outputs);
    Value part = at.make<arith::RemUIOp>(place[1], count);
    Value column = at.make<arith::MulIOp>(part, at.index(kernel));
    auto read = [&](Value from, Value step, Value isInside) -> Value {
      Value indices[] = {place[0], at.make<arith::DivUIOp>(place[1], count), from,
                         at.make<arith::AddIOp>(column, step)};
      return at.make<arith::SelectOp>(isInside, at.read(product, indices), zero);
    };
    Value sum = addUp(at, windows, ArrayRef(input->sizes).drop_front(2), place.drop_front(2),
                      at.index(0), at.index(0), Value(), read);
    return bias ? at.make<arith::AddFOp>(sum, at.read(bias, {place[1]})) : sum;
  };
  TensorRef result = makeGenerate(node.body, input->element, sizes, {*product, bias}, build);
  return node.setOutput(result);
}
