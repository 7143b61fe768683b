//===- Matmul.cpp - ONNX's matrix products --------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product with a constant is a linear layer. A batched one is a score where its
// right side is a transposed key, else a context.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "Sizes.h"

#include "attnc/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

static LogicalResult checkInner(Node &node, OpFoldResult left, OpFoldResult right) {
  auto known = getStatic(left), other = getStatic(right);
  if (known && other && *known != *other)
    return node.error() << "expected inner sizes to match, found " << *known << " and " << *other;
  return success();
}

//===----------------------------------------------------------------------===//
// Linear layers
//===----------------------------------------------------------------------===//

/// The transpose of a constant matrix, computed here; null where its bytes are not at hand.
static ElementsAttr transposeConstant(ElementsAttr matrix) {
  auto shape = matrix.getShapedType();
  int64_t rows = shape.getDimSize(0), columns = shape.getDimSize(1);
  auto type = RankedTensorType::get({columns, rows}, shape.getElementType());
  if (matrix.isSplat())
    return cast<DenseElementsAttr>(matrix).reshape(type);
  std::optional<ArrayRef<char>> from = getBytes(matrix);
  if (!from)
    return nullptr;
  int64_t width = type.getElementTypeBitWidth() / 8;
  return makeBytes(matrix, type, [&](MutableArrayRef<char> to) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        std::copy_n(from->data() + (row * columns + column) * width, width,
                    to.data() + (column * rows + row) * width);
  });
}

/// A matrix as attn.linear wants it, [out_features, in_features].
static Value getWeight(Node &node, const TensorRef &matrix, bool isTransposed) {
  if (isTransposed)
    return node.materialize(matrix);
  if (matrix->isConstant()) {
    auto constant = matrix->value.getDefiningOp<arith::ConstantOp>();
    if (ElementsAttr transposed = transposeConstant(cast<ElementsAttr>(constant.getValue())))
      return arith::ConstantOp::create(node.body.b, node.body.loc, cast<TypedAttr>(transposed));
  }
  return node.materialize(makeTranspose(matrix, {1, 0}));
}

static TensorRef makeLinear(Node &node, const TensorRef &input, const TensorRef &matrix,
                            bool isTransposed, Value bias) {
  SmallVector<OpFoldResult> sizes(input->sizes);
  sizes.back() = matrix->sizes[isTransposed ? 0 : 1];
  Value weight = getWeight(node, matrix, isTransposed);
  return makeComputed(LinearOp::create(node.body.b, node.body.loc,
                                       getTensorType(input->element, sizes),
                                       node.materialize(input), weight, bias),
                      sizes);
}

static FailureOr<TensorRef> multiplyByMatrix(Node &node, const TensorRef &input,
                                             const TensorRef &matrix) {
  if (failed(checkInner(node, input->sizes.back(), matrix->sizes[0])))
    return failure();
  bool isTransposed = matrix->form == Form::Transpose && !matrix->value;
  return isTransposed ? makeLinear(node, input, matrix->sources[0], /*isTransposed=*/true, nullptr)
                      : makeLinear(node, input, matrix, /*isTransposed=*/false, nullptr);
}

static LogicalResult importGemm(Node &node) {
  TensorRef input = node.input(0), matrix = node.input(1), bias = node.input(2);
  if (input->getRank() != 2 || matrix->getRank() != 2)
    return node.error() << "expected matrices, found ranks " << input->getRank() << " and "
                        << matrix->getRank();
  if (matrix->element != input->element || (bias && bias->element != input->element))
    return node.error() << "expected operands of one type, found " << input->element << " and "
                        << (matrix->element != input->element ? matrix : bias)->element;
  double alpha = node.getFloat("alpha", 1), beta = node.getFloat("beta", 1);
  if (node.getInt("transA", 0))
    input = makeTranspose(input, {1, 0});
  bool isTransposed = node.getInt("transB", 0);
  if (failed(checkInner(node, input->sizes[1], matrix->sizes[isTransposed ? 1 : 0])))
    return failure();
  OpFoldResult width = matrix->sizes[isTransposed ? 0 : 1];
  if (bias && beta != 1)
    bias = makeScaled(node.body, bias, beta);
  bool isRow = bias && alpha == 1 && bias->getRank() == 1 && sameSize(bias->sizes[0], width);
  TensorRef product =
      makeLinear(node, input, matrix, isTransposed, isRow ? node.materialize(bias) : Value());
  if (alpha != 1)
    product = makeScaled(node.body, product, alpha);
  if (!bias || isRow)
    return node.setOutput(product);
  FailureOr<TensorRef> sum =
      applyElementwise(node, {product, bias}, product->element, [](Body &body, ArrayRef<Value> x) {
        return body.make<arith::AddFOp>(x[0], x[1]);
      });
  return failed(sum) ? failure() : node.setOutput(*sum);
}

//===----------------------------------------------------------------------===//
// Scores and contexts
//===----------------------------------------------------------------------===//

/// `tensor` without constant factors, which `scale` takes, and without a transposition,
/// which `permutation` takes.
static TensorRef peel(TensorRef tensor, double &scale, SmallVectorImpl<int64_t> &permutation) {
  permutation.assign({0, 1, 2, 3});
  while (!tensor->value) {
    if (tensor->form == Form::Scale) {
      scale *= tensor->factor;
    } else if (tensor->form == Form::Transpose) {
      for (int64_t &dim : permutation)
        dim = tensor->permutation[dim];
    } else {
      break;
    }
    tensor = tensor->sources[0];
  }
  return tensor;
}

/// Heads in front, as attention ops want them: nothing to do, or one transposition of
/// a projection.
static bool isPlain(ArrayRef<int64_t> permutation) {
  return llvm::equal(permutation, ArrayRef<int64_t>{0, 1, 2, 3}) ||
         llvm::equal(permutation, ArrayRef<int64_t>{0, 2, 1, 3}) ||
         llvm::equal(permutation, ArrayRef<int64_t>{1, 2, 0, 3});
}

/// Grouped heads are the op's business.
static TensorRef withoutRepeats(const TensorRef &tensor) {
  return tensor->form == Form::RepeatHeads && !tensor->value ? tensor->sources[0] : tensor;
}

static TensorRef makeScore(Node &node, const TensorRef &left, const TensorRef &base,
                           ArrayRef<int64_t> order, double scale) {
  SmallVector<int64_t> queryOrder;
  TensorRef queryBase = peel(left, scale, queryOrder);
  TensorRef query = makeTranspose(queryBase, queryOrder), key = makeTranspose(base, order);
  SmallVector<OpFoldResult> sizes = {query->sizes[0], query->sizes[1], query->sizes[2],
                                     key->sizes[2]};
  key = withoutRepeats(key);
  return makeComputed(ScoreOp::create(node.body.b, node.body.loc,
                                      getTensorType(query->element, sizes), node.materialize(query),
                                      node.materialize(key), APFloat(scale)),
                      sizes);
}

/// A column on the right is a query of one row, and what is on the left its keys.
static TensorRef makeScoreOfColumn(Node &node, const TensorRef &left, const TensorRef &right) {
  SmallVector<OpFoldResult> row(right->sizes), column(left->sizes);
  std::swap(row[2], row[3]);
  column[3] = row[2];
  double scale = 1;
  SmallVector<int64_t> order;
  TensorRef base = peel(left, scale, order);
  TensorRef score = makeScore(node, makeReshape(node.body, right, row), base, order, scale);
  return makeReshape(node.body, score, column);
}

static TensorRef multiplyBatched(Node &node, const TensorRef &left, const TensorRef &right) {
  double scale = 1;
  SmallVector<int64_t> order;
  TensorRef base = peel(right, scale, order);
  SmallVector<int64_t> swapped(order);
  std::swap(swapped[2], swapped[3]);
  bool isTransposedKey = !isPlain(order) && isPlain(swapped);
  bool isContext = View::find(left, isProb).has_value();
  if (!isContext && (isTransposedKey || node.feedsSoftmax))
    return makeScore(node, left, base, swapped, scale);
  if (!isContext && getStatic(right->sizes[3]) == 1)
    return makeScoreOfColumn(node, left, right);
  SmallVector<OpFoldResult> sizes = {left->sizes[0], left->sizes[1], left->sizes[2],
                                     right->sizes[3]};
  TensorRef value = withoutRepeats(right);
  return makeComputed(ContextOp::create(node.body.b, node.body.loc,
                                        getTensorType(left->element, sizes), node.materialize(left),
                                        node.materialize(value)),
                      sizes);
}

/// Sizes of 1 in front, up to rank 4. What is looked through stays in front.
static TensorRef raise(Node &node, const TensorRef &tensor) {
  int64_t missing = 4 - tensor->getRank();
  if (missing == 0)
    return tensor;
  if (tensor->form == Form::Transpose && !tensor->value) {
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, missing));
    for (int64_t dim : tensor->permutation)
      order.push_back(missing + dim);
    return makeTranspose(raise(node, tensor->sources[0]), order);
  }
  if (tensor->form == Form::Scale && !tensor->value)
    return makeScaled(node.body, raise(node, tensor->sources[0]), tensor->factor);
  SmallVector<OpFoldResult> sizes(missing, fixedSize(node.model.context, 1));
  llvm::append_range(sizes, tensor->sizes);
  return makeReshape(node.body, tensor, sizes);
}

/// Dimensions in front broadcast.
static FailureOr<std::pair<TensorRef, TensorRef>> alignBatches(Node &node, TensorRef left,
                                                               TensorRef right) {
  left = raise(node, left);
  right = raise(node, right);
  for (int64_t dim : {0, 1}) {
    auto known = getStatic(left->sizes[dim]), other = getStatic(right->sizes[dim]);
    if (sameSize(left->sizes[dim], right->sizes[dim]) ||
        ((!known || !other) && known != 1 && other != 1))
      continue;
    if (known && other && *known != 1 && *other != 1)
      return node.error() << "expected sizes in front to match, found " << *known << " and "
                          << *other;
    TensorRef &narrow = known == 1 ? left : right;
    SmallVector<OpFoldResult> sizes(narrow->sizes);
    sizes[dim] = (known == 1 ? right : left)->sizes[dim];
    narrow = makeExpand(narrow, sizes);
  }
  return std::pair(left, right);
}

/// The two sizes that dimension `dim` of a reshaped tensor is made of, batch and heads.
static std::optional<std::pair<OpFoldResult, OpFoldResult>> findParts(Body &body, TensorRef tensor,
                                                                      int64_t dim) {
  while (tensor->form == Form::Scale || tensor->form == Form::Transpose) {
    dim = tensor->form == Form::Transpose ? tensor->permutation[dim] : dim;
    tensor = tensor->sources[0];
  }
  if (tensor->form != Form::Reshape || getStatic(tensor->sizes[dim]) == 1)
    return std::nullopt;
  auto common = refine(body, tensor->sources[0]->sizes, tensor->sizes);
  if (!common)
    return std::nullopt;
  SmallVector<int64_t> wide = getWideDims(tensor->sizes);
  const ReassociationIndices &group = common->to[llvm::find(wide, dim) - wide.begin()];
  if (group.size() != 2)
    return std::nullopt;
  return std::pair(common->sizes[group[0]], common->sizes[group[1]]);
}

/// Matrices whose batch and heads are one dimension, multiplied with them apart: so every stage
/// of an attention has the same dimensions, and a mask of batches reads no quotient. Null where
/// no operand shows the two.
static TensorRef multiplyApart(Node &node, const TensorRef &left, const TensorRef &right) {
  if (left->getRank() != 3 || right->getRank() != 3 || !sameSize(left->sizes[0], right->sizes[0]))
    return nullptr;
  auto parts = findParts(node.body, left, 0);
  if (!parts)
    parts = findParts(node.body, right, 0);
  if (!parts)
    return nullptr;
  auto apart = [&](const TensorRef &tensor) {
    return makeReshape(node.body, tensor,
                       {parts->first, parts->second, tensor->sizes[1], tensor->sizes[2]});
  };
  TensorRef product = multiplyBatched(node, apart(left), apart(right));
  return makeReshape(node.body, product, {left->sizes[0], left->sizes[1], right->sizes[2]});
}

/// More than two dimensions in front, all but the last of them as one. Where the right side lacks
/// the last one, that counts the heads that share one of the dimension before.
static FailureOr<TensorRef> multiplyDeep(Node &node, TensorRef left, TensorRef right) {
  Body &body = node.body;
  int64_t depth = std::max(left->getRank(), right->getRank()) - 2;
  auto raiseTo = [&](const TensorRef &tensor) {
    SmallVector<OpFoldResult> sizes(depth + 2 - tensor->getRank(),
                                    fixedSize(node.model.context, 1));
    llvm::append_range(sizes, tensor->sizes);
    return makeReshape(body, tensor, sizes);
  };
  // Scores see their key behind the transposition.
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, depth + 2));
  if (node.feedsSoftmax)
    std::swap(order[depth], order[depth + 1]);
  left = raiseTo(left);
  right = makeTranspose(raiseTo(right), order);
  auto inFront = [&](const TensorRef &tensor) {
    return makeLazy(tensor->element, ArrayRef(tensor->sizes).take_front(depth), nullptr);
  };
  FailureOr<SmallVector<OpFoldResult>> front = broadcast(node, {inFront(left), inFront(right)});
  if (failed(front))
    return failure();
  ArrayRef<OpFoldResult> sizes = *front;
  bool isGrouped = getStatic(right->sizes[depth - 1]) == 1 && getStatic(sizes.back()) != 1;
  int64_t heads = depth - (isGrouped ? 2 : 1);
  auto flatten = [&](const TensorRef &tensor) {
    SmallVector<OpFoldResult> wide(sizes),
        flat = {multiply(body, sizes.take_front(heads)), multiply(body, sizes.drop_front(heads))};
    wide.append(tensor->sizes.end() - 2, tensor->sizes.end());
    flat.append(tensor->sizes.end() - 2, tensor->sizes.end());
    return makeReshape(body, makeExpand(tensor, wide), flat);
  };
  TensorRef matrices = flatten(right);
  if (node.feedsSoftmax)
    matrices = makeTranspose(matrices, {0, 1, 3, 2});
  TensorRef product = multiplyBatched(node, flatten(left), matrices);
  SmallVector<OpFoldResult> result(sizes);
  result.append(product->sizes.end() - 2, product->sizes.end());
  return makeReshape(body, product, result);
}

/// Whether two matrices make a score or a context, of one batch and one head. What a model knows
/// is a layer's weight and no key or value.
static bool isStage(const Node &node, const TensorRef &left, TensorRef right) {
  while (!right->value && (right->form == Form::Transpose || right->form == Form::Scale))
    right = right->sources[0];
  return left->getRank() == 2 && !right->isConstant() &&
         (node.feedsSoftmax || View::find(left, isProb));
}

FailureOr<TensorRef> imports::multiplyMatrices(Node &node, const TensorRef &left,
                                               const TensorRef &right) {
  if (!isa<FloatType>(left->element) || left->element != right->element)
    return node.error() << "expected floats of one type, found " << left->element << " and "
                        << right->element;
  if (left->getRank() < 2 || right->getRank() < 2)
    return node.error() << "expected ranks of 2 or more, found " << left->getRank() << " and "
                        << right->getRank();
  if (right->getRank() == 2 && !isStage(node, left, right))
    return multiplyByMatrix(node, left, right);
  if (failed(checkInner(node, left->sizes.back(), right->sizes[right->getRank() - 2])))
    return failure();
  int64_t rank = std::max(left->getRank(), right->getRank());
  if (rank > 4)
    return multiplyDeep(node, left, right);
  if (rank == 4 && left->getRank() == 4 && right->getRank() == 4 &&
      right->form == Form::RepeatHeads)
    return multiplyBatched(node, left, right);
  if (TensorRef product = multiplyApart(node, left, right))
    return product;
  auto aligned = alignBatches(node, left, right);
  if (failed(aligned))
    return failure();
  TensorRef product = multiplyBatched(node, aligned->first, aligned->second);
  return makeReshape(node.body, product, ArrayRef(product->sizes).take_back(rank));
}

/// The dimension that one factor [batch, 1, size] or [1, batch, size] does not have.
static std::optional<int64_t> getKeyDim(const TensorRef &query, const TensorRef &key) {
  for (int64_t dim : {0, 1})
    if (getStatic(query->sizes[dim]) == 1 && getStatic(key->sizes[dim]) != 1 &&
        sameSize(query->sizes[1 - dim], key->sizes[1 - dim]))
      return dim;
  return std::nullopt;
}

TensorRef imports::makeDotProduct(Node &node, const TensorRef &product) {
  if (!product->isProduct || product->value || product->getRank() != 3 ||
      product->sources.size() != 2)
    return nullptr;
  TensorRef query = product->sources[0], key = product->sources[1];
  if (query->getRank() != 3 || key->getRank() != 3 || !sameSize(query->sizes[2], key->sizes[2]))
    return nullptr;
  auto dim = getKeyDim(query, key);
  if (!dim) {
    std::swap(query, key);
    dim = getKeyDim(query, key);
  }
  if (!dim)
    return nullptr;
  // [batch, 1, length, size], and the score back where the sum was.
  SmallVector<int64_t> order = {1 - *dim, *dim, 2};
  auto raised = [&](const TensorRef &tensor) {
    TensorRef turned = makeTranspose(tensor, order);
    SmallVector<OpFoldResult> sizes(turned->sizes);
    sizes.insert(sizes.begin() + 1, fixedSize(node.model.context, 1));
    return makeReshape(node.body, turned, sizes);
  };
  TensorRef score = makeScore(node, raised(query), raised(key), {0, 1, 2, 3}, 1);
  SmallVector<OpFoldResult> sizes = {score->sizes[0], score->sizes[3]};
  TensorRef rows = makeReshape(node.body, score, sizes);
  return *dim == 0 ? makeTranspose(rows, {1, 0}) : rows;
}

/// A vector is a row on the left and a column on the right, which the result does not show.
static LogicalResult multiplyVector(Node &node, TensorRef left, TensorRef right) {
  bool isRow = left->getRank() == 1, isColumn = right->getRank() == 1;
  OpFoldResult one = fixedSize(node.model.context, 1);
  if (isRow)
    left = makeReshape(node.body, left, {one, left->sizes[0]});
  if (isColumn)
    right = makeReshape(node.body, right, {right->sizes[0], one});
  FailureOr<TensorRef> product = multiplyMatrices(node, left, right);
  if (failed(product))
    return failure();
  SmallVector<OpFoldResult> sizes((*product)->sizes);
  if (isColumn)
    sizes.pop_back();
  if (isRow)
    sizes.erase(sizes.end() - (isColumn ? 1 : 2));
  return node.setOutput(makeReshape(node.body, *product, sizes));
}

static LogicalResult importMatMul(Node &node) {
  TensorRef left = node.input(0), right = node.input(1);
  if (left->getRank() == 1 || right->getRank() == 1)
    return multiplyVector(node, left, right);
  FailureOr<TensorRef> product = multiplyMatrices(node, left, right);
  if (failed(product))
    return failure();
  if (left->step.kind == Step::Weight)
    (*product)->step = {Step::WeightedSum, {left, right}};
  return node.setOutput(*product);
}

ArrayRef<OpEntry> imports::getMatmulOps() {
  static const OpEntry entries[] = {
      {"",
       "Conv",
       "fff?",
       "x",
       {{"auto_pad", String},
        {"dilations", Ints},
        {"group", Int},
        {"kernel_shape", Ints},
        {"pads", Ints},
        {"strides", Ints}},
       importConv},
      {"",
       "ConvTranspose",
       "fff?",
       "x",
       {{"dilations", Ints},
        {"group", Int},
        {"kernel_shape", Ints},
        {"output_padding", Ints},
        {"pads", Ints},
        {"strides", Ints}},
       importConvTranspose},
      {"", "Einsum", "n*", "x", {{"equation", String}}, importEinsum},
      {"",
       "Gemm",
       "fff?",
       "x",
       {{"alpha", Float}, {"beta", Float}, {"transA", Int}, {"transB", Int}},
       importGemm},
      {"", "MatMul", "ff", "x", {}, importMatMul},
  };
  return entries;
}
