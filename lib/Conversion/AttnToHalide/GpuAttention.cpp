//===- GpuAttention.cpp - fused attention on a GPU ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread block computes a query block, staged in shared memory. For each KV block: copy keys
// to shared memory, compute scores, maxima, numerators and sums, copy values to shared memory,
// online step. Scores, numerators and the accumulator stay in registers: thread (tx, ty)
// holds the rows ty, ty + threadsY, …, of these the keys tx, tx + threadsX, … of a KV block, and
// block tx of the accumulator. Threads exchange values through shared memory.
//
//===----------------------------------------------------------------------===//

#include "GpuAttention.h"

#include <numeric>

using namespace mlir;
using namespace mlir::attn;

ThreadColumns::ThreadColumns(int64_t valueDim, int64_t block, int64_t threads)
    : ContextColumns(valueDim, block, threads), vectorDims(std::gcd(block, 4)) {}

/// No more columns than value_dim needs, in pairs.
static int64_t getBlock(GpuAttr s, int64_t valueDim) {
  return 2 * std::min(s.getContextColumns() / 2, llvm::divideCeilSigned(valueDim, 2));
}

GpuAttention::GpuAttention(PipelineBuilder &p, AttentionOp op, GpuAttr s)
    : p(p), s(s), threadsX(s.getThreadsX()), threadsY(s.getThreadsY()), in(p, op),
      blocks(in, s, s.getQBlock(), s.getPackedHeads(), s.getKvBlock(),
             KvSplits::fixed(p, s.getKvSplits())),
      columns(in.valueDim, getBlock(s, in.valueDim), threadsX),
      width(columns.block + (isSinkLast(in) ? 3 : 2)), mask(op.getMask()), qBlockMask(blocks, mask),
      regions(in), numerators(in, gpuExp2), lse(blocks, numerators), row(*this) {}

LogicalResult attn::lowerGpuAttention(PipelineBuilder &p, AttentionOp op, GpuAttr s) {
  return GpuAttention(p, op, s).lower();
}

LogicalResult GpuAttention::lower() {
  range = buildKeyRange(qBlockMask);
  kvBlocks = buildKvBlocks(blocks, range);
  reader.emplace(blocks, range, buildKvHead(blocks), buildKvStart(blocks));
  steps.emplace(*reader, regions, qBlockMask);
  buildScores();
  buildSoftmax();
  buildProduct();
  buildAccumulator();
  buildSecondPass();
  buildOutput();
  if (regions.hasFailed())
    return failure();
  schedule();
  return success();
}

//===----------------------------------------------------------------------===//
// Scores and softmax
//===----------------------------------------------------------------------===//

/// The number of dims that a thread loads ahead, limited by the registers that its score tile
/// leaves.
void GpuAttention::buildScores() {
  constexpr int64_t kSmallTile = 24;
  query = buildQuery(blocks);
  wideKey = buildWideKey(*reader);
  int64_t scores = blocks.rows / threadsY * (blocks.kvBlock / threadsX);
  DotForm form;
  form.terms = std::gcd(in.headDim, scores <= kSmallTile ? 16 : 8);
  auto keyAt = [&](Scalar k, Scalar c, const BlockCoords &t, Scalar d) {
    return wideKey(d, k, c, t.it, t.h, t.b);
  };
  dot = buildDotProduct(blocks, query, keyAt, form, "dot");
  score = attn::buildScores(*reader, *steps, dot.sum, /*staged=*/{}, /*keys=*/{}, threadsX);
}

/// Reduces a thread's own keys for each row; keys beyond the range are neutral.
Func GpuAttention::combineOwnKeys(StringRef name, Func f, double init, Combine combine) {
  StringRef vars[] = {"ii", "u", "c", "it", "h", "b"};
  return p.func(name, vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    Scalar result = in.f32(init);
    for (int64_t k = 0; k < blocks.kvBlock; k += threadsX)
      result = combine(result, f(v[0], v[1] + k, v[2], v[3], v[4], v[5]));
    return result;
  });
}

/// Reads the keys once more after the maximum, without effect, so that Halide reuses their memory
/// not for the maxima but for the numerators or the values. Numerators stay in a thread's
/// registers; modified ones are shared.
void GpuAttention::buildSoftmax() {
  auto keepKeys = [&](Scalar x, ArrayRef<Scalar> v) {
    return blend(x < -kMaxFloat, wideKey(p.i32(0), p.i32(0), v[1], v[2], v[3], v[4]), x);
  };
  softmax.partialMax = combineOwnKeys("max_chains", score, -kMaxFloat, machineMax);
  softmax.maximum = combinePartials(p, "max", softmax.partialMax, machineMax, threadsX, keepKeys);
  softmax.numerators = buildNumerators(*reader, numerators, score, softmax.maximum);
  softmax.partialSum = combineOwnKeys("sum_chains", softmax.numerators, 0, plus);
  softmax.modified = buildModified(*reader, *steps, softmax.numerators);
}

Scalar GpuAttention::ThreadState::sum(Scalar ii, const BlockCoords &t) const {
  return kernel.sum(ii, t.it, t.h, t.b);
}

Scalar GpuAttention::ThreadState::maximum(Scalar k, Scalar ii, const BlockCoords &t) const {
  return kernel.acc(kernel.p.i32(kernel.columns.maxColumn()), k % kernel.threadsX, ii, t.it, t.h,
                    t.b);
}

//===----------------------------------------------------------------------===//
// Context
//===----------------------------------------------------------------------===//

/// For keys beyond the range and columns beyond value_dim other elements are read: numerators of
/// such keys are 0.
void GpuAttention::buildProduct() {
  Type f32Type = p.b().getF32Type();
  StringRef valueVars[] = {"x", "k", "c", "it", "h", "b"};
  stagedValue = p.func("staged_value", valueVars, f32Type, [&](ArrayRef<Scalar> v) {
    return reader->value(columns.safeDim(v[0]), v[1], v[2], BlockCoords(v));
  });
  StringRef vars[] = {"x", "y", "ii", "c", "it", "h", "b"};
  product = p.func("product", vars, f32Type, [&](ArrayRef<Scalar>) { return in.f32(0); });
  p.update(product, vars, {{"rk", p.i32(blocks.kvBlock)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             BlockCoords t(v);
             Scalar c = v[3], w = softmax.modified(v[2], r[0], c, t.it, t.h, t.b);
             return product(v) + w * stagedValue(columns.dim(v[0], v[1]), r[0], c, t.it, t.h, t.b);
           });
}

/// 1 if x > 0, else 0, for integer x, in arithmetic that Halide does not treat as a condition of
/// the loop over KV blocks.
static Scalar step(Scalar x) {
  return convert(clamp(x, x.constant(0), x.constant(1)), x.b().getF32Type());
}

/// The online step (FlashAttention-2, Dao 2023, algorithm 1): each thread rescales its old columns
/// and the KV block's to the row's new maximum and adds them; the maximum is stored last. The first
/// thread adds the sink.
void GpuAttention::buildAccumulator() {
  auto start = [&](ArrayRef<Scalar> v) {
    Scalar x = v[0];
    StateField field = {x == columns.sumColumn() && v[1] == p.i32(0), x == columns.maxColumn(),
                        x == columns.sinkColumn()};
    return startRow(blocks, field, v[2], BlockCoords(v));
  };
  StringRef vars[] = {"x", "y", "ii", "it", "h", "b"};
  acc = p.func("acc", vars, p.b().getF32Type(), start);
  auto update = [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
    BlockCoords t(v);
    Scalar ii = v[0], x = r[0], y = r[1], c = r[2];
    Scalar oldMax = acc(p.i32(columns.maxColumn()), y, ii, t.it, t.h, t.b);
    Scalar kvBlockMax = softmax.maximum(ii, c, t.it, t.h, t.b),
           newMax = machineMax(oldMax, kvBlockMax);
    Scalar isContext = step(p.i32(columns.block) - x), isSum = step(x - (columns.sumColumn() - 1));
    Scalar fresh = isContext * product(min(x, columns.block - 1), y, ii, c, t.it, t.h, t.b);
    fresh = fresh + isSum * softmax.partialSum(ii, y, c, t.it, t.h, t.b);
    Scalar old = acc(x, y, ii, t.it, t.h, t.b);
    Scalar scaled =
        old * numerators.get(oldMax, newMax) + fresh * numerators.get(kvBlockMax, newMax);
    return {blend(x == columns.maxColumn(), newMax, scaled),
            {x, y, ii, t.it, t.h, t.b},
            c < kvBlocks(t.it, t.h, t.b)};
  };
  p.update(acc, ArrayRef(vars).drop_front(2),
           {{"rx", p.i32(width)}, {"ry", p.i32(columns.numBlocks)}, {"rc", blocks.maxKvBlocks()}},
           update);
  StringRef sumVars[] = {"ii", "u", "it", "h", "b"};
  sumOfThread = p.func("sum_of_thread", sumVars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    return acc(p.i32(columns.sumColumn()), v[1], v[0], v[2], v[3], v[4]);
  });
  sum = combinePartials(p, "sum", sumOfThread, plus, threadsX);
}

//===----------------------------------------------------------------------===//
// Second pass
//===----------------------------------------------------------------------===//

/// The largest magnitude of a query block's context, and of its sums if they alone may be NaN.
void GpuAttention::buildLargest() {
  Type i32Type = p.b().getI32Type();
  int64_t looked = columns.block + (numerators.mayHaveNaNSum() ? 1 : 0);
  if (isSinkLast(in))
    looked = width;
  StringRef vars[] = {"y", "i", "it", "h", "b"};
  second.largestOfLane = p.func("largest_of_thread", vars, i32Type, [&](ArrayRef<Scalar> v) {
    Scalar result = p.i32(0);
    for (int64_t ii = 0; ii < blocks.rows; ii += threadsY)
      for (int64_t x = 0; x < looked; ++x)
        result = max(result, magnitude(acc(p.i32(x), v[0], v[1] + ii, v[2], v[3], v[4])));
    return result;
  });
  Func largest = second.largest =
      p.func("largest", kQBlockVars, i32Type, [&](ArrayRef<Scalar>) { return p.i32(0); });
  p.update(largest, kQBlockVars, {{"rl", p.i32(columns.numBlocks * threadsY)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             Scalar x = second.largestOfLane(r[0] % columns.numBlocks, r[0] / columns.numBlocks,
                                             v[0], v[1], v[2]);
             return max(largest(v), x);
           });
}

/// Sums have the layout of the accumulator and replace it if they are needed, to save registers.
/// ptxas would unroll a short loop and use all registers to load ahead.
void GpuAttention::buildSecondPass() {
  Type f32Type = p.b().getF32Type();
  buildLargest();
  second.kvBlocks = buildSecondKvBlocks(blocks, second.largest, kvBlocks);
  DotForm form;
  form.terms = std::gcd(in.headDim, 16);
  auto keyAt = [&](Scalar k, Scalar c, const BlockCoords &t, Scalar d) {
    return reader->key(d, k, c, t);
  };
  second.dot = buildDotProduct(blocks, query, keyAt, form, "fallback_dot");
  second.score = p.func("fallback_score", kScoreVars, f32Type, [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    Scalar s = steps->modify(second.dot.sum(v), v[0], v[1], v[2], t, /*staged=*/{});
    return steps->hide(s, v[0], v[1], v[2], t, /*staged=*/{});
  });
  buildSecondNumerators(second, blocks, *steps, numerators, row, lse,
                        [&](ArrayRef<Scalar> v) { return second.score(v); });
  StringRef productVars[] = {"x", "y", "ii", "c", "it", "h", "b"};
  Func products = second.product =
      p.func("fallback_product", productVars, f32Type, [&](ArrayRef<Scalar>) { return in.f32(0); });
  p.update(products, productVars, {{"rk", p.i32(blocks.kvBlock)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             BlockCoords t(v);
             Scalar k = r[0], c = v[3], ii = v[2];
             Scalar x = reader->value(columns.safeDim(columns.dim(v[0], v[1])), k, c, t);
             Scalar kept = keepValue(second, x, ii, k, c, t);
             return products(v) + second.modified(ii, k, c, t.it, t.h, t.b) * kept;
           });
  StringRef vars[] = {"x", "y", "ii", "it", "h", "b"};
  Func sums = second.context = p.func("fallback_context", vars, f32Type, [&](ArrayRef<Scalar> v) {
    return pick(!second.isNeeded(BlockCoords(v)), acc(v));
  });
  p.update(sums, vars, {{"rc", blocks.maxKvBlocks()}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             BlockCoords t(v);
             return {sums(v) + products(v[0], v[1], v[2], r[0], t.it, t.h, t.b),
                     {},
                     r[0] < second.kvBlocks(t.it, t.h, t.b)};
           });
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// Returns `x`. Halide frees shared memory after the last textual use and ignores loop back edges:
/// values that loops read are read once more after them. No sum is negative.
Scalar GpuAttention::keepQuery(Scalar x, Scalar ii, const BlockCoords &t) {
  return blend(row.sum(ii, t) < 0, query(ii, p.i32(0), t.it, t.h, t.b), x);
}

/// The partial result of each KV split: the accumulator.
void GpuAttention::buildPartial() {
  StringRef vars[] = {"x", "y", "ii", "it", "h", "b"};
  partial = p.func("partial", vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    Scalar x = min(v[0], columns.block - 1);
    Scalar sums = second.context(x, v[1], v[2], t.it, t.h, t.b);
    Scalar last = blend(v[0] == columns.sumColumn(), row.sum(v[2], t), acc(v));
    return keepQuery(blend(v[0] < columns.block, sums, last), v[2], t);
  });
}

/// `sum` divided by the row's sum of numerators.
Quotient GpuAttention::divide(Scalar sum, Scalar ii, const BlockCoords &t, const RowSum &row) {
  if (!lse)
    return {sum, numerators.reciprocal(row.total)};
  return {sum, lse.reciprocal(RowPlace::inMergedBlock(blocks, ii, t), row), row};
}

/// Merges the KV splits, rescaled to one maximum; a single one is taken as it is, since its weight
/// would be NaN where the maximum is infinite.
Quotient GpuAttention::mergeSplits(Scalar d, Scalar ii, const BlockCoords &t) {
  int64_t splits = blocks.splits.most;
  auto ofSplit = [&](int64_t s, Scalar x, Scalar y) {
    return partial(x, y, ii, t.it * splits + s, t.h, t.b);
  };
  auto last = [&](int64_t s, int64_t column) { return ofSplit(s, p.i32(column), p.i32(0)); };
  Scalar top = last(0, columns.maxColumn()), total = in.f32(0), sum = in.f32(0);
  for (int64_t s = 1; s < splits; ++s)
    top = machineMax(top, last(s, columns.maxColumn()));
  for (int64_t s = 0; s < splits; ++s) {
    Scalar w = splits == 1 ? in.f32(1) : numerators.get(last(s, columns.maxColumn()), top);
    total = total + w * last(s, columns.sumColumn());
    sum = sum + w * ofSplit(s, columns.column(d), columns.blockOf(d));
  }
  return divide(sum, ii, t, {total, top});
}

/// The quotient of a query block without KV splits.
Quotient GpuAttention::divideSum(Scalar d, Scalar ii, const BlockCoords &t) {
  Scalar y = columns.blockOf(d), x = columns.column(d);
  Scalar sum = keepQuery(second.context(x, y, ii, t.it, t.h, t.b), ii, t);
  RowSum ofRow{row.sum(ii, t)};
  if (lse)
    ofRow.maximum = row.maximum(y, ii, t);
  return divide(sum, ii, t, ofRow);
}

/// The reciprocals of the sums of packed rows, whose lse is stored with them: their context is
/// stored by an update. The thread of the first block of columns stores a row's.
void GpuAttention::buildInverse(QuotientAt quotientAt) {
  StringRef vars[] = {"y", "ii", "it", "h", "b"};
  inverse = p.func("inverse", vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    Quotient q = quotientAt(v[0] * columns.vectorDims, v[1], t);
    RowPlace place = RowPlace::inMergedBlock(blocks, v[1], t);
    return lse.storeBeside(q.inverse, place, q.row, v[0] == p.i32(0));
  });
}

void GpuAttention::buildOutput() {
  if (hasMergeKernel())
    buildPartial();
  auto quotientAt = [&](Scalar d, Scalar ii, const BlockCoords &t) {
    return hasMergeKernel() ? mergeSplits(d, ii, t) : divideSum(d, ii, t);
  };
  if (lse && blocks.packed)
    buildInverse(quotientAt);
  auto stored = [&](Scalar d, Scalar ii, const BlockCoords &t) {
    Quotient q = quotientAt(d, ii, t);
    if (Value(inverse))
      q.inverse = inverse(hasMergeKernel() ? p.i32(0) : columns.blockOf(d), ii, t.it, t.h, t.b);
    return q;
  };
  context = buildContext(blocks, stored, lse ? &lse : nullptr);
  lse.addOutput();
}
