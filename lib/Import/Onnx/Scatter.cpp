//===- Scatter.cpp - ONNX's ScatterND and ScatterElements -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An assignment to a slice, `x[:, a:b] = y`, is exported as a scatter with consecutive indices. It
// is imported as a gather: each element is read from the updates or from the data. For other
// indices of rows, as of a cache that a step writes to, each row's update is searched first.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "Sizes.h"

#include "attnc/Dialect/Attn/Elements.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

namespace {
/// base + constant + Σ factors[i] · places[i]
struct Affine {
  SmallVector<int64_t> factors;
  int64_t constant = 0;
  /// A value from outside the block; null for 0.
  Value base = {};
};

/// Reads integers as affine functions of the arguments of a block.
class AffineReader {
public:
  explicit AffineReader(Block *places) : places(places) {}

  std::optional<Affine> read(Value value);

private:
  std::optional<Affine> readElement(tensor::ExtractOp op);
  std::optional<Affine> readProduct(arith::MulIOp op);

  Block *places;
};
} // namespace

static Affine scale(Affine x, int64_t factor) {
  x.constant *= factor;
  for (int64_t &own : x.factors)
    own *= factor;
  return x;
}

/// None if both have a base.
static std::optional<Affine> add(Affine x, const std::optional<Affine> &y) {
  if (!y || (x.base && y->base))
    return std::nullopt;
  x.constant += y->constant;
  for (auto [own, other] : llvm::zip(x.factors, y->factors))
    own += other;
  x.base = x.base ? x.base : y->base;
  return x;
}

/// The integers of a constant as an affine function of the indices into it.
static std::optional<Affine> describeElements(DenseElementsAttr elements) {
  ArrayRef<int64_t> shape = elements.getType().getShape();
  if (!elements.getElementType().isInteger() || elements.empty())
    return std::nullopt;
  auto values = llvm::map_to_vector(elements.getValues<APInt>(),
                                    [](const APInt &value) { return value.getSExtValue(); });
  Affine found = {SmallVector<int64_t>(shape.size(), 0), values.front()};
  auto strides = computeStrides(shape);
  // Far from overflow, as no index of a tensor comes near.
  constexpr int64_t most = int64_t(1) << 31;
  if (llvm::any_of(values, [](int64_t value) { return value < -most || value > most; }))
    return std::nullopt;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size > 1)
      found.factors[dim] = values[strides[dim]] - values[0];
  for (auto [flat, value] : llvm::enumerate(values)) {
    int64_t expected = found.constant;
    for (auto [stride, size, factor] : llvm::zip(strides, shape, found.factors))
      expected += int64_t(flat) / stride % size * factor;
    if (value != expected)
      return std::nullopt;
  }
  return found;
}

std::optional<Affine> AffineReader::readElement(tensor::ExtractOp op) {
  DenseElementsAttr elements;
  if (!matchPattern(op.getTensor(), m_Constant(&elements)))
    return std::nullopt;
  auto described = describeElements(elements);
  if (!described)
    return std::nullopt;
  std::optional<Affine> sum =
      Affine{SmallVector<int64_t>(places->getNumArguments(), 0), described->constant};
  for (auto [index, factor] : llvm::zip(op.getIndices(), described->factors)) {
    auto own = read(index);
    if (!sum || !own || (own->base && factor != 1))
      return std::nullopt;
    sum = add(*sum, scale(*own, factor));
  }
  return sum;
}

std::optional<Affine> AffineReader::readProduct(arith::MulIOp op) {
  for (auto [x, y] : {std::pair(op.getLhs(), op.getRhs()), {op.getRhs(), op.getLhs()}})
    if (auto factor = getConstantInt(y))
      if (auto own = read(x); own && !own->base)
        return scale(*own, *factor);
  return std::nullopt;
}

std::optional<Affine> AffineReader::read(Value value) {
  Affine none = {SmallVector<int64_t>(places->getNumArguments(), 0)};
  if (auto constant = getConstantInt(value)) {
    none.constant = *constant;
    return none;
  }
  if (auto place = dyn_cast<BlockArgument>(value); place && place.getOwner() == places) {
    none.factors[place.getArgNumber()] = 1;
    return none;
  }
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != places) {
    none.base = value;
    return none;
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
    return read(op->getOperand(0));
  if (auto sum = dyn_cast<arith::AddIOp>(op)) {
    auto left = read(sum.getLhs());
    return left ? add(*left, read(sum.getRhs())) : std::nullopt;
  }
  if (auto product = dyn_cast<arith::MulIOp>(op))
    return readProduct(product);
  if (auto element = dyn_cast<tensor::ExtractOp>(op))
    return readElement(element);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

namespace {
/// The indices written along one dimension of the data: start, start + step, …
struct Run {
  OpFoldResult start, count;
  int64_t step = 1;
  /// The dimension of the updates that holds them; none for a single index.
  std::optional<int64_t> dim;
};
} // namespace

/// The run of an index along a dimension of `size`; none if it is no run.
static std::optional<Run> getRun(Node &node, const Affine &index, OpFoldResult size) {
  TensorRef indices = node.input(1);
  Body &body = node.body;
  Run run = {{}, fixedSize(node, 1), 1, std::nullopt};
  for (auto [dim, factor] : llvm::enumerate(index.factors)) {
    if (factor == 0 || getStatic(indices->sizes[dim]) == 1)
      continue;
    if (run.dim || factor < 0)
      return std::nullopt;
    run.dim = dim;
    run.step = factor;
    run.count = indices->sizes[dim];
  }
  Polynomial start = Polynomial::constant(index.constant);
  if (index.base)
    start = start + Polynomial::of(toSize(body, castScalar(body, index.base, body.b.getI64Type())));
  else if (index.constant < 0)
    start = start + Polynomial::of(size);
  run.start = start.build(body);
  return run;
}

static bool isElementwiseOrMove(Operation *op) {
  return isa<MapOp, tensor::GenerateOp>(op) || isMoveOrSlice(op) || isCheapToInline(op);
}

/// The runs that the indices write along the data's first dimensions; none if they are no runs.
static std::optional<SmallVector<Run>> findRuns(Node &node) {
  TensorRef data = node.input(0), indices = node.input(1);
  Body &body = node.body;
  int64_t depth = *getStatic(indices->sizes.back()), rank = indices->getRank() - 1;
  Block places;
  places.addArguments(SmallVector<Type>(rank, body.b.getIndexType()),
                      SmallVector<Location>(rank, body.loc));
  OpBuilder builder(body.b.getContext(), body.b.getListener());
  builder.setInsertionPointToEnd(&places);
  Body inner{builder, body.loc};
  Elements elements(builder, body.loc, isElementwiseOrMove);
  SmallVector<Value> at(places.getArguments());
  SmallVector<Affine> found;
  for (int64_t component = 0; component < depth; ++component) {
    at.resize(rank);
    at.push_back(inner.index(component));
    Value read = indices->value ? elements.read(indices->value, at) : inner.read(indices, at);
    auto index = AffineReader(&places).read(read);
    if (!index)
      return std::nullopt;
    found.push_back(*index);
  }
  SmallVector<Run> runs;
  SmallVector<bool> used(rank, false);
  for (auto [index, size] : llvm::zip(found, data->sizes)) {
    auto run = getRun(node, index, size);
    if (!run || (run->dim && used[*run->dim]))
      return std::nullopt;
    if (run->dim)
      used[*run->dim] = true;
    runs.push_back(*run);
  }
  // Along a dimension of the updates without a run, the same elements would be written repeatedly.
  for (auto [dim, isUsed] : llvm::enumerate(used))
    if (!isUsed && getStatic(indices->sizes[dim]) != 1)
      return std::nullopt;
  return runs;
}

/// Whether a place of the data is in the run; `index` is its number, clamped.
static Value findInRun(Body &at, const Run &run, Value place, Value &index) {
  Value past = at.make<arith::SubIOp>(place, toIndex(at, run.start));
  Value step = at.index(run.step), zero = at.index(0);
  Value last = at.make<arith::SubIOp>(toIndex(at, run.count), at.index(1));
  index = at.make<arith::FloorDivSIOp>(past, step);
  index = at.make<arith::MaxSIOp>(at.make<arith::MinSIOp>(index, last), zero);
  return at.make<arith::CmpIOp>(arith::CmpIPredicate::eq, past,
                                at.make<arith::MulIOp>(index, step));
}

static LogicalResult checkReduction(Node &node) {
  if (StringRef found = node.getString("reduction", "none"); found != "none")
    return node.error() << "expected attribute 'reduction' none, found " << found;
  return success();
}

static LogicalResult checkScatter(Node &node) {
  TensorRef data = node.input(0), indices = node.input(1), updates = node.input(2);
  if (failed(checkReduction(node)))
    return failure();
  auto depth = indices->getRank() > 0 ? getStatic(indices->sizes.back()) : std::nullopt;
  if (!depth || *depth < 1 || *depth > data->getRank())
    return node.error() << "expected indices whose last size is known and within the rank "
                        << data->getRank();
  if (updates->element != data->element ||
      updates->getRank() != indices->getRank() - 1 + data->getRank() - *depth)
    return node.error() << "expected updates of type " << data->element << " and rank "
                        << indices->getRank() - 1 + data->getRank() - *depth << ", found "
                        << updates->getType();
  return success();
}

/// For each place of a tensor of `sizes`, the number of the last update of `count` that is written
/// there, counted from 1; or 0. `isWritten` says whether the update at an index is.
static TensorRef findWriters(Body &body, ArrayRef<OpFoldResult> sizes, OpFoldResult count,
                             const TensorRef &indices,
                             std::function<Value(Body &, ArrayRef<Value>, Value)> isWritten) {
  Type i32 = body.b.getI32Type();
  int64_t rank = sizes.size();
  SmallVector<OpFoldResult> all(sizes);
  all.push_back(count);
  TensorRef numbers = makeGenerate(body, i32, all, {indices}, [=](Body &at, ArrayRef<Value> place) {
    Value number =
        at.make<arith::IndexCastOp>(i32, at.make<arith::AddIOp>(place.back(), at.index(1)));
    Value none = at.make<arith::ConstantOp>(at.b.getI32IntegerAttr(0));
    return at.make<arith::SelectOp>(isWritten(at, place.drop_back(), place.back()), number, none);
  });
  return makeReduce(body, numbers, ReduceKind::max, {rank}, /*keep=*/false);
}

/// Whether an update is written, for the number of one, and the update's index, clamped.
static std::pair<Value, Value> readWriter(Body &at, Value number) {
  Value zero = at.index(0), count = at.make<arith::IndexCastOp>(at.b.getIndexType(), number),
        index = at.make<arith::MaxSIOp>(at.make<arith::SubIOp>(count, at.index(1)), zero);
  return {at.make<arith::CmpIOp>(arith::CmpIPredicate::sgt, count, zero), index};
}

/// Indices of rows, whatever they are.
static LogicalResult scatterRows(Node &node) {
  TensorRef data = node.input(0), indices = node.input(1), updates = node.input(2);
  OpFoldResult count = multiply(node.body, ArrayRef(indices->sizes).drop_back()),
               length = data->sizes.front();
  SmallVector<OpFoldResult> sizes = {count};
  TensorRef list = makeReshape(node.body, indices, sizes);
  llvm::append_range(sizes, ArrayRef(data->sizes).drop_front());
  TensorRef rows = makeReshape(node.body, updates, sizes);
  TensorRef writers = findWriters(
      node.body, length, count, list, [=](Body &at, ArrayRef<Value> place, Value update) {
        Value row = fromEnd(at, at.read(list, update), length);
        return at.make<arith::CmpIOp>(arith::CmpIPredicate::eq, row, place.front());
      });
  return node.setOutput(makeGenerate(
      node.body, data->element, data->sizes, {data, rows, writers},
      [=](Body &at, ArrayRef<Value> place) {
        auto [isWritten, update] = readWriter(at, at.read(writers, place.front()));
        SmallVector<Value> own(place);
        own.front() = update;
        return at.make<arith::SelectOp>(isWritten, at.read(rows, own), at.read(data, place));
      }));
}

LogicalResult imports::importScatterElements(Node &node) {
  TensorRef data = node.input(0), indices = node.input(1), updates = node.input(2);
  if (failed(checkReduction(node)))
    return failure();
  FailureOr<int64_t> axis = node.getDim(node.getInt("axis", 0), data->getRank());
  if (failed(axis))
    return failure();
  int64_t dim = *axis;
  bool areAlike = indices->getRank() == data->getRank() && updates->element == data->element &&
                  sameSizes(indices->sizes, updates->sizes);
  for (int64_t other = 0; areAlike && other < data->getRank(); ++other)
    areAlike = other == dim || sameSize(indices->sizes[other], data->sizes[other]);
  if (!areAlike)
    return node.error() << "expected indices and updates of the data's sizes but along axis " << dim
                        << ", found " << indices->getType() << " and " << updates->getType()
                        << " beside " << data->getType();
  auto withUpdate = [dim](ArrayRef<Value> place, Value update) {
    SmallVector<Value> own(place);
    own[dim] = update;
    return own;
  };
  TensorRef writers =
      findWriters(node.body, data->sizes, indices->sizes[dim], indices,
                  [=](Body &at, ArrayRef<Value> place, Value update) {
                    Value index =
                        fromEnd(at, at.read(indices, withUpdate(place, update)), data->sizes[dim]);
                    return at.make<arith::CmpIOp>(arith::CmpIPredicate::eq, index, place[dim]);
                  });
  return node.setOutput(
      makeGenerate(node.body, data->element, data->sizes, {data, updates, writers},
                   [=](Body &at, ArrayRef<Value> place) {
                     auto [isWritten, update] = readWriter(at, at.read(writers, place));
                     Value written = at.read(updates, withUpdate(place, update));
                     return at.make<arith::SelectOp>(isWritten, written, at.read(data, place));
                   }));
}

LogicalResult imports::importScatterNd(Node &node) {
  if (failed(checkScatter(node)))
    return failure();
  TensorRef data = node.input(0), updates = node.input(2);
  auto runs = findRuns(node);
  if (!runs && getStatic(node.input(1)->sizes.back()) == 1)
    return scatterRows(node);
  if (!runs)
    return node.error() << "expected indices of rows, or ones that count up along each dimension";
  int64_t rank = node.input(1)->getRank() - 1;
  return node.setOutput(makeGenerate(
      node.body, data->element, data->sizes, {data, updates},
      [=, runs = *runs](Body &at, ArrayRef<Value> place) -> Value {
        SmallVector<Value> own(rank, at.index(0));
        Value written;
        for (auto [run, index, size] : llvm::zip(runs, place, data->sizes)) {
          Value step = index;
          bool isWhole = getStatic(run.start) == 0 && run.step == 1 && sameSize(run.count, size);
          if (!isWhole) {
            Value isIn = findInRun(at, run, index, step);
            written = written ? at.make<arith::AndIOp>(written, isIn) : isIn;
          }
          if (run.dim)
            own[*run.dim] = step;
        }
        llvm::append_range(own, place.drop_front(runs.size()));
        Value update = at.read(updates, own);
        return written ? at.make<arith::SelectOp>(written, update, at.read(data, place)) : update;
      }));
}
