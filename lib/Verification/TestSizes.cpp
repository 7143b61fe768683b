//===- TestSizes.cpp - sizes to verify kernels at -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Verification/TestSizes.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Sizes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <array>

using namespace mlir;
using namespace attnc;

namespace {
/// Fits chosen sizes, but for those `given`, to what ops take.
class SizeFitter {
public:
  SizeFitter(func::FuncOp graph, Dims &dims, const Dims &given)
      : dims(dims), given(given), tracer(graph) {}

  /// Bounds appended rows by the capacity of their cache, or of a sequence's pages.
  void fitRows(mlir::attn::AppendCacheOp op);
  void fitRows(mlir::attn::AppendPagesOp op);
  void fitRowsInCsr(mlir::attn::AppendPagesOp op);
  /// Gives a pool as many pages as its table has entries: no key is repeated.
  void fitPages(Value pool, Value table);
  /// Gives a call of packed rows `total` of them, and an offset for each sequence.
  void fitOffsets(const mlir::attn::PackedRows &packed, std::optional<int64_t> batch,
                  int64_t total);
  /// Finds the number of sequences that an op requires of offsets: the other known size among those
  /// that are to be equal, or that of other offsets. Where some of the offsets are fixed, fits the
  /// other sizes to them.
  void findBatches(mlir::attn::AttnOpInterface op, llvm::DenseMap<Value, int64_t> &batches);
  /// The number of sequences that a region reads a tensor for; none if it reads none at its batch.
  std::optional<int64_t> findBatchRead(tensor::ExtractOp read);
  /// Lets a tensor that a region reads at the batch, or at a row of the score, have as many.
  void fitRead(tensor::ExtractOp read);
  /// Fits sizes of which an op requires one to be a multiple of others, as of query heads.
  void fitMultiples(mlir::attn::AttnOpInterface op);

private:
  std::optional<int64_t> get(Value tensor, int64_t dim) {
    return traceSize(tensor, dim, tracer, [&](StringRef symbol) {
      auto known = dims.find(symbol);
      return known == dims.end() ? std::nullopt : std::optional(known->second);
    });
  }
  /// The same of a size that ops compute, as that of gathered pages.
  std::optional<int64_t> compute(Value tensor, int64_t dim);
  /// The size, if it can be chosen.
  int64_t *getFree(Value tensor, int64_t dim);

  Dims &dims;
  const Dims &given;
  mlir::attn::SizeTracer tracer;
};
} // namespace

std::optional<int64_t> SizeFitter::compute(Value tensor, int64_t dim) {
  if (auto traced = get(tensor, dim))
    return traced;
  auto op = tensor.getDefiningOp<mlir::attn::AttnOpInterface>();
  if (!op)
    return std::nullopt;
  auto sizes = op.getResultSizes(cast<OpResult>(tensor).getResultNumber());
  int64_t size = sizes[dim].evaluate([&](mlir::attn::TensorDim of) {
    return compute(of.tensor.value, of.dim).value_or(ShapedType::kDynamic);
  });
  return ShapedType::isDynamic(size) ? std::nullopt : std::optional(size);
}

int64_t *SizeFitter::getFree(Value tensor, int64_t dim) {
  std::optional<mlir::attn::Size> size = tracer.trace(tensor, dim);
  StringAttr symbol = size && !size->isConstant() ? tracer.getSymbol(*size) : StringAttr();
  auto known = symbol && !given.count(symbol) ? dims.find(symbol) : dims.end();
  return known == dims.end() ? nullptr : &known->second;
}

void SizeFitter::fitRows(mlir::attn::AppendCacheOp op) {
  auto rows = get(op.getRows(), 2), room = get(op.getCache(), 2);
  if (!rows || !room || *rows <= *room)
    return;
  if (int64_t *free = getFree(op.getRows(), 2))
    *free = *room;
  else if (int64_t *free = getFree(op.getCache(), 2))
    *free = *rows;
}

void SizeFitter::fitRows(mlir::attn::AppendPagesOp op) {
  if (op.getOffsets())
    return fitRowsInCsr(op);
  auto rows = get(op.getRows(), 2), pages = get(op.getTable(), 1),
       size = get(op.getPool(), op.getKeyDim());
  if (!rows || !pages || !size || *rows <= *pages * *size || *size == 0)
    return;
  if (int64_t *free = getFree(op.getTable(), 1))
    *free = llvm::divideCeil(*rows, *size);
  else if (int64_t *free = getFree(op.getRows(), 2))
    *free = *pages * *size;
}

/// A sequence has as many pages as its rows may be written to, wherever in a page they begin.
void SizeFitter::fitRowsInCsr(mlir::attn::AppendPagesOp op) {
  auto rows = get(op.getRows(), 2), pages = get(op.getTable(), 0), batch = get(op.getLength(), 0),
       size = get(op.getPool(), op.getKeyDim());
  if (!rows || !pages || !batch || !size || *pages >= *batch * countPages(*rows, *size))
    return;
  if (int64_t *free = getFree(op.getTable(), 0))
    *free = *batch * countPages(*rows, *size);
  else if (int64_t *free = getFree(op.getRows(), 2))
    *free = std::max<int64_t>((*pages / *batch - 1) * *size + 1, 0);
}

void SizeFitter::fitPages(Value pool, Value table) {
  std::optional<int64_t> entries = 1;
  for (int64_t dim : llvm::seq(cast<RankedTensorType>(table.getType()).getRank()))
    if (auto size = get(table, dim); size && entries)
      *entries *= *size;
    else
      entries = std::nullopt;
  if (int64_t *free = getFree(pool, 0); free && entries)
    *free = *entries;
}

/// The offsets that a tensor's batch is counted by; null if there are none.
static Value getOffsetsOfBatch(const mlir::attn::SizeConstraint::Member &member) {
  using namespace mlir::attn;
  if (member.extra == 1)
    return member.tensor;
  Operation *op = member.dim == 0 ? member.tensor.getDefiningOp() : nullptr;
  while (isa_and_nonnull<ScoreOp, MaskOp, SoftmaxOp, ContextOp>(op)) // batches of the first operand
    op = op->getOperand(0).getDefiningOp();
  if (auto unpack = dyn_cast_or_null<UnpackRowsOp>(op))
    return unpack.getOffsets();
  auto gather = dyn_cast_or_null<GatherPagesOp>(op);
  return gather ? Value(gather.getOffsets()) : Value();
}

void SizeFitter::findBatches(mlir::attn::AttnOpInterface op,
                             llvm::DenseMap<Value, int64_t> &batches) {
  for (const mlir::attn::SizeConstraint &constraint : op.getSizeConstraints()) {
    SmallVector<Value> offsets;
    SmallVector<int64_t *> others;
    std::optional<int64_t> fixed, batch;
    for (const auto &member : constraint.members)
      if (Value own = getOffsetsOfBatch(member)) {
        offsets.push_back(own);
        if (auto known = batches.find(own); known != batches.end())
          batch = known->second;
        if (auto count = get(own, 0); count && !getFree(own, 0))
          fixed = std::max<int64_t>(*count - 1, 0);
      } else if (auto size = get(member.tensor, member.dim)) {
        batch = batch.value_or(*size);
        if (int64_t *free = getFree(member.tensor, member.dim))
          others.push_back(free);
      }
    if (fixed)
      batch = fixed;
    if (!batch || offsets.empty())
      continue;
    for (int64_t *other : others)
      *other = *batch;
    for (Value each : offsets)
      batches.try_emplace(each, *batch);
  }
}

std::optional<int64_t> SizeFitter::findBatchRead(tensor::ExtractOp read) {
  constexpr size_t kCoordinates = 4;
  auto arguments = read->getBlock()->getArguments();
  if (!isa<mlir::attn::AttnDialect>(read->getParentOp()->getDialect()) ||
      arguments.size() < kCoordinates)
    return std::nullopt;
  Value batch = arguments[arguments.size() - kCoordinates];
  for (auto [dim, index] : llvm::enumerate(read.getIndices()))
    if (index == batch)
      return get(read.getTensor(), dim);
  return std::nullopt;
}

void SizeFitter::fitRead(tensor::ExtractOp read) {
  Operation *op = read->getParentOp();
  if (!isa<mlir::attn::MaskOp, mlir::attn::ModifyScoreOp, mlir::attn::ModifyProbOp>(op))
    return;
  for (auto [place, index] : llvm::enumerate(read.getIndices())) {
    auto argument = dyn_cast<BlockArgument>(index);
    if (!argument || argument.getOwner()->getParentOp() != op)
      continue;
    // After a score, if the region takes one, come its four coordinates.
    int64_t dim = argument.getArgNumber() + 4 - argument.getOwner()->getNumArguments();
    std::optional<int64_t> needed = compute(op->getOperand(0), dim);
    int64_t *free = getFree(read.getTensor(), place);
    if (needed && free)
      *free = std::max(*free, *needed);
  }
}

void SizeFitter::fitMultiples(mlir::attn::AttnOpInterface op) {
  for (const mlir::attn::SizeConstraint &constraint : op.getSizeConstraints()) {
    if (!constraint.isMultiple())
      continue;
    const auto &first = constraint.members.front();
    for (const auto &other : ArrayRef(constraint.members).drop_front()) {
      auto multiple = get(first.tensor, first.dim), unit = get(other.tensor, other.dim);
      if (!multiple || !unit || *unit <= 0 || *multiple % *unit == 0)
        continue;
      if (int64_t *free = getFree(first.tensor, first.dim)) {
        *free = llvm::alignTo(*multiple, *unit);
      } else if (int64_t *free = getFree(other.tensor, other.dim)) {
        *free = std::min(*multiple, *unit);
        while (*multiple % *free != 0)
          --*free;
      }
    }
  }
}

void SizeFitter::fitOffsets(const mlir::attn::PackedRows &packed, std::optional<int64_t> batch,
                            int64_t total) {
  if (int64_t *free = getFree(packed.offsets, 0))
    *free = batch.value_or(total > 1 ? 3 : 1) + 1;
  if (int64_t *free = getFree(packed.rows, packed.dim))
    *free = total;
}

static void fitPackedRows(func::FuncOp graph, SizeFitter &fitter, int64_t total) {
  llvm::DenseMap<Value, int64_t> batches;
  for (int pass = 0; pass < 2; ++pass) // offsets may be required to equal later ones
    graph.walk([&](mlir::attn::AttnOpInterface op) { fitter.findBatches(op, batches); });
  llvm::DenseSet<Value> offsets;
  graph.walk([&](Operation *op) {
    for (const auto &packed : mlir::attn::getPackedRows(op))
      offsets.insert(packed.offsets);
  });
  std::optional<int64_t> read;
  graph.walk([&](tensor::ExtractOp op) {
    std::optional<int64_t> batch = fitter.findBatchRead(op);
    if (batch && !offsets.contains(op.getTensor()))
      read = std::min(read.value_or(*batch), *batch);
  });
  graph.walk([&](Operation *op) {
    for (const auto &packed : mlir::attn::getPackedRows(op)) {
      auto batch = batches.find(packed.offsets);
      fitter.fitOffsets(packed, batch == batches.end() ? read : std::optional(batch->second),
                        total);
    }
  });
}

/// `total` is the number of packed rows, where it can be chosen.
static void fitSizes(func::FuncOp graph, Dims &dims, const Dims &given, int64_t total) {
  SizeFitter fitter(graph, dims, given);
  fitPackedRows(graph, fitter, total);
  graph.walk([&](mlir::attn::AttnOpInterface op) { fitter.fitMultiples(op); });
  graph.walk([&](tensor::ExtractOp read) { fitter.fitRead(read); });
  graph.walk([&](mlir::attn::AppendCacheOp op) { fitter.fitRows(op); });
  graph.walk([&](mlir::attn::AppendPagesOp op) { fitter.fitRows(op); });
  graph.walk([&](Operation *op) {
    auto paged = mlir::attn::getPagedTensors(op);
    for (Value pool : paged.pools)
      fitter.fitPages(pool, paged.table);
  });
}

std::vector<Dims> attnc::chooseDims(func::FuncOp graph, ArrayRef<Symbol> symbols, bool named,
                                    const Dims &given,
                                    llvm::function_ref<bool(const Dims &)> affordable) {
  static constexpr int64_t outer[] = {1, 2, 1};
  static constexpr std::array<int64_t, 3> inner[] = {{1, 1, 1}, {33, 21, 40}, {130, 197, 150}};
  std::vector<Dims> all;
  for (auto sizes : llvm::zip(outer, inner)) {
    int64_t outerSize = std::get<0>(sizes);
    std::array<int64_t, 3> innerSizes = std::get<1>(sizes);
    auto make = [&] {
      Dims dims;
      unsigned next = 0;
      for (const Symbol &symbol : symbols) {
        auto wanted = given.find(symbol.name);
        if (wanted != given.end())
          dims[symbol.name] = wanted->second;
        else
          dims[symbol.name] = symbol.isOuter ? outerSize : innerSizes[named ? next++ % 3 : 0];
      }
      fitSizes(graph, dims, given, innerSizes[0]);
      return dims;
    };
    while (!affordable(make()) && llvm::any_of(innerSizes, [](int64_t size) { return size > 2; }))
      for (int64_t &size : innerSizes)
        size = std::min(size, size / 2 + 1);
    Dims dims = make();
    if (all.empty() ||
        llvm::any_of(dims, [&](auto dim) { return all.back()[dim.first] != dim.second; }))
      all.push_back(dims);
  }
  return all;
}

WorkEstimate::WorkEstimate(func::FuncOp graph) {
  CostModel costs(graph);
  graph.walk([&](Operation *op) {
    Cost each = costs.get(op);
    cost.flops.add(each.flops);
    cost.bytes.add(each.bytes);
  });
}

/// Making, converting and passing on an element costs about 12 multiplications.
static constexpr double kWorkPerByte = 3;

double WorkEstimate::get(const Dims &dims) const {
  int64_t largest = 1;
  for (auto [symbol, size] : dims)
    largest = std::max(largest, size);
  auto getSize = [&](StringRef symbol) -> std::optional<int64_t> {
    auto known = dims.find(symbol);
    return known == dims.end() ? largest : known->second; // a computed size
  };
  return *cost.flops.evaluate(getSize) / 2 + kWorkPerByte * *cost.bytes.evaluate(getSize);
}
