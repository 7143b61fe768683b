//===- Window.cpp - windows that move over a tensor -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Window.h"
#include "Sizes.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

/// Pads for ceil(size / stride) windows, the odd element after or before the input.
static LogicalResult padSame(Node &node, OpFoldResult size, bool isUpper, Window &window) {
  auto known = getStatic(size);
  if (!known && window.stride != 1)
    return node.error() << "expected an input of known sizes for attribute 'auto_pad' with strides";
  int64_t rest = known ? (*known - 1) % window.stride : 0;
  int64_t missing = std::max<int64_t>(window.getSpan() - 1 - rest, 0);
  window.before = (missing + !isUpper) / 2;
  window.after = missing - window.before;
  return success();
}

static LogicalResult checkWindow(Node &node, const Window &window) {
  for (int64_t number : {window.size, window.stride, window.dilation})
    if (number < 1 || number > kMostSteps)
      return node.error() << "expected kernels, strides and dilations from 1 to " << kMostSteps
                          << ", found " << number;
  for (int64_t number : {window.before, window.after})
    if (number < 0 || number > kMostSteps)
      return node.error() << "expected pads from 0 to " << kMostSteps << ", found " << number;
  return success();
}

FailureOr<SmallVector<Window>> imports::getWindows(Node &node, ArrayRef<int64_t> kernel) {
  TensorRef input = node.input(0);
  size_t count = kernel.size();
  auto get = [&](StringRef name, int64_t length, int64_t otherwise) {
    return node.getInts(name).value_or(SmallVector<int64_t>(length, otherwise));
  };
  auto strides = get("strides", count, 1), dilations = get("dilations", count, 1),
       pads = get("pads", 2 * count, 0);
  if (strides.size() != count || dilations.size() != count || pads.size() != 2 * count)
    return node.error() << "expected attributes for " << count << " dimensions";
  StringRef pad = node.getString("auto_pad", "NOTSET");
  if (!llvm::is_contained({"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}, pad))
    return node.error() << "expected attribute 'auto_pad' NOTSET, VALID, SAME_UPPER or "
                        << "SAME_LOWER, found " << pad;
  if (pad != "NOTSET" && llvm::any_of(pads, [](int64_t size) { return size != 0; }))
    return node.error() << "expected no attribute 'pads' beside 'auto_pad' " << pad;
  SmallVector<Window> windows;
  for (size_t dim = 0; dim < count; ++dim) {
    Window window = {kernel[dim], strides[dim],      dilations[dim],
                     pads[dim],   pads[count + dim], node.getInt("ceil_mode", 0) != 0};
    if (failed(checkWindow(node, window)) ||
        (pad.starts_with("SAME") &&
         failed(padSame(node, input->sizes[2 + dim], pad == "SAME_UPPER", window))))
      return failure();
    windows.push_back(window);
  }
  return windows;
}

/// With ceil_mode, a window must still start inside the padded input.
static OpFoldResult roundUp(Node &node, OpFoldResult size, const Window &window) {
  Body &body = node.body;
  auto ceilDivide = [&](int64_t more) {
    Value length = toIndex(body, (Polynomial::of(size) + Polynomial::constant(more)).build(body));
    return body.make<arith::CeilDivSIOp>(length, body.index(window.stride));
  };
  Value steps = ceilDivide(window.before + window.after - window.getSpan());
  Value count = body.make<arith::AddIOp>(steps, body.index(1));
  return body.make<arith::MinSIOp>(count, ceilDivide(window.before));
}

static FailureOr<OpFoldResult> countPlaces(Node &node, OpFoldResult size, const Window &window) {
  Body &body = node.body;
  int64_t more = window.before + window.after - window.getSpan();
  auto known = getStatic(size);
  if (known && *known + more < 0)
    return node.error() << "expected at least " << -more << " elements for the kernel, found "
                        << *known;
  if (window.roundsUp) {
    OpFoldResult count = roundUp(node, size, window);
    return known ? fixedSize(node, *getStatic(count)) : count;
  }
  if (known)
    return fixedSize(node, (*known + more) / window.stride + 1);
  Polynomial rest = Polynomial::of(size) + Polynomial::constant(more);
  if (window.stride == 1)
    return (rest + Polynomial::constant(1)).build(body);
  Value steps =
      body.make<arith::FloorDivSIOp>(toIndex(body, rest.build(body)), body.index(window.stride));
  return OpFoldResult(body.make<arith::AddIOp>(steps, body.index(1)));
}

FailureOr<SmallVector<OpFoldResult>> imports::countPlaces(Node &node, ArrayRef<Window> windows) {
  SmallVector<OpFoldResult> places;
  for (auto [size, window] : llvm::zip(ArrayRef(node.input(0)->sizes).drop_front(2), windows)) {
    FailureOr<OpFoldResult> count = ::countPlaces(node, size, window);
    if (failed(count))
      return failure();
    places.push_back(*count);
  }
  return places;
}

Value imports::readWindow(Body &at, const TensorRef &input, ArrayRef<Window> windows,
                          ArrayRef<Value> front, ArrayRef<Value> places, ArrayRef<Value> steps,
                          double outside) {
  SmallVector<Value> own(front);
  Value inside;
  for (auto [dim, window] : llvm::enumerate(windows)) {
    Value start = at.make<arith::MulIOp>(places[dim], at.index(window.stride));
    Value step = at.make<arith::MulIOp>(steps[dim], at.index(window.dilation));
    Value place = at.make<arith::AddIOp>(start, step);
    if (window.before > 0)
      place = at.make<arith::SubIOp>(place, at.index(window.before));
    if (!window.staysInside()) {
      Value last = at.make<arith::SubIOp>(toIndex(at, input->sizes[2 + dim]), at.index(1));
      Value nearest = at.make<arith::MinSIOp>(at.make<arith::MaxSIOp>(place, at.index(0)), last);
      Value isIn = at.make<arith::CmpIOp>(arith::CmpIPredicate::eq, place, nearest);
      inside = inside ? at.make<arith::AndIOp>(inside, isIn) : isIn;
      place = nearest;
    }
    own.push_back(place);
  }
  Value value = at.read(input, own);
  if (!inside)
    return value;
  return at.make<arith::SelectOp>(inside, value, floatConstant(at, value.getType(), outside));
}
