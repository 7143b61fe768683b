//===- Materialize.cpp - tensors of an ONNX graph as ops ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor becomes an op where something needs its value: the op that says most about it.
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

/// Heads split off a projection, where a transposed reshape says no more than that.
static Value splitHeads(Body &body, const Tensor &tensor) {
  TensorRef split = tensor.sources[0];
  bool timeFirst = llvm::equal(tensor.permutation, ArrayRef<int64_t>{1, 2, 0, 3});
  if ((!timeFirst && !llvm::equal(tensor.permutation, ArrayRef<int64_t>{0, 2, 1, 3})) ||
      split->form != Form::Reshape)
    return nullptr;
  TensorRef whole = split->sources[0];
  auto heads = getStatic(split->sizes[2]);
  if (whole->getRank() != 3 || !heads || !isa<FloatType>(tensor.element) ||
      !sameSizes(ArrayRef(whole->sizes).take_front(2), ArrayRef(split->sizes).take_front(2)))
    return nullptr;
  return SplitHeadsOp::create(body.b, body.loc, tensor.getType(), materialize(body, whole), *heads,
                              timeFirst ? Layout::time_first : Layout::batch_first);
}

/// Heads put side by side again.
static Value mergeHeads(Body &body, const Tensor &tensor) {
  TensorRef turned = tensor.sources[0];
  if (turned->form != Form::Transpose || turned->getRank() != 4 || tensor.getRank() != 3)
    return nullptr;
  bool timeFirst = llvm::equal(turned->permutation, ArrayRef<int64_t>{2, 0, 1, 3});
  if ((!timeFirst && !llvm::equal(turned->permutation, ArrayRef<int64_t>{0, 2, 1, 3})) ||
      !isa<FloatType>(tensor.element) ||
      !sameSizes(ArrayRef(tensor.sizes).take_front(2), ArrayRef(turned->sizes).take_front(2)))
    return nullptr;
  return MergeHeadsOp::create(body.b, body.loc, tensor.getType(),
                              materialize(body, turned->sources[0]),
                              timeFirst ? Layout::time_first : Layout::batch_first);
}

/// All dimensions in groups around those other than 1.
static SmallVector<ReassociationIndices> groupUnits(ArrayRef<OpFoldResult> sizes) {
  SmallVector<ReassociationIndices> groups(getWideDims(sizes).size());
  if (groups.empty())
    return groups;
  int64_t group = 0, numWide = 0;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (getStatic(size) != 1)
      group = numWide++;
    groups[group].push_back(dim);
  }
  return groups;
}

static Value collapse(Body &body, Value value, ArrayRef<OpFoldResult> sizes,
                      ArrayRef<ReassociationIndices> groups) {
  if (groups.size() == size_t(cast<RankedTensorType>(value.getType()).getRank()))
    return value;
  auto type = getTensorType(cast<RankedTensorType>(value.getType()).getElementType(), sizes);
  return tensor::CollapseShapeOp::create(body.b, body.loc, type, value, groups);
}

static Value expand(Body &body, Value value, ArrayRef<OpFoldResult> sizes,
                    ArrayRef<ReassociationIndices> groups) {
  if (groups.size() == sizes.size())
    return value;
  auto type = getTensorType(cast<RankedTensorType>(value.getType()).getElementType(), sizes);
  return tensor::ExpandShapeOp::create(body.b, body.loc, type, value, groups, sizes);
}

/// Without sizes of 1, taken apart, put together, with sizes of 1.
static Value reshape(Body &body, const Tensor &tensor) {
  const TensorRef &source = tensor.sources[0];
  auto common = refine(body, source->sizes, tensor.sizes);
  if (!common)
    return nullptr;
  auto from = pick<OpFoldResult>(source->sizes, getWideDims(source->sizes));
  auto to = pick<OpFoldResult>(tensor.sizes, getWideDims(tensor.sizes));
  Value value = collapse(body, materialize(body, source), from, groupUnits(source->sizes));
  value = expand(body, value, common->sizes, common->from);
  value = collapse(body, value, to, common->to);
  return expand(body, value, tensor.sizes, groupUnits(tensor.sizes));
}

static bool isMove(const TensorRef &tensor) {
  return tensor->form == Form::Reshape || tensor->form == Form::Transpose ||
         tensor->form == Form::Slice;
}

static Value slice(Body &body, const Tensor &tensor) {
  const TensorRef &source = tensor.sources[0];
  // What is a formula anyway is best read where it is needed.
  if (!source->value && !isMove(source))
    return nullptr;
  SmallVector<OpFoldResult> offsets(tensor.getRank(), body.b.getIndexAttr(0)),
      steps(tensor.getRank(), body.b.getIndexAttr(1));
  offsets[tensor.dim] = tensor.offset;
  return tensor::ExtractSliceOp::create(body.b, body.loc, tensor.getType(),
                                        materialize(body, source), offsets, tensor.sizes, steps);
}

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

/// A constant where every element is one.
static Value makeDense(Body &body, const Tensor &tensor) {
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
  MapTree(const TensorRef &root, bool takesFormulas) : root(root), takesFormulas(takesFormulas) {}

  /// Whether `attn.map` broadcasts everything that is read.
  bool collect(const TensorRef &whole);
  bool collectLeaf(const TensorRef &tensor);
  /// The tree's scalar where `elements` are those of the leaves.
  Value build(Body &at, const TensorRef &whole, ArrayRef<Value> elements);

  TensorRef root;
  /// What of the tree has been collected, and the scalars that are built: an operand may stand in
  /// it any number of times.
  llvm::DenseMap<Tensor *, bool> collected;
  llvm::DenseMap<Tensor *, Value> built;
  /// Whether formulas of indices are computed to be read, too.
  bool takesFormulas;
  SmallVector<TensorRef> leaves;
  /// Whether only the call tells that a size that is read is the root's.
  bool isOpen = false;
};
} // namespace

static bool isNode(const TensorRef &tensor) { return tensor->form == Form::Map && !tensor->value; }

/// What is broadcast anyway need not be before.
static const TensorRef &skipExpand(const TensorRef &tensor) {
  return tensor->form == Form::Expand && !tensor->value ? tensor->sources[0] : tensor;
}

static bool isScalar(const TensorRef &tensor) {
  return tensor->elements && tensor->elements->size() == 1;
}

bool MapTree::collect(const TensorRef &whole) {
  const TensorRef &tensor = skipExpand(whole);
  if (isScalar(tensor))
    return true;
  if (auto before = collected.find(tensor.get()); before != collected.end())
    return before->second;
  bool isRead = isNode(tensor)
                    ? llvm::count_if(tensor->sources,
                                     [&](const TensorRef &source) { return !collect(source); }) == 0
                    : collectLeaf(tensor);
  return collected[tensor.get()] = isRead;
}

bool MapTree::collectLeaf(const TensorRef &tensor) {
  ArrayRef<OpFoldResult> around = ArrayRef(root->sizes).take_back(tensor->getRank());
  for (auto [size, wanted] : llvm::zip(tensor->sizes, around))
    isOpen |= getStatic(size) != 1 && !sameSize(size, wanted);
  leaves.push_back(tensor);
  // What is a formula of its indices is best read where it is needed.
  return takesFormulas || tensor->value || tensor->form != Form::Other;
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

/// `attn.map` where one says it.
static Value map(Body &body, const TensorRef &tensor) {
  if (!isNode(tensor))
    return nullptr;
  MapTree tree(tensor, /*takesFormulas=*/false);
  bool isMap = tree.collect(tensor);
  // Sizes that must be equal are checked by attn.map when it is called.
  if (!isMap && tree.isOpen) {
    tree = MapTree(tensor, /*takesFormulas=*/true);
    isMap = tree.collect(tensor);
  }
  if (!isMap || tree.leaves.empty())
    return nullptr;
  auto inputs = llvm::map_to_vector(tree.leaves,
                                    [&](const TensorRef &leaf) { return materialize(body, leaf); });
  auto isMissing = [&](int64_t dim) {
    return llvm::all_of(tree.leaves, [&](const TensorRef &leaf) {
      return dim >= leaf->getRank() || !sameSize(leaf->sizes[leaf->getRank() - 1 - dim],
                                                 tensor->sizes[tensor->getRank() - 1 - dim]);
    });
  };
  // Some operand must have each of the result's sizes.
  for (int64_t dim = 0; dim < tensor->getRank(); ++dim)
    if (isMissing(dim))
      return nullptr;
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

static Value transpose(Body &body, const Tensor &tensor) {
  if (Value heads = splitHeads(body, tensor))
    return heads;
  return TransposeOp::create(body.b, body.loc, tensor.getType(),
                             materialize(body, tensor.sources[0]), tensor.permutation);
}

/// Whether a tensor is what an op computed, moved or changed element by element.
static bool followsFromOp(const TensorRef &tensor, int depth = 0) {
  constexpr int mostDepth = 6;
  if (tensor->value)
    return tensor->value.getDefiningOp() && !tensor->isConstant();
  return depth < mostDepth && (isMove(tensor) || tensor->form == Form::Map) &&
         llvm::any_of(
             tensor->sources,
             [&](const TensorRef &source) { return followsFromOp(source, depth + 1); });
}

/// What is repeated of computed tensors is computed once, and read as it is then.
static void computeRepeated(Body &body, const TensorRef &source) {
  if (followsFromOp(source))
    materialize(body, source);
}

static Value compute(Body &body, const TensorRef &tensor) {
  Value value;
  if (tensor->form == Form::Expand)
    computeRepeated(body, tensor->sources[0]);
  if (tensor->elements)
    value = makeDense(body, *tensor);
  if (!value && tensor->form == Form::Transpose)
    value = transpose(body, *tensor);
  if (!value)
    value = map(body, tensor);
  if (!value && tensor->form == Form::Reshape) {
    value = mergeHeads(body, *tensor);
    if (!value)
      value = reshape(body, *tensor);
  }
  if (!value && tensor->form == Form::Slice)
    value = slice(body, *tensor);
  return value ? value : generate(body, tensor);
}

Value imports::materialize(Body &body, const TensorRef &tensor) {
  if (tensor->value)
    return tensor->value;
  tensor->value = compute(body, tensor);
  // Nobody looks behind the value of a formula.
  tensor->at = nullptr;
  if (tensor->form == Form::Map) {
    tensor->form = Form::Other;
    tensor->sources.clear();
    tensor->scalar = nullptr;
  }
  return tensor->value;
}
