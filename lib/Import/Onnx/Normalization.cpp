//===- Normalization.cpp - ONNX's softmax, norms and reductions -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Importer.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

static LogicalResult checkFloat(Node &node, const TensorRef &tensor) {
  if (!isa<FloatType>(tensor->element))
    return node.error() << "expected floats, found " << tensor->element;
  return success();
}

static TensorRef makeSoftmax(Body &body, const TensorRef &input, int64_t axis) {
  auto create = [&](Value score, int64_t dim) {
    return SoftmaxOp::create(body.b, body.loc, score.getType(), score,
                             body.b.getI64IntegerAttr(dim));
  };
  // The softmax of a score is that of its rows, wherever its elements are moved.
  auto view = View::find(input, isScore);
  if (view && view->getLastDim(body) == axis)
    return view->apply(body, makeComputed(create(view->stage->value, -1), view->stage->sizes));
  return makeComputed(create(materialize(body, input), axis), input->sizes);
}

static LogicalResult importSoftmax(Node &node) {
  TensorRef input = node.input(0);
  // Before opset 13 everything from the axis on was one row.
  bool flattens = node.getOpset() < 13;
  FailureOr<int64_t> axis = node.getDim(node.getInt("axis", flattens ? 1 : -1), input->getRank());
  if (failed(axis) || failed(checkFloat(node, input)))
    return failure();
  if (flattens && *axis != input->getRank() - 1)
    return node.error() << "expected the last axis, found " << *axis;
  return node.setOutput(makeSoftmax(node.body, input, *axis));
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// Scale and bias of a norm along the last dimension.
static FailureOr<Value> getRow(Node &node, int index, const TensorRef &input) {
  TensorRef row = node.input(index);
  if (!row)
    return Value();
  if (row->element != input->element || row->getRank() != 1)
    return node.error() << "expected scale and bias of rank 1 and type " << input->element
                        << ", found " << row->getType();
  return node.materialize(row);
}

static LogicalResult importNorm(Node &node, NormMode mode) {
  TensorRef input = node.input(0);
  FailureOr<int64_t> axis = node.getDim(node.getInt("axis", -1), input->getRank());
  if (failed(axis) || failed(checkFloat(node, input)))
    return failure();
  if (*axis != input->getRank() - 1)
    return node.error() << "expected attribute 'axis' to be the last one, found " << *axis;
  FailureOr<Value> scale = getRow(node, 1, input), bias = getRow(node, 2, input);
  if (failed(scale) || failed(bias))
    return failure();
  return node.setOutput(makeComputed(
      LayerNormOp::create(node.body.b, node.body.loc, input->getType(), node.materialize(input),
                          mode, *scale, *bias, APFloat(node.getFloat("epsilon", 1e-5f))),
      input->sizes));
}

static LogicalResult importLayerNorm(Node &node) { return importNorm(node, NormMode::layer); }
static LogicalResult importRmsNorm(Node &node) { return importNorm(node, NormMode::rms); }

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static FailureOr<SmallVector<int64_t>> getReducedDims(Node &node, int64_t rank) {
  FailureOr<std::optional<SmallVector<int64_t>>> axes = node.getAxes(1);
  if (failed(axes))
    return failure();
  SmallVector<int64_t> dims;
  if (!*axes || (*axes)->empty()) {
    if (!node.getInt("noop_with_empty_axes", 0))
      llvm::append_range(dims, llvm::seq<int64_t>(0, rank));
    return dims;
  }
  for (int64_t axis : **axes) {
    FailureOr<int64_t> dim = node.getDim(axis, rank);
    if (failed(dim))
      return failure();
    dims.push_back(*dim);
  }
  llvm::sort(dims);
  return dims;
}

static LogicalResult importReduce(Node &node, ReduceKind kind) {
  TensorRef input = node.input(0);
  FailureOr<SmallVector<int64_t>> dims = getReducedDims(node, input->getRank());
  if (failed(dims))
    return failure();
  if (dims->empty())
    return node.setOutput(input);
  if (kind == ReduceKind::sum && *dims == SmallVector<int64_t>{input->getRank() - 1})
    if (TensorRef score = makeDotProduct(node, input)) {
      if (node.getInt("keepdims", 1)) {
        SmallVector<OpFoldResult> sizes(input->sizes);
        sizes.back() = fixedSize(node.model.context, 1);
        score = makeReshape(node.body, score, sizes);
      }
      return node.setOutput(score);
    }
  bool keep = node.getInt("keepdims", 1);
  SmallVector<OpFoldResult> sizes;
  for (auto [dim, size] : llvm::enumerate(input->sizes)) {
    if (!llvm::is_contained(*dims, int64_t(dim)))
      sizes.push_back(size);
    else if (keep)
      sizes.push_back(fixedSize(node.model.context, 1));
  }
  return node.setOutput(makeComputed(ReduceOp::create(node.body.b, node.body.loc,
                                                      getTensorType(input->element, sizes), kind,
                                                      node.materialize(input), *dims, keep),
                                     sizes));
}

template <ReduceKind kind>
static LogicalResult importReduceAs(Node &node) {
  return importReduce(node, kind);
}

ArrayRef<OpEntry> imports::getNormalizationOps() {
  static const SmallVector<StringRef> reduceAttributes = {"axes", "keepdims",
                                                          "noop_with_empty_axes"};
  static const OpEntry entries[] = {
      {"", "LayerNormalization", 2, 3, {"axis", "epsilon", "stash_type"}, importLayerNorm},
      {"", "RMSNormalization", 2, 2, {"axis", "epsilon", "stash_type"}, importRmsNorm},
      {"", "ReduceL2", 1, 2, reduceAttributes, importReduceAs<ReduceKind::l2>},
      {"", "ReduceMax", 1, 2, reduceAttributes, importReduceAs<ReduceKind::max>},
      {"", "ReduceMean", 1, 2, reduceAttributes, importReduceAs<ReduceKind::mean>},
      {"", "ReduceMin", 1, 2, reduceAttributes, importReduceAs<ReduceKind::min>},
      {"", "ReduceProd", 1, 2, reduceAttributes, importReduceAs<ReduceKind::prod>},
      {"", "ReduceSum", 1, 2, reduceAttributes, importReduceAs<ReduceKind::sum>},
      {"", "Softmax", 1, 1, {"axis"}, importSoftmax},
  };
  return entries;
}
