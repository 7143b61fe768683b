//===- Conv.cpp - ONNX's Conv ---------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions as patches times a linear layer.
//
//===----------------------------------------------------------------------===//

#include "Window.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

static LogicalResult checkConv(Node &node) {
  TensorRef input = node.input(0), weight = node.input(1), bias = node.input(2);
  if (input->element != weight->element || (bias && bias->element != input->element))
    return node.error() << "expected operands of one type, found " << input->element << " and "
                        << (input->element != weight->element ? weight : bias)->element;
  if (input->getRank() < 3 || input->getRank() > 5 || weight->getRank() != input->getRank())
    return node.error() << "expected an input and a weight of one rank from 3 to 5, found "
                        << input->getRank() << " and " << weight->getRank();
  if (!weight->getType().hasStaticShape())
    return node.error() << "expected a weight of known sizes, found " << weight->getType();
  int64_t group = node.getInt("group", 1), outputs = *getStatic(weight->sizes[0]);
  if (group < 1 || group > std::max<int64_t>(outputs, 1) || outputs % group != 0)
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

static FailureOr<SmallVector<Window>> getKernelWindows(Node &node) {
  SmallVector<int64_t> kernel;
  for (OpFoldResult size : ArrayRef(node.input(1)->sizes).drop_front(2))
    kernel.push_back(*getStatic(size));
  if (node.getInts("kernel_shape").value_or(kernel) != kernel)
    return node.error() << "expected attribute 'kernel_shape' to be the weight's";
  return getWindows(node, kernel);
}

/// The input elements under each window (im2col), 0 outside of the input: [batch, group, places…,
/// channels of the group, kernel…], without the group dimension if there is one group.
static TensorRef makePatches(Body &body, const TensorRef &input, ArrayRef<OpFoldResult> sizes,
                             ArrayRef<Window> all) {
  SmallVector<Window> windows(all);
  int64_t count = windows.size(), channels = *getStatic(sizes.end()[-1 - count]);
  return makeGenerate(
      body, input->element, sizes, {input}, [=](Body &at, ArrayRef<Value> shown) -> Value {
        SmallVector<Value> indices(shown);
        if (int64_t(indices.size()) < 3 + 2 * count)
          indices.insert(indices.begin() + 1, at.index(0));
        Value first = at.make<arith::MulIOp>(indices[1], at.index(channels));
        Value front[] = {indices[0], at.make<arith::AddIOp>(first, indices[2 + count])};
        ArrayRef<Value> places = ArrayRef(indices).slice(2, count);
        return readWindow(at, input, windows, front, places, ArrayRef(indices).take_back(count), 0);
      });
}

static ElementsAttr reshapeConstant(ElementsAttr constant, RankedTensorType type) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant))
    return DenseResourceElementsAttr::get(type, resource.getRawHandle());
  return cast<DenseElementsAttr>(constant).reshape(type);
}

TensorRef imports::reshapeWeight(Node &node, const TensorRef &tensor,
                                 ArrayRef<OpFoldResult> sizes) {
  ElementsAttr constant;
  RankedTensorType type = getTensorType(tensor->element, sizes);
  if (tensor->value && matchPattern(tensor->value, m_Constant(&constant)))
    return makeConstant(node.body, reshapeConstant(constant, type));
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
  FailureOr<TensorRef> product = multiplyMatrices(
      node, makeReshape(node.body, makePatches(node.body, input, all, windows), rows),
      makeTranspose(node.body, reshapeWeight(node, weight, matrix), swapped));
  if (failed(product) || !bias)
    return product;
  return applyElementwise(
      node, {*product, reshapeWeight(node, bias, added)}, input->element,
      [](Body &body, ArrayRef<Value> x) { return body.make<arith::AddFOp>(x[0], x[1]); });
}

SmallVector<AttributeEntry> imports::getConvAttributes() {
  return {{"auto_pad", String},   {"dilations", Ints}, {"group", Int},
          {"kernel_shape", Ints}, {"pads", Ints},      {"strides", Ints}};
}

LogicalResult imports::importConv(Node &node) {
  if (failed(checkConv(node)))
    return failure();
  FailureOr<SmallVector<Window>> windows = getKernelWindows(node);
  if (failed(windows))
    return failure();
  TensorRef input = node.input(0), weight = node.input(1);
  FailureOr<SmallVector<OpFoldResult>> places = countPlaces(node, *windows);
  if (failed(places))
    return failure();
  FailureOr<TensorRef> product = multiplyPatches(node, *windows, *places);
  if (failed(product))
    return failure();
  // Channels in front of places.
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, (*product)->getRank()));
  std::swap(order.end()[-1], order.end()[-2]);
  SmallVector<OpFoldResult> result = {input->sizes[0], weight->sizes[0]};
  llvm::append_range(result, *places);
  return node.setOutput(makeReshape(node.body, makeTranspose(node.body, *product, order), result));
}
