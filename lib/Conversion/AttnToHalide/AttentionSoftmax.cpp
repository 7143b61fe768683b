//===- AttentionSoftmax.cpp - the softmax of fused attention --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over KV blocks select on no func's value: Halide would then run them over all KV blocks,
// visible or not. Bit masks give the same instructions.
//
//===----------------------------------------------------------------------===//

#include "AttentionSoftmax.h"

#include "attnc/Dialect/Attn/ProbRegion.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Numerators
//===----------------------------------------------------------------------===//

static constexpr double kLog2e = 1.4426950408889634;

Numerators::Numerators(const AttentionInputs &in, Exp2 exp2, Exp2 exp2OfScores)
    : in(in), exp2(exp2), exp2OfScores(exp2OfScores),
      log2Scale(in.isScaled ? kLog2e : std::max(std::abs(in.scale) * kLog2e, 1e-30)) {}

Scalar Numerators::exponent(Scalar score, Scalar maximum) const {
  return strictFloat(strictFloat(score - maximum) * log2Scale);
}

Scalar Numerators::ofScore(Scalar score, Scalar maximum) const {
  return exp2OfScores(exponent(score, maximum), bool(in.op.getSink()));
}

Scalar Numerators::get(Scalar score, Scalar maximum) const {
  return exp2(exponent(score, maximum), bool(in.op.getSink()));
}

Numerators::Rescaling Numerators::rescale(Scalar oldMax, Scalar newMax) const {
  Scalar isOld = oldMax >= newMax, one = in.f32(1), maximum = machineMax(oldMax, newMax);
  Scalar power = get(blend(isOld, newMax, oldMax), maximum);
  return {maximum, blend(isOld, one, power), blend(isOld, power, one)};
}

/// `power` of x. With a sink, all numerators may be small; only denormals are flushed.
static Scalar flushSmall(Scalar x, Scalar power, bool besideSink) {
  constexpr double kSmallest = -80, kSmallestBesideSink = -126;
  return pick(!(x < (besideSink ? kSmallestBesideSink : kSmallest)), power);
}

Scalar attn::cpuExp2(Scalar x, bool besideSink) {
  return flushSmall(x, boundedExp2(x), besideSink);
}

Scalar attn::cpuExp2BF16(Scalar x, bool besideSink) {
  return flushSmall(x, exp2BF16(x), besideSink);
}

Scalar attn::gpuExp2(Scalar x, bool) { return deviceExp2(x); }

bool Numerators::mayHaveNaNSum() const { return in.op.getSink() || !in.op.getProbMod().empty(); }

Scalar Numerators::reciprocal(Scalar total) const {
  Scalar inverse = strictFloat(in.f32(1) / total), isSum = !(total == 0);
  if (!mayHaveNaNSum())
    return pick(isSum, inverse);
  Region &probMod = in.op.getProbMod();
  if (!probMod.empty() && ProbRegion(probMod).zeroesNaN())
    return pick(isSum && isNumber(total), inverse);
  return pick(isSum, blend(isNumber(total), inverse, in.f32(1)));
}

//===----------------------------------------------------------------------===//
// A KV block
//===----------------------------------------------------------------------===//

Func attn::combineKeys(const KvReader &reader, StringRef name, Func f, double init, Combine combine,
                       int64_t numAccumulators, int64_t keysOfElement) {
  const AttentionBlocks &blocks = reader.blocks;
  PipelineBuilder &p = blocks.p;
  StringRef vars[] = {"ii", "u", "c", "it", "h", "b"};
  Func partial =
      p.func(name, vars, p.b().getF32Type(), [&](ArrayRef<Scalar>) { return blocks.in.f32(init); });
  p.update(partial, vars, {{"rk", p.i32(blocks.kvBlock / keysOfElement / numAccumulators)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             BlockCoords t(v);
             Scalar k = r[0] * numAccumulators;
             Scalar next = f(v[0], k + v[1], v[2], t.it, t.h, t.b);
             Scalar first = keysOfElement == 1 ? k : k * keysOfElement;
             return {combine(partial(v), next), {}, reader.isVisible(first, v[2], t)};
           });
  return partial;
}

Func attn::combinePartials(PipelineBuilder &p, StringRef name, Func partial, Combine combine,
                           int64_t numAccumulators,
                           function_ref<Scalar(Scalar, ArrayRef<Scalar>)> finish) {
  SmallVector<StringRef> vars = {"ii", "c", "it", "h", "b"};
  if (partial.getRank() == 5)
    vars.erase(vars.begin() + 1);
  return p.func(name, vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    SmallVector<Scalar> results;
    for (int64_t u = 0; u < numAccumulators; ++u) {
      SmallVector<Scalar> at(v);
      at.insert(at.begin() + 1, p.i32(u));
      results.push_back(partial(at));
    }
    for (; results.size() > 1; results.truncate(llvm::divideCeil(results.size(), 2)))
      for (size_t u = 0, half = llvm::divideCeil(results.size(), 2); half + u < results.size(); ++u)
        results[u] = combine(results[u], results[half + u]);
    return finish ? finish(results.front(), v) : results.front();
  });
}

Func attn::buildNumerators(const KvReader &reader, const Numerators &numerators, Func score,
                           Func maximum, const ComputedKeys &computed) {
  Type f32 = reader.blocks.p.b().getF32Type();
  return buildOfKeys(reader, "weight", f32, computed, [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    return numerators.ofScore(score(v), maximum(v[0], v[2], t.it, t.h, t.b));
  });
}

Func attn::buildModified(const KvReader &reader, const ScoreSteps &steps, Func numerators,
                         const ComputedKeys &computed) {
  Type f32 = reader.blocks.p.b().getF32Type();
  return buildOfKeys(reader, "modified_weight", f32, computed, [&](ArrayRef<Scalar> v) {
    return steps.modifyProb(numerators(v), v[0], v[1], v[2], BlockCoords(v));
  });
}

static Func buildNumeratorPairs(const KvReader &reader, Func numerators,
                                const ComputedKeys &computed) {
  Type i32 = reader.blocks.p.b().getI32Type();
  return buildOfKeys(reader, "weight_pairs", i32, computed, [&](ArrayRef<Scalar> v) {
    auto numerator = [&](Scalar k) {
      SmallVector<Scalar> at(v);
      at[1] = k;
      return numerators(at);
    };
    return roundBF16Pair(numerator(v[1] * 2), numerator(v[1] * 2 + 1));
  });
}

static Scalar addPair(Scalar sum, Scalar pair) {
  constexpr int64_t kOnes = 0x3f803f80;
  return dotBF16Pair(sum, pair, pair.constant(kOnes));
}

/// CPUs with tiles take longer for vdpbf16ps than for two additions.
static Scalar addElements(Scalar sum, Scalar pair) {
  constexpr int64_t kHigh = int32_t(0xffff0000);
  Scalar low = pair << pair.constant(16);
  Scalar high = pair & pair.constant(kHigh);
  return sum + fromBits(high, sum.getType()) + fromBits(low, sum.getType());
}

KvBlockSoftmax attn::buildKvBlockSoftmax(const KvReader &reader, const ScoreSteps &steps,
                                         const Numerators &numerators, Func score,
                                         int64_t numAccumulators, Products products,
                                         bool endsWithVisible) {
  PipelineBuilder &p = reader.blocks.p;
  AttentionOp op = reader.blocks.in.op;
  bool isModified = !op.getProbMod().empty(), inPairs = products != Products::f32;
  KvBlockSoftmax s;
  s.sumsPairs = inPairs && !isModified && !op.getLse();
  ComputedKeys ofKeys, ofPairs;
  if (endsWithVisible) {
    ofKeys = {/*tile=*/1, numAccumulators};
    ofPairs = {/*tile=*/1, numAccumulators / 2, /*keysOfElement=*/2};
  }
  s.partialMax = combineKeys(reader, "max_chains", score, -kMaxFloat, machineMax, numAccumulators);
  s.maximum = combinePartials(p, "max", s.partialMax, machineMax, numAccumulators);
  s.numerators =
      buildNumerators(reader, numerators, score, s.maximum, s.sumsPairs ? ComputedKeys() : ofKeys);
  if (s.sumsPairs) {
    numAccumulators /= 2;
    s.pairs = buildNumeratorPairs(reader, s.numerators, ofPairs);
    Combine add = products == Products::bf16_tiles ? addElements : addPair;
    s.partialSum = combineKeys(reader, "sum_chains", s.pairs, 0, add, numAccumulators,
                               /*keysOfElement=*/2);
  } else {
    s.partialSum = combineKeys(reader, "sum_chains", s.numerators, 0, plus, numAccumulators);
  }
  s.sum = combinePartials(p, "sum", s.partialSum, plus, numAccumulators);
  s.modified = isModified ? buildModified(reader, steps, s.numerators, ofKeys) : s.numerators;
  if (inPairs && !s.sumsPairs)
    s.pairs = buildNumeratorPairs(reader, s.modified, ofPairs);
  return s;
}

//===----------------------------------------------------------------------===//
// Sink
//===----------------------------------------------------------------------===//

bool attn::isSinkLast(const AttentionInputs &in) { return in.op.getSink() && in.op.getLse(); }

Scalar attn::readSink(const AttentionInputs &in, Scalar row, Scalar head, Scalar batch) {
  Func sink = in.p.input("sink", in.op.getSink());
  SmallVector<Scalar> place = {row, head, batch};
  for (auto [at, size] : llvm::zip(place, llvm::reverse(in.op.getSink().getType().getShape())))
    if (size == 1)
      at = in.p.i32(0);
  return convert(sink(place), in.p.b().getF32Type());
}

/// Whether a sink is finite or -inf, which adds nothing.
static Scalar isUsualSink(const AttentionInputs &in, Scalar score) {
  PipelineBuilder &p = in.p;
  return magnitude(score) < p.i32(kInfBits) || bits(score) == p.i32(kMinusInfBits);
}

static Scalar getNaN(PipelineBuilder &p) { return fromBits(p.i32(kNaNBits), p.b().getF32Type()); }

Scalar Numerators::getSink(Scalar sink, Scalar maximum) const {
  constexpr double kLargest = 126;
  Scalar x = exponent(sink, maximum), largest = in.f32(kLargest);
  Scalar power = exp2(min(x, largest), /*besideSink=*/true);
  Scalar inf = fromBits(in.p.i32(kInfBits), in.p.b().getF32Type());
  return blend(isUsualSink(in, sink), blend(x < largest, power, inf), getNaN(in.p));
}

//===----------------------------------------------------------------------===//
// A row
//===----------------------------------------------------------------------===//

static int64_t getBlock(int64_t valueDim, int64_t lanes, int64_t vectors) {
  return lanes * std::min(vectors, llvm::divideCeilSigned(valueDim, lanes));
}

BlockedColumns::BlockedColumns(const AttentionInputs &in, int64_t lanes, int64_t vectors,
                               int64_t rowsOfGroup, bool isOnline)
    : ContextColumns(in.valueDim, getBlock(in.valueDim, lanes, vectors),
                     llvm::divideCeilSigned(in.valueDim, getBlock(in.valueDim, lanes, vectors))),
      rowsOfGroup(rowsOfGroup), stateColumns(isOnline ? llvm::alignTo(rowsOfGroup, lanes) : 0),
      fieldsOfRow(isOnline ? width() / stateColumns : 0),
      stateRows(isOnline ? llvm::divideCeil(isSinkLast(in) ? kSink + 1 : kSink, fieldsOfRow) : 0) {}

Scalar BlockedColumns::contextRow(Scalar ii) const {
  return stateRows == 0 ? ii : ii / rowsOfGroup * height() + stateRows + ii % rowsOfGroup;
}

Scalar BlockedColumns::stateAt(Func acc, int64_t field, Scalar group, Scalar lane,
                               const BlockCoords &t) const {
  Scalar column = lane + field % fieldsOfRow * stateColumns;
  return acc(column, lane.constant(0), group * height() + field / fieldsOfRow, t.it, t.h, t.b);
}

Scalar OneKvBlockState::sum(Scalar ii, const BlockCoords &t) const {
  return softmax.sum(ii, p.i32(0), t.it, t.h, t.b);
}

Scalar OneKvBlockState::maximum(Scalar, Scalar ii, const BlockCoords &t) const {
  return softmax.maximum(ii, p.i32(0), t.it, t.h, t.b);
}

Scalar OnlineState::sum(Scalar ii, const BlockCoords &t) const {
  return columns.stateAt(acc, BlockedColumns::kSum, ii / columns.rowsOfGroup,
                         ii % columns.rowsOfGroup, t);
}

Scalar OnlineState::maximum(Scalar, Scalar ii, const BlockCoords &t) const {
  return columns.stateAt(acc, BlockedColumns::kMaximum, ii / columns.rowsOfGroup,
                         ii % columns.rowsOfGroup, t);
}

Scalar attn::getSumWithSink(const AttentionBlocks &blocks, const RowState &row, Scalar ii,
                            const BlockCoords &t) {
  Scalar sum = row.sum(ii, t);
  if (!isSinkLast(blocks.in))
    return sum;
  Scalar sink = readSink(blocks.in, blocks.row(ii, t), blocks.head(ii, t), blocks.batch(t));
  return blend(isUsualSink(blocks.in, sink), sum, getNaN(blocks.p));
}

/// The first of several KV splits adds the sink; but a NaN or infinite sink makes the sums of all
/// splits NaN.
Scalar attn::startRow(const AttentionBlocks &blocks, const StateField &field, Scalar ii,
                      const BlockCoords &t) {
  const AttentionInputs &in = blocks.in;
  PipelineBuilder &p = blocks.p;
  Scalar nothing = select(field.isMaximum, in.f32(-kMaxFloat), in.f32(0));
  if (!in.op.getSink())
    return nothing;
  Scalar score = readSink(in, blocks.row(ii, t), blocks.head(ii, t), blocks.batch(t));
  Scalar isUsual = isUsualSink(in, score), noNumber = getNaN(p);
  if (isSinkLast(in))
    return blend(isUsual, nothing, blend(field.isSink, noNumber, nothing));
  Scalar start = blend(field.isMaximum, score, pick(field.isSum, in.f32(1)));
  if (blocks.splits.isSplit())
    start = blend(t.it % blocks.splits.count == p.i32(0), start, nothing);
  return blend(isUsual, start, blend(field.isSum, noNumber, nothing));
}

Func attn::buildRowAccumulator(const AttentionBlocks &blocks, const BlockedColumns &columns,
                               const Numerators &numerators, Func product,
                               const KvBlockSoftmax &softmax, Func kvBlocks) {
  using State = BlockedColumns;
  PipelineBuilder &p = blocks.p;
  StringRef vars[] = {"x", "y", "ii", "it", "h", "b"};
  int64_t columnsOfState = columns.fieldsOfRow * columns.stateColumns;
  auto start = [&](ArrayRef<Scalar> v) {
    Scalar x = v[0], row = v[2] % columns.height(), lane = x % columns.stateColumns;
    Scalar firstRow = v[2] / columns.height() * columns.rowsOfGroup;
    Scalar isState = row < p.i32(columns.stateRows) && x < columnsOfState && v[1] == p.i32(0);
    auto is = [&](int64_t field) { return isState && columns.fieldAt(x, row) == field; };
    StateField field = {is(State::kSum), is(State::kMaximum), is(State::kSink)};
    return startRow(blocks, field, firstRow + min(lane, columns.rowsOfGroup - 1), BlockCoords(v));
  };
  Func acc = p.func("acc", vars, p.b().getF32Type(), start);
  auto update = [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
    BlockCoords t(v);
    Scalar x = r[0], row = r[1], group = r[2], y = r[3], c = r[4],
           firstRow = group * columns.rowsOfGroup, accRow = group * columns.height() + row;
    auto state = [&](int64_t field, Scalar lane) {
      return columns.stateAt(acc, field, group, lane, t);
    };
    Scalar lane = x % columns.stateColumns, field = columns.fieldAt(x, row);
    // Lanes behind the group's rows read maxima and sums of later rows, or padding; `pick` drops
    // them.
    Scalar ii = unsafePromiseClamped(firstRow + lane, p.i32(0), p.i32(blocks.rows - 1));
    Numerators::Rescaling step =
        numerators.rescale(state(State::kMaximum, lane), softmax.maximum(ii, c, t.it, t.h, t.b));
    Scalar sum = state(State::kSum, lane) * state(State::kOldFactor, lane) +
                 softmax.sum(ii, c, t.it, t.h, t.b) * state(State::kNewFactor, lane);
    Scalar ofState = blend(field == State::kOldFactor, step.ofOld,
                           blend(field == State::kNewFactor, step.ofNew,
                                 blend(field == State::kSum, sum, step.maximum)));
    Scalar own = max(row - columns.stateRows, p.i32(0));
    Scalar ofRow = acc(x, y, accRow, t.it, t.h, t.b) * state(State::kOldFactor, own) +
                   product(min(x, columns.block - 1), y, firstRow + own, c, t.it, t.h, t.b) *
                       state(State::kNewFactor, own);
    Scalar isContext = row >= p.i32(columns.stateRows);
    // Not by `field`: its quotient would hide from Halide that all lanes agree.
    Scalar isUpdated =
        x < columnsOfState && row * columnsOfState + x < State::kSink * columns.stateColumns;
    Scalar isStored = (isContext && x < columns.block) || (isUpdated && y == p.i32(0));
    return {
        storeWhere(blend(isContext, ofRow, pick(lane < columns.rowsOfGroup, ofState)), isStored),
        {x, y, accRow, t.it, t.h, t.b},
        c < kvBlocks(t.it, t.h, t.b)};
  };
  p.update(acc, ArrayRef(vars).drop_front(3),
           {{"rx", p.i32(columns.width())},
            {"ri", p.i32(columns.height())},
            {"rg", p.i32(blocks.rows / columns.rowsOfGroup)},
            {"ry", p.i32(columns.numBlocks)},
            {"rc", blocks.maxKvBlocks()}},
           update);
  return acc;
}
