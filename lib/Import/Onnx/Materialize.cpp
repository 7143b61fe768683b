//===- Materialize.cpp - tensors of an ONNX graph as ops ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits elementwise computations as `attn.map`, or as `tensor.generate` where no operand is data. A
// list of known elements becomes a constant or a `tensor.generate` once an op needs its value.
//
//===----------------------------------------------------------------------===//

#include "Sizes.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

Value imports::generate(Body &body, RankedTensorType type, ArrayRef<OpFoldResult> sizes,
                        ElementFn at) {
  SmallVector<Value> dynamic;
  for (OpFoldResult size : sizes)
    if (!getStatic(size))
      dynamic.push_back(cast<Value>(size));
  return tensor::GenerateOp::create(
      body.b, body.loc, type, dynamic, [&](OpBuilder &b, Location loc, ValueRange place) {
        Body inner{b, loc};
        tensor::YieldOp::create(b, loc, at(inner, SmallVector<Value>(place)));
      });
}

Value imports::makeDense(Body &body, const Tensor &tensor) {
  SmallVector<Attribute> attributes;
  for (Value element : *tensor.elements) {
    Attribute attribute;
    if (!matchPattern(element, m_Constant(&attribute)))
      return nullptr;
    attributes.push_back(attribute);
  }
  RankedTensorType type = tensor.getType();
  if (!type.hasStaticShape() || type.getNumElements() != int64_t(attributes.size()))
    return nullptr;
  return arith::ConstantOp::create(body.b, body.loc,
                                   DenseElementsAttr::get(tensor.getType(), attributes));
}

/// Whether some operand has each of the sizes of a map's result.
static bool showSizes(ArrayRef<TensorRef> operands, ArrayRef<int64_t> shape) {
  return llvm::all_of(llvm::enumerate(llvm::reverse(shape)), [&](auto place) {
    return llvm::any_of(operands, [&](const TensorRef &operand) {
      int64_t dim = operand->getRank() - 1 - int64_t(place.index());
      return dim >= 0 && operand->getType().getDimSize(dim) == place.value();
    });
  });
}

static bool isScalar(const TensorRef &tensor) {
  return tensor->elements && tensor->elements->size() == 1;
}

/// The tensors that a map of `sources` takes. What it repeats need not be repeated before, and
/// scalars are no tensors, where the result's sizes are still shown.
static SmallVector<TensorRef> getOperands(ArrayRef<TensorRef> sources, ArrayRef<int64_t> shape) {
  SmallVector<TensorRef> operands;
  for (const TensorRef &source : sources)
    if (!isScalar(source))
      operands.push_back(source->unexpanded ? source->unexpanded : source);
  return showSizes(operands, shape) ? operands : SmallVector<TensorRef>(sources);
}

Value imports::emitMap(Body &body, RankedTensorType type, ArrayRef<TensorRef> sources,
                       ScalarFn scalar) {
  SmallVector<TensorRef> operands = getOperands(sources, type.getShape());
  auto inputs = llvm::map_to_vector(
      operands, [&](const TensorRef &operand) { return materialize(body, operand); });
  auto op = MapOp::create(body.b, body.loc, type, inputs);
  OpBuilder::InsertionGuard guard(body.b);
  auto types = llvm::map_to_vector(operands, [](const TensorRef &x) { return x->element; });
  Block *block =
      body.b.createBlock(&op.getBody(), {}, types, SmallVector<Location>(types.size(), body.loc));
  bool takesAll = operands.size() == sources.size();
  auto *argument = block->args_begin();
  SmallVector<Value> scalars;
  for (const TensorRef &source : sources)
    scalars.push_back(takesAll || !isScalar(source) ? Value(*argument++)
                                                    : source->elements->front());
  Body inner{body.b, body.loc};
  YieldOp::create(body.b, body.loc, scalar(inner, scalars));
  return op.getResult();
}

static Value computeList(Body &body, const TensorRef &list) {
  if (Value constant = makeDense(body, *list))
    return constant;
  if (list->value)
    return list->value;
  return generate(body, list->getType(), list->sizes,
                  [&](Body &at, ArrayRef<Value> indices) { return at.read(list, indices); });
}

Value imports::materialize(Body &body, const TensorRef &tensor) {
  // Known elements become a constant.
  if (tensor->elements && (!tensor->value || tensor->isIndexOnly())) {
    tensor->value = computeList(body, tensor);
    tensor->indexDepth = 0;
  }
  return tensor->value;
}
