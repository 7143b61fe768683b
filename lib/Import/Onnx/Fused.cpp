//===- Fused.cpp - fused ops of ONNX Runtime's optimizer ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models that ONNX Runtime optimized hold ops of the domain com.microsoft. Each is imported as the
// ONNX ops that it replaced, so that these fuse here as those of the original model do.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

/// The sum of tensors; null ones are left out.
static FailureOr<TensorRef> addAll(Node &node, ArrayRef<TensorRef> tensors) {
  FailureOr<TensorRef> sum = tensors.front();
  for (const TensorRef &next : tensors.drop_front())
    if (next && succeeded(sum))
      sum = PartNode(node, "Add", {*sum, next}).import();
  return sum;
}

static LogicalResult setOutput(Node &node, int index, FailureOr<TensorRef> tensor) {
  if (failed(tensor))
    return failure();
  node.setOutput(index, *tensor);
  return success();
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

static FailureOr<TensorRef> makeGelu(Node &node, FailureOr<TensorRef> input, StringRef form) {
  if (failed(input))
    return failure();
  return PartNode(node, "Gelu", {*input}).set("approximate", form).import();
}

/// Gelu, FastGelu and BiasGelu, with or without a bias.
template <bool isFast>
static LogicalResult importGelu(Node &node) {
  FailureOr<TensorRef> sum = addAll(node, {node.input(0), node.input(1)});
  return setOutput(node, 0, makeGelu(node, sum, isFast ? "tanh" : "none"));
}

static LogicalResult importQuickGelu(Node &node) {
  double alpha = node.getFloat("alpha", 1.702f);
  return setOutput(node, 0, PartNode(node, "Swish", {node.input(0)}).set("alpha", alpha).import());
}

/// The left half of the sum's columns times the gelu of the right half.
static LogicalResult importBiasSplitGelu(Node &node) {
  FailureOr<TensorRef> sum = addAll(node, {node.input(0), node.input(1)});
  if (failed(sum))
    return failure();
  int64_t last = (*sum)->getRank() - 1;
  if (last < 0)
    return node.error() << "expected columns, found " << (*sum)->getType();
  auto width = getStatic((*sum)->sizes[last]);
  if (!width || *width % 2 != 0)
    return node.error() << "expected an even width that is known, found " << (*sum)->getType();
  auto getHalf = [&](int64_t offset) {
    return makeSlice(node.body, *sum, last, fixedSize(node, offset), fixedSize(node, *width / 2));
  };
  FailureOr<TensorRef> left = getHalf(0), gate = makeGelu(node, getHalf(*width / 2), "none");
  if (failed(left) || failed(gate))
    return failure();
  return setOutput(node, 0, PartNode(node, "Mul", {*left, *gate}).import());
}

static LogicalResult importBiasAdd(Node &node) {
  return setOutput(node, 0, addAll(node, {node.input(0), node.input(1), node.input(2)}));
}

/// The attributes that say how an activation is bent, where it is.
static SmallVector<StringRef> getBends(StringRef activation) {
  if (activation == "LeakyRelu" || activation == "Elu")
    return {"alpha"};
  if (activation == "HardSigmoid")
    return {"alpha", "beta"};
  return {};
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// [rows, batch…, columns] as [batch…, rows, columns] where the batch is behind the rows, then the
/// last two dimensions swapped where the matrix is.
static FailureOr<TensorRef> turnMatrix(Node &node, const TensorRef &matrix, StringRef side) {
  int64_t rank = matrix->getRank();
  bool isSwapped = node.getInt(("trans" + side).str(), 0),
       isBehind = node.getInt(("transBatch" + side).str(), 0);
  // A vector has nothing to turn.
  if (rank < 2 || (!isSwapped && !isBehind))
    return matrix;
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (isBehind)
    std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (isSwapped)
    std::swap(order[rank - 2], order[rank - 1]);
  return PartNode(node, "Transpose", {matrix}).set("perm", order).import();
}

static LogicalResult importFusedMatMul(Node &node) {
  FailureOr<TensorRef> left = turnMatrix(node, node.input(0), "A"),
                       right = turnMatrix(node, node.input(1), "B");
  if (failed(left) || failed(right))
    return failure();
  double alpha = node.getFloat("alpha", 1);
  // The factor of a score is its query's; that of a layer is its result's, which is narrower.
  bool isLayer = (*right)->getRank() == 2;
  if (!isLayer && alpha != 1)
    left = makeScaled(node.body, *left, alpha);
  FailureOr<TensorRef> product = PartNode(node, "MatMul", {*left, *right}).import();
  if (succeeded(product) && isLayer && alpha != 1)
    product = makeScaled(node.body, *product, alpha);
  return setOutput(node, 0, product);
}

static LogicalResult importFusedGemm(Node &node) {
  PartNode gemm(node, "Gemm", {node.input(0), node.input(1), node.input(2)});
  for (StringRef name : {"alpha", "beta", "transA", "transB"})
    gemm.take(name);
  FailureOr<TensorRef> sum = gemm.import();
  StringRef name = node.getString("activation", "");
  if (failed(sum) || name.empty())
    return setOutput(node, 0, sum);
  PartNode activation(node, name, {*sum});
  for (StringRef bend : getBends(name))
    activation.take(("activation_" + bend).str(), bend);
  return setOutput(node, 0, activation.import());
}

/// An activation with parameters in one list: its attributes, or the bounds of a clip.
static FailureOr<TensorRef> activateConv(Node &node, const TensorRef &sum, StringRef name) {
  const auto *attribute = node.getAttribute("activation_params");
  SmallVector<double> params;
  if (attribute)
    params.assign(attribute->floats().begin(), attribute->floats().end());
  if (name == "Clip" && params.size() == 2) {
    SmallVector<TensorRef> operands = {sum};
    for (double bound : params)
      operands.push_back(makeElements(node.body, sum->element,
                                      {floatConstant(node.body, sum->element, bound)}, {}));
    return PartNode(node, name, operands).import();
  }
  PartNode activation(node, name, {sum});
  SmallVector<StringRef> bends = getBends(name);
  if (params.size() != bends.size())
    return node.error() << "expected " << bends.size() << " parameters of activation " << name
                        << ", found " << params.size();
  for (auto [bend, param] : llvm::zip(bends, params))
    activation.set(bend, param);
  return activation.import();
}

static LogicalResult importFusedConv(Node &node) {
  PartNode conv(node, "Conv", {node.input(0), node.input(1), node.input(2)});
  for (StringRef name : {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"})
    conv.take(name);
  FailureOr<TensorRef> sum = conv.import();
  if (succeeded(sum))
    sum = addAll(node, {*sum, node.input(3)});
  StringRef name = node.getString("activation", "");
  if (failed(sum) || name.empty())
    return setOutput(node, 0, sum);
  return setOutput(node, 0, activateConv(node, *sum, name));
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// The norm's own default of a fused norm's epsilon differs.
static constexpr float kEpsilon = 1e-12f;

static FailureOr<TensorRef> makeNorm(Node &node, StringRef op, ArrayRef<TensorRef> operands) {
  return PartNode(node, op, operands).set("epsilon", node.getFloat("epsilon", kEpsilon)).import();
}

/// The norm of a sum, which is a result as well.
static LogicalResult importSkipNorm(Node &node, StringRef op, const TensorRef &bias,
                                    ArrayRef<TensorRef> rows) {
  FailureOr<TensorRef> sum = addAll(node, {node.input(0), node.input(1), bias});
  if (failed(sum))
    return failure();
  node.setOutput(3, *sum);
  SmallVector<TensorRef> operands = {*sum};
  llvm::append_range(operands, rows);
  return setOutput(node, 0, makeNorm(node, op, operands));
}

static LogicalResult importSkipLayerNorm(Node &node) {
  return importSkipNorm(node, "LayerNormalization", node.input(4), {node.input(2), node.input(3)});
}

static LogicalResult importSkipRmsNorm(Node &node) {
  return importSkipNorm(node, "RMSNormalization", node.input(3), {node.input(2)});
}

/// The number of columns before the first 0 of each row of a mask.
static TensorRef countBeforeZero(Node &node, const TensorRef &mask) {
  OpFoldResult length = mask->sizes[1];
  TensorRef ends = makeGenerate(
      node.body, mask->element, mask->sizes, {mask},
      [=](Body &at, ArrayRef<Value> indices) -> Value {
        Value zero = arith::ConstantOp::create(at.b, at.loc, at.b.getIntegerAttr(mask->element, 0));
        Value isZero =
            at.make<arith::CmpIOp>(arith::CmpIPredicate::eq, at.read(mask, indices), zero);
        Value end = at.make<arith::SelectOp>(isZero, indices[1], toIndex(at, length));
        return at.make<arith::IndexCastOp>(mask->element, end);
      });
  return makeReduce(node.body, ends, ReduceKind::min, {1}, /*keep=*/false);
}

static LogicalResult importMaskIndex(Node &node, const TensorRef &ids) {
  TensorRef mask = node.input(7);
  if (!node.wantsOutput(1))
    return success();
  if (!mask) {
    Value zero =
        arith::ConstantOp::create(node.body.b, node.body.loc, node.body.b.getI32IntegerAttr(0));
    node.setOutput(1, makeExpand(node.body, makeElements(node.body, zero.getType(), {zero}, {}),
                                 {ids->sizes[0]}));
    return success();
  }
  if (mask->getRank() != 2 || !mask->element.isInteger(32))
    return node.error() << "expected a mask of rank 2 and type i32, found " << mask->getType();
  node.setOutput(1, countBeforeZero(node, mask));
  return success();
}

/// Rows of words, positions and segments, added up.
static FailureOr<TensorRef> addEmbeddings(Node &node, const TensorRef &ids) {
  TensorRef segments = node.input(1), positions = node.input(8), table = node.input(3);
  FailureOr<TensorRef> words = PartNode(node, "Gather", {node.input(2), ids}).import(), places,
                       kinds;
  if (failed(words))
    return failure();
  if (bool(segments) != bool(node.input(4)))
    return node.error() << "expected segment_ids and segment_embedding together";
  if (table->getRank() != 2)
    return node.error() << "expected position_embedding of rank 2, found " << table->getRank();
  // Without position ids, a word's position is its index.
  places = positions ? PartNode(node, "Gather", {table, positions}).import()
                     : makeSlice(node.body, table, 0, fixedSize(node, 0), ids->sizes[1]);
  kinds = segments ? PartNode(node, "Gather", {node.input(4), segments}).import() : TensorRef();
  if (failed(places) || failed(kinds))
    return failure();
  return addAll(node, {*words, *places, *kinds});
}

static LogicalResult importEmbedNorm(Node &node) {
  TensorRef ids = node.input(0);
  if (ids->getRank() != 2)
    return node.error() << "expected input_ids of rank 2, found " << ids->getRank();
  FailureOr<TensorRef> sum = addEmbeddings(node, ids);
  if (failed(sum) || failed(importMaskIndex(node, ids)))
    return failure();
  node.setOutput(2, *sum);
  return setOutput(node, 0,
                   makeNorm(node, "LayerNormalization", {*sum, node.input(5), node.input(6)}));
}

ArrayRef<OpEntry> imports::getFusedOps() {
  static constexpr const char *ms = "com.microsoft";
  static const OpEntry entries[] = {
      {ms, "BiasAdd", "fff", "x", {}, importBiasAdd},
      {ms, "BiasGelu", "ff", "x", {}, importGelu</*isFast=*/false>},
      {ms, "BiasSplitGelu", "ff", "x", {}, importBiasSplitGelu},
      {ms,
       "EmbedLayerNormalization",
       "ii?fff?ffi?i?",
       "xx?x?",
       {{"epsilon", Float}, {"mask_index_type", Int}},
       importEmbedNorm},
      {ms, "FastGelu", "ff?", "x", {}, importGelu</*isFast=*/true>},
      {ms,
       "FusedConv",
       "fff?f?",
       "x",
       {{"activation", String},
        {"activation_params", Floats},
        {"auto_pad", String},
        {"dilations", Ints},
        {"group", Int},
        {"kernel_shape", Ints},
        {"pads", Ints},
        {"strides", Ints}},
       importFusedConv},
      {ms,
       "FusedGemm",
       "fff?",
       "x",
       {{"activation", String},
        {"activation_alpha", Float},
        {"activation_beta", Float},
        {"activation_gamma", Float},
        {"alpha", Float},
        {"beta", Float},
        {"transA", Int},
        {"transB", Int}},
       importFusedGemm},
      {ms,
       "FusedMatMul",
       "ff",
       "x",
       {{"alpha", Float},
        {"transA", Int},
        {"transB", Int},
        {"transBatchA", Int},
        {"transBatchB", Int}},
       importFusedMatMul},
      {ms, "Gelu", "f", "x", {}, importGelu</*isFast=*/false>},
      {ms, "QuickGelu", "f", "x", {{"alpha", Float}}, importQuickGelu},
      {ms,
       "SkipLayerNormalization",
       "ffff?f?",
       "xx?x?x?",
       {{"epsilon", Float}},
       importSkipLayerNorm},
      {ms,
       "SkipSimplifiedLayerNormalization",
       "ffff?",
       "xx?x?x?",
       {{"epsilon", Float}},
       importSkipRmsNorm},
      {ms,
       "TransposeMatMul",
       "ff",
       "x",
       {{"alpha", Float}, {"transA", Int}, {"transB", Int}},
       importFusedMatMul},
  };
  return entries;
}
