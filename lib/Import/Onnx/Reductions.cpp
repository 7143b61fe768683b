//===- Reductions.cpp - ONNX's reductions ---------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Importer.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

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

static SmallVector<OpFoldResult> getReducedSizes(Body &body, const TensorRef &input,
                                                 ArrayRef<int64_t> dims, bool keep) {
  SmallVector<OpFoldResult> sizes;
  for (auto [dim, size] : llvm::enumerate(input->sizes)) {
    if (!llvm::is_contained(dims, int64_t(dim)))
      sizes.push_back(size);
    else if (keep)
      sizes.push_back(fixedSize(body.b.getContext(), 1));
  }
  return sizes;
}

TensorRef imports::makeReduce(Body &body, const TensorRef &input, ReduceKind kind,
                              ArrayRef<int64_t> dims, bool keep) {
  SmallVector<OpFoldResult> sizes = getReducedSizes(body, input, dims, keep);
  return makeComputed(ReduceOp::create(body.b, body.loc, getTensorType(input->element, sizes), kind,
                                       materialize(body, input), dims, keep),
                      sizes);
}

static LogicalResult importReduce(Node &node, ReduceKind kind) {
  TensorRef input = node.input(0);
  FailureOr<SmallVector<int64_t>> dims = getReducedDims(node, input->getRank());
  if (failed(dims))
    return failure();
  if (dims->empty())
    return node.setOutput(input);
  return node.setOutput(makeReduce(node.body, input, kind, *dims, node.getInt("keepdims", 1)));
}

template <ReduceKind kind>
static LogicalResult importReduceAs(Node &node) {
  return importReduce(node, kind);
}

//===----------------------------------------------------------------------===//
// Reductions of a function
//===----------------------------------------------------------------------===//

static TensorRef mapOf(Body &body, ArrayRef<TensorRef> operands, ScalarFn scalar) {
  return makeMap(body, operands[0]->element, operands[0]->sizes, operands, std::move(scalar));
}

static TensorRef makeExp(Body &body, const TensorRef &x) {
  return mapOf(body, {x}, [](Body &at, ArrayRef<Value> v) { return at.make<math::ExpOp>(v[0]); });
}

static TensorRef makeLog(Body &body, const TensorRef &x) {
  return mapOf(body, {x}, [](Body &at, ArrayRef<Value> v) { return at.make<math::LogOp>(v[0]); });
}

template <typename Op>
static TensorRef combine(Body &body, const TensorRef &x, const TensorRef &y) {
  return mapOf(body, {x, y}, [](Body &at, ArrayRef<Value> v) { return at.make<Op>(v[0], v[1]); });
}

/// The largest elements along the dimensions, and 0 where that is infinite, so that it can be
/// taken from all of them.
static TensorRef makeShift(Body &body, const TensorRef &input, ArrayRef<int64_t> dims) {
  TensorRef largest = makeReduce(body, input, ReduceKind::max, dims, /*keep=*/true);
  return mapOf(body, {largest}, [](Body &at, ArrayRef<Value> v) -> Value {
    Value zero = floatConstant(at, v[0].getType(), 0);
    double infinity = std::numeric_limits<double>::infinity();
    auto compare = [&](arith::CmpFPredicate predicate, double bound) -> Value {
      return at.make<arith::CmpFOp>(predicate, v[0], floatConstant(at, v[0].getType(), bound));
    };
    Value isFinite = at.make<arith::AndIOp>(compare(arith::CmpFPredicate::OLT, infinity),
                                            compare(arith::CmpFPredicate::OGT, -infinity));
    return at.make<arith::SelectOp>(isFinite, v[0], zero);
  });
}

/// log Σ exp(x - shift), the dimensions kept.
static TensorRef makeLogSumExp(Body &body, const TensorRef &shifted, ArrayRef<int64_t> dims) {
  return makeLog(body,
                 makeReduce(body, makeExp(body, shifted), ReduceKind::sum, dims, /*keep=*/true));
}

static LogicalResult importReduceLogSumExp(Node &node) {
  TensorRef input = node.input(0);
  FailureOr<SmallVector<int64_t>> dims = getReducedDims(node, input->getRank());
  if (failed(dims) || failed(checkFloat(node, input)))
    return failure();
  TensorRef shift = makeShift(node.body, input, *dims);
  TensorRef shifted = combine<arith::SubFOp>(node.body, input, shift);
  TensorRef sum =
      combine<arith::AddFOp>(node.body, makeLogSumExp(node.body, shifted, *dims), shift);
  if (node.getInt("keepdims", 1))
    return node.setOutput(sum);
  return node.setOutput(makeReshape(node.body, sum,
                                    getReducedSizes(node.body, input, *dims,
                                                    /*keep=*/false)));
}

static LogicalResult importLogSoftmax(Node &node) {
  TensorRef input = node.input(0);
  FailureOr<int64_t> axis = node.getDim(node.getInt("axis", -1), input->getRank());
  if (failed(axis) || failed(checkFloat(node, input)))
    return failure();
  TensorRef shift = makeShift(node.body, input, *axis);
  // Once for each that reads it, as a difference costs no more than reading one.
  auto shifted = [&] { return combine<arith::SubFOp>(node.body, input, shift); };
  TensorRef sum = makeLogSumExp(node.body, shifted(), *axis);
  return node.setOutput(combine<arith::SubFOp>(node.body, shifted(), sum));
}

/// A sum of `scalar` of the elements.
static LogicalResult importSumOf(Node &node, ScalarFn scalar) {
  TensorRef input = node.input(0);
  FailureOr<SmallVector<int64_t>> dims = getReducedDims(node, input->getRank());
  if (failed(dims) || failed(checkFloat(node, input)))
    return failure();
  TensorRef terms = mapOf(node.body, {input}, std::move(scalar));
  return node.setOutput(
      makeReduce(node.body, terms, ReduceKind::sum, *dims, node.getInt("keepdims", 1)));
}

static LogicalResult importReduceL1(Node &node) {
  return importSumOf(
      node, [](Body &body, ArrayRef<Value> x) -> Value { return body.make<math::AbsFOp>(x[0]); });
}

static LogicalResult importReduceSumSquare(Node &node) {
  return importSumOf(node, [](Body &body, ArrayRef<Value> x) -> Value {
    return body.make<arith::MulFOp>(x[0], x[0]);
  });
}

static LogicalResult importReduceLogSum(Node &node) {
  if (failed(checkFloat(node, node.input(0))) || failed(importReduce(node, ReduceKind::sum)))
    return failure();
  return node.setOutput(makeLog(node.body, node.scope.lookup(node.proto.output(0))));
}

//===----------------------------------------------------------------------===//
// Positions along an axis
//===----------------------------------------------------------------------===//

/// ArgMax and ArgMin: the index of the first or the last of the largest (smallest) elements.
template <ReduceKind kind>
static LogicalResult importArg(Node &node) {
  Body &body = node.body;
  TensorRef input = node.input(0);
  FailureOr<int64_t> axis = node.getDim(node.getInt("axis", 0), input->getRank());
  if (failed(axis))
    return failure();
  bool wantsLast = node.getInt("select_last_index", 0), isFloat = isa<FloatType>(input->element);
  TensorRef extreme = makeReduce(body, input, kind, *axis, /*keep=*/true);
  OpFoldResult length = input->sizes[*axis];
  Type i64 = body.b.getI64Type();
  TensorRef places = makeGenerate(
      body, i64, input->sizes, {input},
      [=, axis = *axis](Body &at, ArrayRef<Value> indices) -> Value {
        Value x = at.read(input, indices);
        Value y = at.read(extreme, broadcastIndices(at, extreme->sizes, indices));
        Value isHere = isFloat ? at.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x, y)
                               : at.make<arith::CmpIOp>(arith::CmpIPredicate::eq, x, y);
        Value elsewhere =
            wantsLast ? at.index(0) : at.make<arith::SubIOp>(toIndex(at, length), at.index(1));
        return at.make<arith::IndexCastOp>(
            i64, at.make<arith::SelectOp>(isHere, indices[axis], elsewhere));
      });
  return node.setOutput(makeReduce(body, places, wantsLast ? ReduceKind::max : ReduceKind::min,
                                   *axis, node.getInt("keepdims", 1)));
}

/// Whether x comes before y among the largest, or the smallest, elements. NaN is the largest.
static Value isBefore(Body &at, Value x, Value y, bool largest) {
  if (!isa<FloatType>(x.getType()))
    return at.make<arith::CmpIOp>(largest ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt,
                                  x, y);
  Value number = largest ? y : x;
  return at.make<arith::AndIOp>(
      at.make<arith::CmpFOp>(largest ? arith::CmpFPredicate::UGT : arith::CmpFPredicate::ULT, x, y),
      at.make<arith::CmpFOp>(arith::CmpFPredicate::ORD, number, number));
}

/// For each element how many others of its row come before it, the first of equal ones first.
static TensorRef makeRanks(Body &body, const TensorRef &input, int64_t dim, bool largest) {
  SmallVector<OpFoldResult> sizes(input->sizes);
  sizes.insert(sizes.begin() + dim + 1, sizes[dim]);
  Type i64 = body.b.getI64Type();
  TensorRef table =
      makeGenerate(body, i64, sizes, {input}, [=](Body &at, ArrayRef<Value> indices) -> Value {
        SmallVector<Value> own(indices), other(indices);
        own.erase(own.begin() + dim + 1);
        other.erase(other.begin() + dim);
        Value x = at.read(input, own), y = at.read(input, other);
        Value isEqual = at.make<arith::AndIOp>(
            at.make<arith::XOrIOp>(
                at.make<arith::OrIOp>(isBefore(at, x, y, largest), isBefore(at, y, x, largest)),
                arith::ConstantOp::create(at.b, at.loc, at.b.getBoolAttr(true))),
            at.make<arith::CmpIOp>(arith::CmpIPredicate::slt, other[dim], own[dim]));
        return castScalar(at, at.make<arith::OrIOp>(isBefore(at, y, x, largest), isEqual), i64);
      });
  return makeReduce(body, table, ReduceKind::sum, dim + 1, /*keep=*/false);
}

/// The rank of every element, and of each place the element of that rank: rows that experts are
/// chosen from are short.
static LogicalResult importTopK(Node &node) {
  Body &body = node.body;
  TensorRef input = node.input(0);
  FailureOr<int64_t> axis = node.getDim(node.getInt("axis", -1), input->getRank());
  FailureOr<SmallVector<int64_t>> count = node.getConstants(1, "the number of elements");
  if (failed(axis) || failed(count))
    return failure();
  auto length = getStatic(input->sizes[*axis]);
  if (count->size() != 1 || count->front() < 0 || (length && count->front() > *length))
    return node.error() << "expected a number of elements that the axis has";
  if (input->element.isInteger(1))
    return node.error() << "expected numbers, found " << input->element;
  int64_t dim = *axis;
  TensorRef ranks = makeRanks(body, input, dim, node.getInt("largest", 1));
  SmallVector<OpFoldResult> sizes(input->sizes);
  sizes.insert(sizes.begin() + dim, fixedSize(node.model.context, count->front()));
  // One of a row has the place's rank; nothing is added to it.
  auto choose = [&](Type type, std::function<Value(Body &, ArrayRef<Value>)> what) {
    TensorRef table =
        makeGenerate(body, type, sizes, {input}, [=](Body &at, ArrayRef<Value> indices) -> Value {
          SmallVector<Value> own(indices);
          own.erase(own.begin() + dim);
          Value place = at.make<arith::IndexCastOp>(at.b.getI64Type(), indices[dim]);
          Value isHere =
              at.make<arith::CmpIOp>(arith::CmpIPredicate::eq, at.read(ranks, own), place);
          Value zero = arith::ConstantOp::create(at.b, at.loc, at.b.getZeroAttr(type));
          return at.make<arith::SelectOp>(isHere, what(at, own), zero);
        });
    return makeReduce(body, table, ReduceKind::sum, dim + 1, /*keep=*/false);
  };
  node.setOutput(0, choose(input->element,
                           [=](Body &at, ArrayRef<Value> own) { return at.read(input, own); }));
  node.setOutput(1, choose(body.b.getI64Type(), [=](Body &at, ArrayRef<Value> own) -> Value {
                   return at.make<arith::IndexCastOp>(at.b.getI64Type(), own[dim]);
                 }));
  return success();
}

/// Each sum on its own, from a table that assigns elements to sums: positions that a padding
/// mask is counted to are short.
static LogicalResult importCumSum(Node &node) {
  TensorRef input = node.input(0);
  FailureOr<SmallVector<int64_t>> given = node.getConstants(1, "the axis");
  if (failed(given) || given->size() != 1)
    return failed(given) ? failure() : LogicalResult(node.error() << "expected one axis");
  FailureOr<int64_t> axis = node.getDim(given->front(), input->getRank());
  if (failed(axis))
    return failure();
  bool exclusive = node.getInt("exclusive", 0), reverse = node.getInt("reverse", 0);
  int64_t dim = *axis;
  SmallVector<OpFoldResult> sizes(input->sizes);
  sizes.insert(sizes.begin() + dim, sizes[dim]);
  Type element = input->element;
  TensorRef table = makeGenerate(
      node.body, element, sizes, {input}, [=](Body &at, ArrayRef<Value> indices) -> Value {
        Value sum = indices[dim], term = indices[dim + 1];
        if (reverse)
          std::swap(sum, term);
        Value isIn = at.make<arith::CmpIOp>(
            exclusive ? arith::CmpIPredicate::slt : arith::CmpIPredicate::sle, term, sum);
        SmallVector<Value> own(indices);
        own.erase(own.begin() + dim);
        Value zero = arith::ConstantOp::create(at.b, at.loc, at.b.getZeroAttr(element));
        return at.make<arith::SelectOp>(isIn, at.read(input, own), zero);
      });
  return node.setOutput(makeReduce(node.body, table, ReduceKind::sum, dim + 1, /*keep=*/false));
}

ArrayRef<OpEntry> imports::getReductionOps() {
  static const SmallVector<AttributeEntry> reduceAttributes = {
      {"axes", Ints}, {"keepdims", Int}, {"noop_with_empty_axes", Int}};
  static const SmallVector<AttributeEntry> argAttributes = {
      {"axis", Int}, {"keepdims", Int}, {"select_last_index", Int}};
  static const OpEntry entries[] = {
      {"", "ArgMax", "n", "x", argAttributes, importArg<ReduceKind::max>},
      {"", "ArgMin", "n", "x", argAttributes, importArg<ReduceKind::min>},
      {"", "CumSum", "ni", "x", {{"exclusive", Int}, {"reverse", Int}}, importCumSum},
      {"", "LogSoftmax", "f", "x", {{"axis", Int}}, importLogSoftmax, 13},
      {"", "ReduceL1", "fi?", "x", reduceAttributes, importReduceL1},
      {"", "ReduceL2", "fi?", "x", reduceAttributes, importReduceAs<ReduceKind::l2>},
      {"", "ReduceLogSum", "fi?", "x", reduceAttributes, importReduceLogSum},
      {"", "ReduceLogSumExp", "fi?", "x", reduceAttributes, importReduceLogSumExp},
      {"", "ReduceMax", "xi?", "x", reduceAttributes, importReduceAs<ReduceKind::max>},
      {"", "ReduceMean", "ni?", "x", reduceAttributes, importReduceAs<ReduceKind::mean>},
      {"", "ReduceMin", "xi?", "x", reduceAttributes, importReduceAs<ReduceKind::min>},
      {"", "ReduceProd", "ni?", "x", reduceAttributes, importReduceAs<ReduceKind::prod>},
      {"", "ReduceSum", "ni?", "x", reduceAttributes, importReduceAs<ReduceKind::sum>},
      {"", "ReduceSumSquare", "fi?", "x", reduceAttributes, importReduceSumSquare},
      {"", "TopK", "ni", "x?x?", {{"axis", Int}, {"largest", Int}, {"sorted", Int}}, importTopK},
  };
  return entries;
}
