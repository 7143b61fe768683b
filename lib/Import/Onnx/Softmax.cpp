//===- Softmax.cpp - softmaxes as graphs spell them -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beside ONNX's own op: exponentials divided by their sum, before or after the product with
// the values, a score with one more column that is dropped again (a sink), and keys in the rows.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "Sizes.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// The dimension along which `tensor` is `input` reduced, kept as a size of 1.
static std::optional<int64_t> getReducedDim(const TensorRef &tensor, const TensorRef &input,
                                            ReduceKind kind) {
  const TensorRef &reduced =
      tensor->form == Form::Reshape && !tensor->value ? tensor->sources[0] : tensor;
  auto op = reduced->value ? reduced->value.getDefiningOp<ReduceOp>() : ReduceOp();
  if (!op || op.getKind() != kind || op.getInput() != input->value || op.getAxes().size() != 1)
    return std::nullopt;
  SmallVector<OpFoldResult> sizes(input->sizes);
  int64_t dim = op.getAxes()[0];
  sizes[dim] = fixedSize(op.getContext(), 1);
  return sameSizes(tensor->sizes, sizes) ? std::optional(dim) : std::nullopt;
}

void imports::markShifted(const TensorRef &difference, const TensorRef &left,
                          const TensorRef &right) {
  if (auto dim = getReducedDim(right, left, ReduceKind::max))
    difference->step = {Step::Shifted, {left}, *dim};
}

void imports::markWeight(const TensorRef &exponential, const TensorRef &exponent) {
  if (exponent->step.kind == Step::Shifted)
    exponential->step = {Step::Weight, exponent->step.of, exponent->step.dim};
  else
    exponential->step = {Step::Weight, {exponent}, std::nullopt};
}

/// The dimension along which `sum` adds up weights to divide by; none where they were shifted
/// along another one, for then it matters by how much.
static std::optional<int64_t> getNormalisedDim(const TensorRef &weights, const TensorRef &sum) {
  if (weights->step.kind != Step::Weight)
    return std::nullopt;
  auto dim = getReducedDim(sum, weights, ReduceKind::sum);
  return weights->step.dim.value_or(dim.value_or(0)) == dim ? dim : std::nullopt;
}

FailureOr<TensorRef> imports::makeQuotient(Node &node, const TensorRef &left,
                                           const TensorRef &right) {
  if (auto dim = getNormalisedDim(left, right))
    return makeSoftmax(node.body, left->step.of[0], *dim);
  if (left->step.kind != Step::WeightedSum)
    return TensorRef();
  TensorRef weights = left->step.of[0], values = left->step.of[1];
  if (getNormalisedDim(weights, right) != weights->getRank() - 1)
    return TensorRef();
  return multiplyMatrices(node, makeSoftmax(node.body, weights->step.of[0], weights->getRank() - 1),
                          values);
}

//===----------------------------------------------------------------------===//
// Sinks
//===----------------------------------------------------------------------===//

/// `column`, which is as a stage's last dimension is seen through `view`, over the stage's rows.
static TensorRef getRows(Body &body, const View &view, const TensorRef &column) {
  ArrayRef<OpFoldResult> rows = ArrayRef(view.stage->sizes).drop_back();
  const TensorRef &narrow = column->form == Form::Expand ? column->sources[0] : column;
  auto isBroadcast = [](OpFoldResult size, OpFoldResult wide) {
    return getStatic(size) == 1 || sameSize(size, wide);
  };
  if (view.moves.empty() && narrow->getRank() == 4 &&
      llvm::all_of_zip(ArrayRef(narrow->sizes).drop_back(), rows, isBroadcast))
    return makeReshape(body, narrow, ArrayRef(narrow->sizes).drop_back());
  return makeLazy(column->element, rows, [=](Body &at, ArrayRef<Value> indices) {
    SmallVector<Value> place(indices);
    place.push_back(at.index(0));
    return at.read(column, broadcastIndices(at, column->sizes, view.getIndices(at, place)));
  });
}

static Value createSoftmax(Body &body, Value score, Value sink, int64_t axis) {
  return SoftmaxOp::create(body.b, body.loc, score.getType(), score, sink,
                           body.b.getI64IntegerAttr(axis));
}

/// The softmax of scores beside a column of others: what the scores' part of it is, is known as
/// such where it is taken out again. Null where `input` is something else.
static TensorRef makeSoftmaxBesideSink(Body &body, const TensorRef &input, int64_t axis) {
  bool isShifted = input->step.kind == Step::Shifted && input->step.dim == axis;
  const TensorRef &both = isShifted ? input->step.of[0] : input;
  if (both->form != Form::Concat || both->dim != axis || both->sources.size() != 2)
    return nullptr;
  for (int place : {0, 1}) {
    auto view = View::find(both->sources[place], isScore);
    const TensorRef &column = both->sources[1 - place];
    if (!view || view->follow(body, 3) != axis || getStatic(column->sizes[axis]) != 1)
      continue;
    Value sink = materialize(body, getRows(body, *view, column));
    Value prob = createSoftmax(body, view->stage->value, sink, -1);
    TensorRef whole =
        makeComputed(createSoftmax(body, materialize(body, input), nullptr, axis), input->sizes);
    TensorRef result = makeComputed(whole->value, input->sizes);
    result->form = Form::Concat;
    result->dim = axis;
    result->sources = {view->apply(body, makeComputed(prob, view->stage->sizes)), nullptr};
    OpFoldResult start =
        place == 0 ? both->sources[0]->sizes[axis] : fixedSize(body.b.getContext(), 0);
    FailureOr<TensorRef> rest =
        makeSlice(body, whole, axis, start, fixedSize(body.b.getContext(), 1));
    if (failed(rest))
      return nullptr;
    result->sources[1] = *rest;
    if (place == 1)
      std::swap(result->sources[0], result->sources[1]);
    return result;
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Scores with keys in their rows
//===----------------------------------------------------------------------===//

/// Whether a stage's query has no more heads than its key: then either may be the query.
static bool hasOneHeadEach(Value stage) {
  while (!stage.getDefiningOp<ScoreOp>())
    stage = stage.getDefiningOp()->getOperand(0);
  auto score = stage.getDefiningOp<ScoreOp>();
  auto heads = [](Value tensor) { return cast<RankedTensorType>(tensor.getType()).getDimSize(1); };
  return !ShapedType::isDynamic(heads(score.getKey())) &&
         heads(score.getQuery()) == heads(score.getKey());
}

/// A score, and what changes it, with query and key in each other's place.
static Value swapSides(Body &body, Value stage) {
  auto type = cast<RankedTensorType>(stage.getType());
  SmallVector<int64_t> shape(type.getShape());
  std::swap(shape[2], shape[3]);
  type = type.clone(shape);
  if (auto score = stage.getDefiningOp<ScoreOp>())
    return ScoreOp::create(body.b, body.loc, type, score.getKey(), score.getQuery(),
                           score.getScaleAttr());
  Operation *op = stage.getDefiningOp();
  IRMapping mapping;
  mapping.map(op->getOperand(0), swapSides(body, op->getOperand(0)));
  Operation *swapped = body.b.clone(*op, mapping);
  swapped->getResult(0).setType(type);
  Block &block = swapped->getRegion(0).front();
  BlockArgument q = block.getArgument(block.getNumArguments() - 2), k = block.getArguments().back();
  SmallVector<OpOperand *> uses = llvm::to_vector(llvm::make_pointer_range(q.getUses()));
  k.replaceAllUsesWith(q);
  for (OpOperand *use : uses)
    use->set(k);
  return swapped->getResult(0);
}

TensorRef imports::makeSoftmax(Body &body, const TensorRef &input, int64_t axis) {
  if (TensorRef beside = makeSoftmaxBesideSink(body, input, axis))
    return beside;
  // Taking a row's maximum away changes nothing.
  if (input->step.kind == Step::Shifted && input->step.dim == axis)
    return makeSoftmax(body, input->step.of[0], axis);
  // The softmax of a score is that of its rows, wherever its elements are moved.
  auto view = View::find(input, isScore);
  if (view && view->follow(body, 3) == axis)
    return view->apply(body, makeComputed(createSoftmax(body, view->stage->value, nullptr, -1),
                                          view->stage->sizes));
  if (view && view->follow(body, 2) == axis && hasOneHeadEach(view->stage->value)) {
    SmallVector<OpFoldResult> sizes(view->stage->sizes);
    std::swap(sizes[2], sizes[3]);
    Value prob = createSoftmax(body, swapSides(body, view->stage->value), nullptr, -1);
    return view->apply(body, makeTranspose(makeComputed(prob, sizes), {0, 1, 3, 2}));
  }
  return makeComputed(createSoftmax(body, materialize(body, input), nullptr, axis), input->sizes);
}
