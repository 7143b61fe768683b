//===- Materialize.cpp - tensors of an ONNX graph as ops ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A formula becomes an op where something needs its value: a map of tensors, or what is computed
// place by place.
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

/// Element by element, as its formula says.
static Value generate(Body &body, const TensorRef &tensor) {
  SmallVector<Value> dynamic;
  for (OpFoldResult size : tensor->sizes)
    if (!getStatic(size))
      dynamic.push_back(cast<Value>(size));
  return tensor::GenerateOp::create(
      body.b, body.loc, tensor->getType(), dynamic, [&](OpBuilder &b, Location loc, ValueRange at) {
        Body inner{b, loc};
        tensor::YieldOp::create(b, loc, inner.read(tensor, SmallVector<Value>(at)));
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

namespace {
/// The tensors that a tree of maps reads, and the tree as a function of their elements.
struct MapTree {
  void collect(const TensorRef &whole);
  /// The tree's scalar where `elements` are those of the leaves.
  Value build(Body &at, const TensorRef &whole, ArrayRef<Value> elements);

  SmallVector<TensorRef> leaves;
  /// What of the tree has been collected, and the scalars that are built: an operand may stand in
  /// it any number of times.
  llvm::DenseSet<Tensor *> collected;
  llvm::DenseMap<Tensor *, Value> built;
};
} // namespace

/// Whether the tree goes on: what follows from indices alone is computed for itself.
static bool isNode(const TensorRef &tensor) {
  return tensor->form == Form::Map && !tensor->value && tensor->isData;
}

/// What is broadcast anyway need not be before.
static const TensorRef &skipExpand(const TensorRef &tensor) {
  return tensor->form == Form::Expand && !tensor->value ? tensor->sources[0] : tensor;
}

static bool isScalar(const TensorRef &tensor) {
  return tensor->elements && tensor->elements->size() == 1;
}

void MapTree::collect(const TensorRef &whole) {
  const TensorRef &tensor = skipExpand(whole);
  if (isScalar(tensor) || !collected.insert(tensor.get()).second)
    return;
  if (!isNode(tensor))
    return leaves.push_back(tensor);
  for (const TensorRef &source : tensor->sources)
    collect(source);
}

Value MapTree::build(Body &at, const TensorRef &whole, ArrayRef<Value> elements) {
  const TensorRef &tensor = skipExpand(whole);
  if (isScalar(tensor))
    return tensor->elements->front();
  if (!isNode(tensor))
    return elements[llvm::find(leaves, tensor) - leaves.begin()];
  if (Value before = built.lookup(tensor.get()))
    return before;
  auto scalars = llvm::map_to_vector(
      tensor->sources, [&](const TensorRef &source) { return build(at, source, elements); });
  return built[tensor.get()] = tensor->scalar(at, scalars);
}

/// What reads data at places of its own is best read where it is needed.
static bool isRead(const TensorRef &leaf) { return leaf->value || !leaf->isData; }

/// Whether some operand has each of the sizes of a map's result.
static bool showSizes(ArrayRef<TensorRef> operands, ArrayRef<OpFoldResult> sizes) {
  return llvm::all_of(llvm::enumerate(llvm::reverse(sizes)), [&](auto place) {
    return llvm::any_of(operands, [&](const TensorRef &operand) {
      int64_t dim = operand->getRank() - 1 - int64_t(place.index());
      return dim >= 0 && sameSize(operand->sizes[dim], place.value());
    });
  });
}

/// `attn.map` where one says it.
static Value map(Body &body, const TensorRef &tensor) {
  MapTree tree;
  if (isNode(tensor))
    tree.collect(tensor);
  if (tree.leaves.empty() || !llvm::all_of(tree.leaves, isRead) ||
      !showSizes(tree.leaves, tensor->sizes))
    return nullptr;
  auto inputs = llvm::map_to_vector(tree.leaves,
                                    [&](const TensorRef &leaf) { return materialize(body, leaf); });
  auto op = MapOp::create(body.b, body.loc, tensor->getType(), inputs);
  OpBuilder::InsertionGuard guard(body.b);
  auto types =
      llvm::map_to_vector(tree.leaves, [](const TensorRef &leaf) { return leaf->element; });
  Block *block =
      body.b.createBlock(&op.getBody(), {}, types, SmallVector<Location>(types.size(), body.loc));
  Body inner{body.b, body.loc};
  SmallVector<Value> elements(block->getArguments());
  YieldOp::create(body.b, body.loc, tree.build(inner, tensor, elements));
  return op;
}

static Value compute(Body &body, const TensorRef &tensor) {
  Value value;
  // What is repeated is computed once, and read as it is then.
  if (tensor->form == Form::Expand && tensor->sources[0]->isData)
    materialize(body, tensor->sources[0]);
  if (tensor->elements)
    value = makeDense(body, *tensor);
  if (!value)
    value = map(body, tensor);
  return value ? value : generate(body, tensor);
}

Value imports::materialize(Body &body, const TensorRef &tensor) {
  if (tensor->value)
    return tensor->value;
  tensor->value = compute(body, tensor);
  tensor->isData = true;
  // Nobody looks behind the value of a formula.
  tensor->at = nullptr;
  if (tensor->form == Form::Map) {
    tensor->form = Form::Other;
    tensor->sources.clear();
    tensor->scalar = nullptr;
  }
  return tensor->value;
}
