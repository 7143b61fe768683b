//===- MergeSplits.cpp - results of KV splits into one --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each split has the context of its own keys, their maximum and the sum of their numerators. A
// thread block merges a row.
//
//===----------------------------------------------------------------------===//

#include "FragmentAttention.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::nvvm;

SmallVector<RankedTensorType> nvvm::getPartialTypes(AttentionOp op, MmaAttr schedule) {
  if (schedule.getKvSplits() == 1)
    return {};
  auto ofLastSize = [&](int64_t size) {
    SmallVector<int64_t> shape(op.getQuery().getType().getShape());
    if ((ShapedType::isDynamic(shape[2]) || op.getOffsets()) && schedule.getMaxQLen() != 0)
      shape[2] = schedule.getMaxQLen();
    if (op.getOffsets() && schedule.getMaxQLen() != 0)
      shape[0] = op.getOffsets().getType().getDimSize(0);
    shape.insert(shape.begin(), schedule.getKvSplits());
    shape.back() = size;
    return RankedTensorType::get(shape, Float32Type::get(op.getContext()));
  };
  return {ofLastSize(op.getValue().getType().getDimSize(3)), ofLastSize(2)};
}

Reg nvvm::offsetOf(KernelBuilder &k, Reg maximum) {
  return select(maximum == k.minusInf(), k.f32(0), maximum);
}

/// An infinite sink makes all probs NaN, as an infinite score does.
Reg nvvm::readSink(KernelBuilder &k, AttentionOp op, ArrayRef<Reg> row, Reg maximum) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Buffer sink = k.input("sink", op.getSink());
  Regs place(row);
  for (auto [index, size] : llvm::zip(place, op.getSink().getType().getShape()))
    if (size == 1)
      index = k.i32(0);
  Reg score = convert(k.load(sink.at(place), sink.element), k.b().getF32Type());
  Reg numerator = exp2(k, score * k.f32(kLog2E) - offsetOf(k, maximum));
  return select(score == k.f32(kInf), k.f32(std::numeric_limits<float>::quiet_NaN()), numerator);
}

Reg nvvm::buildLse(KernelBuilder &k, Reg maximum, Reg sum, Reg isOfNaN) {
  constexpr double kLn2 = 0.6931471805599453;
  Reg inf = k.f32(std::numeric_limits<float>::infinity());
  Reg known = (maximum + log2(k, sum)) * k.f32(kLn2);
  known = select(sum == k.f32(0), k.minusInf(), known);
  return select(isNaN(sum) & (maximum == inf) & isNot(isOfNaN), inf, known);
}

namespace {
/// A row's splits: the largest maximum, the weight of each, their sum.
struct RowMerge {
  Reg maximum, isOfNaN, sum;
  Regs weights;
};

/// Where a row is: its batch, its head and its number there; where the results of splits and the
/// context have it; of packed rows, whether splits have computed it.
struct MergedRow {
  Regs place, inSplits, inContext;
  Reg isServed;
};
} // namespace

/// Row `index` of all rows of a tensor whose heads have `heads` and `rows` of them.
static Regs splitIndex(Reg index, Reg heads, Reg rows) {
  Reg rest = index / rows;
  return {rest / heads, rest % heads, index % rows};
}

/// The results of splits are those of packed rows, or, of a limited number, those of each batch.
static MergedRow findPackedRow(KernelBuilder &k, AttentionOp op, ServedLengths served,
                               const Buffer &context, const Buffer &statistics) {
  PackedSequences sequences(k, "offsets", op.getOffsets(), context.sizes[2]);
  const Buffer &rows = served.limit ? statistics : context;
  MergedRow r;
  r.inSplits = splitIndex(k.block, context.sizes[1], *std::prev(rows.sizes.end(), 2));
  auto endOf = [&](Reg sequence) { return sequences.startOf(sequence + 1); };
  Reg batch = served.limit ? r.inSplits[0] : sequences.find(r.inSplits[2], endOf);
  Reg head = r.inSplits[1], start = sequences.startOf(batch),
      length = sequences.lengthOf(batch, start);
  Reg row = served.limit ? r.inSplits[2] : max(r.inSplits[2] - start, k.i32(0));
  r.place = {batch, head, row};
  r.inContext = {k.i32(0), head, start + row};
  r.isServed = (row < length) & served.contain(length);
  return r;
}

static RowMerge weighSplits(KernelBuilder &k, const Buffer &statistics, ArrayRef<Reg> row,
                            int64_t splits) {
  RowMerge m{k.minusInf(), Reg::constant(k.b(), k.b().getI1Type(), 0), k.f32(0), {}};
  Regs maxima, sums;
  for (int64_t split = 0; split < splits; ++split) {
    Regs place = {k.i32(split), row[0], row[1], row[2], k.i32(0)};
    maxima.push_back(k.load(statistics.at(place), statistics.element));
    place.back() = k.i32(1);
    sums.push_back(k.load(statistics.at(place), statistics.element));
    m.maximum = max(m.maximum, maxima.back());
    m.isOfNaN = m.isOfNaN | isNaN(maxima.back());
  }
  for (auto [maximum, sum] : llvm::zip(maxima, sums)) {
    m.weights.push_back(exp2(k, maximum - offsetOf(k, m.maximum)) * sum);
    m.sum = m.sum + m.weights.back();
  }
  return m;
}

/// A split of weight 0 has no part, whatever its context; a row that saw no key is 0, whatever the
/// sink. The quotient of an infinite context stays infinite.
static Reg mergeElement(KernelBuilder &k, const RowMerge &m, Reg total, const Buffer &contexts,
                        Regs place) {
  Reg zero = k.f32(0), x = zero;
  place.insert(place.begin(), Reg());
  for (auto [split, weight] : llvm::enumerate(m.weights)) {
    place.front() = k.i32(split);
    Reg context = k.load(contexts.at(place), contexts.element);
    x = x + select(weight == zero, zero, weight * context);
  }
  Reg quotient = x / total;
  quotient = select(isNaN(quotient) & isNot(isNaN(x) | isNaN(total)), x, quotient);
  return select((m.maximum == k.minusInf()) & isNot(m.isOfNaN), zero, quotient);
}

BuiltKernel nvvm::buildMerge(OpBuilder &builder, StringRef name, AttentionOp op, MmaAttr schedule,
                             ArrayRef<Value> partials) {
  constexpr int64_t kThreads = 128;
  KernelBuilder k(builder, op.getLoc(), name);
  Buffer contexts = k.input("contexts", partials[0]),
         statistics = k.input("statistics", partials[1]);
  Buffer context = k.output("context", op.getResult().getType());
  std::optional<Buffer> lse;
  if (op.getLse())
    lse = k.output("lse", op.getLse().getType());
  readPosition(k);
  int64_t limit = schedule.getMaxQLen();
  MergedRow r;
  if (op.getOffsets())
    r = findPackedRow(k, op, {op.getServedBefore(limit), limit}, context, statistics);
  else
    r.place = r.inSplits = r.inContext = splitIndex(k.block, context.sizes[1], context.sizes[2]);
  auto merge = [&] {
    RowMerge m = weighSplits(k, statistics, r.inSplits, schedule.getKvSplits());
    Reg total = op.getSink() ? m.sum + readSink(k, op, r.place, m.maximum) : m.sum;
    auto storeColumn = [&](Reg column, ArrayRef<Reg>) -> Regs {
      Regs from(r.inSplits), to(r.inContext);
      from.push_back(column);
      to.push_back(column);
      k.store(convert(mergeElement(k, m, total, contexts, from), context.element), context.at(to));
      return {};
    };
    k.loop(k.thread, context.sizes[3], kThreads, {}, storeColumn);
    if (lse)
      k.when(k.thread == 0, [&] {
        Reg x = buildLse(k, m.maximum, m.sum, m.isOfNaN);
        k.store(convert(x, lse->element), lse->at(r.inContext));
      });
  };
  op.getOffsets() ? k.when(r.isServed, merge) : merge();
  bool areOfBatches = op.getOffsets() && limit;
  cuda::KernelOp::Blocks rows = areOfBatches
                                    ? cuda::KernelOp::Blocks{k.numberOf(partials[1]), 1, 3, 1}
                                    : cuda::KernelOp::Blocks{k.countInputs(), 0, 3, 1};
  return k.finish({rows}, kThreads, /*sharedBytes=*/0);
}
