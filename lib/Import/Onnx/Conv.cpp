//===- Conv.cpp - ONNX's Conv ---------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands before the attention of images and sound: patches as rows, and a linear layer.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "Sizes.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

namespace {
/// How a window moves along one dimension.
struct Window {
  int64_t size, stride, dilation, before, after;

  int64_t getSpan() const { return (size - 1) * dilation + 1; }
};
} // namespace

static LogicalResult checkConv(Node &node) {
  TensorRef input = node.input(0), weight = node.input(1), bias = node.input(2);
  if (failed(checkFloat(node, input)))
    return failure();
  if (input->element != weight->element || (bias && bias->element != input->element))
    return node.error() << "expected operands of one type, found " << input->element << " and "
                        << (input->element != weight->element ? weight : bias)->element;
  if (input->getRank() < 3 || input->getRank() > 5 || weight->getRank() != input->getRank())
    return node.error() << "expected an input and a weight of one rank from 3 to 5, found "
                        << input->getRank() << " and " << weight->getRank();
  if (!weight->getType().hasStaticShape())
    return node.error() << "expected a weight of known sizes, found " << weight->getType();
  int64_t group = node.getInt("group", 1), outputs = *getStatic(weight->sizes[0]);
  if (group < 1 || outputs % group != 0)
    return node.error() << "expected attribute 'group' to divide " << outputs << " channels, found "
                        << group;
  if (group > 1 && input->getRank() == 5)
    return node.error() << "expected one group in three dimensions, found " << group;
  OpFoldResult channels = fixedSize(node.model.context, group * *getStatic(weight->sizes[1]));
  if (!sameSize(input->sizes[1], channels))
    return node.error() << "expected an input of " << *getStatic(channels) << " channels, found "
                        << input->getType();
  if (bias && (bias->getRank() != 1 || !sameSize(bias->sizes[0], weight->sizes[0])))
    return node.error() << "expected a bias of " << *getStatic(weight->sizes[0])
                        << " elements, found " << bias->getType();
  return success();
}

/// Pads so that there is a place for each stride, the odd one behind or in front.
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
  constexpr int64_t most = 1 << 20;
  for (int64_t number : {window.size, window.stride, window.dilation})
    if (number < 1 || number > most)
      return node.error() << "expected kernels, strides and dilations from 1 to " << most
                          << ", found " << number;
  for (int64_t number : {window.before, window.after})
    if (number < 0 || number > most)
      return node.error() << "expected pads from 0 to " << most << ", found " << number;
  return success();
}

static FailureOr<SmallVector<Window>> getWindows(Node &node) {
  TensorRef input = node.input(0), weight = node.input(1);
  size_t count = weight->getRank() - 2;
  SmallVector<int64_t> kernel;
  for (OpFoldResult size : ArrayRef(weight->sizes).drop_front(2))
    kernel.push_back(*getStatic(size));
  auto get = [&](StringRef name, int64_t length, int64_t otherwise) {
    return node.getInts(name).value_or(SmallVector<int64_t>(length, otherwise));
  };
  auto strides = get("strides", count, 1), dilations = get("dilations", count, 1),
       pads = get("pads", 2 * count, 0);
  if (strides.size() != count || dilations.size() != count || pads.size() != 2 * count)
    return node.error() << "expected attributes for " << count << " dimensions";
  if (node.getInts("kernel_shape").value_or(kernel) != kernel)
    return node.error() << "expected attribute 'kernel_shape' to be the weight's";
  StringRef pad = node.getString("auto_pad", "NOTSET");
  if (!llvm::is_contained({"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}, pad))
    return node.error() << "expected attribute 'auto_pad' NOTSET, VALID, SAME_UPPER or "
                        << "SAME_LOWER, found " << pad;
  if (pad != "NOTSET" && llvm::any_of(pads, [](int64_t size) { return size != 0; }))
    return node.error() << "expected no attribute 'pads' beside 'auto_pad' " << pad;
  SmallVector<Window> windows;
  for (size_t dim = 0; dim < count; ++dim) {
    Window window = {kernel[dim], strides[dim], dilations[dim], pads[dim], pads[count + dim]};
    if (failed(checkWindow(node, window)) ||
        (pad.starts_with("SAME") &&
         failed(padSame(node, input->sizes[2 + dim], pad == "SAME_UPPER", window))))
      return failure();
    windows.push_back(window);
  }
  return windows;
}

/// How many places a window has.
static FailureOr<OpFoldResult> countPlaces(Node &node, OpFoldResult size, const Window &window) {
  Body &body = node.body;
  int64_t more = window.before + window.after - window.getSpan();
  auto known = getStatic(size);
  if (known && *known + more < 0)
    return node.error() << "expected at least " << -more << " elements for the kernel, found "
                        << *known;
  if (known)
    return fixedSize(node.model.context, (*known + more) / window.stride + 1);
  Polynomial rest = Polynomial::of(size) + Polynomial::constant(more);
  if (window.stride == 1)
    return (rest + Polynomial::constant(1)).build(body);
  Value steps =
      body.make<arith::FloorDivSIOp>(toIndex(body, rest.build(body)), body.index(window.stride));
  return OpFoldResult(body.make<arith::AddIOp>(steps, body.index(1)));
}

/// What each window sees, 0 outside of the input: [batch, group, places…, channels of the group,
/// kernel…], without the group where there is one.
static TensorRef makePatches(const TensorRef &input, ArrayRef<OpFoldResult> sizes,
                             ArrayRef<Window> all) {
  SmallVector<Window> windows(all);
  int64_t count = windows.size(), channels = *getStatic(sizes.end()[-1 - count]);
  return makeLazy(input->element, sizes, [=](Body &at, ArrayRef<Value> shown) -> Value {
    SmallVector<Value> indices(shown);
    if (int64_t(indices.size()) < 3 + 2 * count)
      indices.insert(indices.begin() + 1, at.index(0));
    Value first = at.make<arith::MulIOp>(indices[1], at.index(channels));
    SmallVector<Value> own = {indices[0], at.make<arith::AddIOp>(first, indices[2 + count])};
    Value inside;
    for (auto [dim, window] : llvm::enumerate(windows)) {
      Value start = at.make<arith::MulIOp>(indices[2 + dim], at.index(window.stride));
      Value step = at.make<arith::MulIOp>(indices[3 + count + dim], at.index(window.dilation));
      Value place = at.make<arith::AddIOp>(start, step);
      if (window.before > 0)
        place = at.make<arith::SubIOp>(place, at.index(window.before));
      if (window.before > 0 || window.after > 0) {
        Value last = at.make<arith::SubIOp>(toIndex(at, input->sizes[2 + dim]), at.index(1));
        Value nearest = at.make<arith::MinSIOp>(at.make<arith::MaxSIOp>(place, at.index(0)), last);
        Value isIn = at.make<arith::CmpIOp>(arith::CmpIPredicate::eq, place, nearest);
        inside = inside ? at.make<arith::AndIOp>(inside, isIn) : isIn;
        place = nearest;
      }
      own.push_back(place);
    }
    Value value = at.read(input, own);
    return inside ? at.make<arith::SelectOp>(inside, value, floatConstant(at, value.getType(), 0))
                  : value;
  });
}

/// `tensor` in another shape, still a constant if it is one.
static TensorRef reshapeWeight(Node &node, const TensorRef &tensor, ArrayRef<OpFoldResult> sizes) {
  DenseElementsAttr constant;
  if (tensor->value && matchPattern(tensor->value, m_Constant(&constant)))
    return makeConstant(node.body, constant.reshape(getTensorType(tensor->element, sizes)));
  return makeReshape(node.body, tensor, sizes);
}

/// The product of patches and weight, [batch, places, outputs], with a dimension of groups after
/// the batch where there are several: then a group's outputs are its own.
static FailureOr<TensorRef> multiplyPatches(Node &node, ArrayRef<Window> windows,
                                            ArrayRef<OpFoldResult> places) {
  TensorRef input = node.input(0), weight = node.input(1), bias = node.input(2);
  auto fixed = [&](int64_t size) { return fixedSize(node.model.context, size); };
  int64_t group = node.getInt("group", 1);
  OpFoldResult batch = input->sizes[0], outputs = fixed(*getStatic(weight->sizes[0]) / group);
  ArrayRef<OpFoldResult> inputs = ArrayRef(weight->sizes).drop_front();
  OpFoldResult width = multiply(node.body, inputs);

  SmallVector<OpFoldResult> all = {batch}, rows = {batch}, matrix, added;
  if (group > 1)
    for (auto *sizes : {&all, &rows, &matrix, &added})
      sizes->push_back(fixed(group));
  llvm::append_range(all, places);
  llvm::append_range(all, inputs);
  llvm::append_range(rows, ArrayRef{multiply(node.body, places), width});
  llvm::append_range(matrix, ArrayRef{outputs, width});
  if (group > 1)
    added.push_back(fixed(1));
  added.push_back(outputs);

  SmallVector<int64_t> swapped = {1, 0};
  if (group > 1)
    swapped = {0, 2, 1};
  FailureOr<TensorRef> product =
      multiplyMatrices(node, makeReshape(node.body, makePatches(input, all, windows), rows),
                       makeTranspose(reshapeWeight(node, weight, matrix), swapped));
  if (failed(product) || !bias)
    return product;
  return applyElementwise(
      node, {*product, reshapeWeight(node, bias, added)}, input->element,
      [](Body &body, ArrayRef<Value> x) { return body.make<arith::AddFOp>(x[0], x[1]); });
}

LogicalResult imports::importConv(Node &node) {
  if (failed(checkConv(node)))
    return failure();
  FailureOr<SmallVector<Window>> windows = getWindows(node);
  if (failed(windows))
    return failure();
  TensorRef input = node.input(0), weight = node.input(1);
  SmallVector<OpFoldResult> places;
  for (auto [size, window] : llvm::zip(ArrayRef(input->sizes).drop_front(2), *windows)) {
    FailureOr<OpFoldResult> count = countPlaces(node, size, window);
    if (failed(count))
      return failure();
    places.push_back(*count);
  }
  FailureOr<TensorRef> product = multiplyPatches(node, *windows, places);
  if (failed(product))
    return failure();
  // Channels in front of places.
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, (*product)->getRank()));
  std::swap(order.end()[-1], order.end()[-2]);
  SmallVector<OpFoldResult> result = {input->sizes[0], weight->sizes[0]};
  llvm::append_range(result, places);
  return node.setOutput(makeReshape(node.body, makeTranspose(*product, order), result));
}
