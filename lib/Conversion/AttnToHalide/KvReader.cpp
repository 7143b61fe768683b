//===- KvReader.cpp - keys and values by KV block -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KvReader.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <numeric>

using namespace mlir;
using namespace mlir::attn;

Scalar KvReader::number(Scalar k, Scalar c, const BlockCoords &t) const {
  if (range.hasStarts())
    return range.starts(c, t.it, t.h, t.b) + k;
  Scalar first = range.lowAt(t) + c * blocks.kvBlock;
  if (range.hasGap())
    first = first + select(c >= range.gapBlock(t.it, t.h, t.b), range.gapKeys(t.it, t.h, t.b),
                           blocks.p.i32(0));
  return first + k;
}

Scalar KvReader::clampToVisible(Scalar n, const BlockCoords &t) const {
  // Halide may compute the scores of KV blocks without a visible key.
  Scalar last = max(range.highAt(t) - 1, 0);
  return unsafePromiseClamped(min(n, last), blocks.p.i32(0), blocks.in.numKeys - 1);
}

Scalar KvReader::visibleNumber(Scalar k, Scalar c, const BlockCoords &t) const {
  return clampToVisible(number(k, c, t), t);
}

Scalar KvReader::isVisible(Scalar k, Scalar c, const BlockCoords &t) const {
  if (range.hasGap() || range.hasStarts())
    return number(k, c, t) < range.endOf(c, t);
  return c * blocks.kvBlock + k < range.count(t);
}

Scalar KvReader::countVisible(Scalar k, Scalar c, const BlockCoords &t) const {
  if (range.hasGap() || range.hasStarts())
    return range.endOf(c, t) - number(k, c, t);
  return range.count(t) - (c * blocks.kvBlock + k);
}

void KvReader::lookUpPages(bool areRuns, bool ofAllHeads) {
  const KvTensors &kv = blocks.in.kv;
  if (!kv.arePaged())
    return;
  if (areRuns)
    keysOfPageRun = kv.countKeysOfRun(blocks.kvBlock);
  sharesPages = ofAllHeads && !kv.haveHeadsOwnPages();
  StringRef vars[] = {"k", "c", "it", "h", "b"};
  auto placeOf = [&](ArrayRef<Scalar> v) {
    BlockCoords t(v);
    Scalar first = clampToVisible(numberAhead(v[0] * keysOfPageRun, v[1], t), t);
    if (keysOfPageRun != 1) // behind the last visible key, of the run that holds it
      first = first / keysOfPageRun * keysOfPageRun;
    return kv.placeOf(first, kvHead(t.h), blocks.batch(t));
  };
  // As bits: Halide would clamp each read of an index to the bounds that it finds for it.
  Type held = blocks.p.b().getF32Type();
  rowInPage = blocks.p.func("row_in_page", vars, held,
                            [&](ArrayRef<Scalar> v) { return fromBits(placeOf(v).row, held); });
  page = blocks.p.func("page", vars, held,
                       [&](ArrayRef<Scalar> v) { return fromBits(placeOf(v).page, held); });
}

void KvReader::lookUpScales() {
  StringRef vars[] = {"n", "k", "c", "it", "h", "b"};
  auto lookUp = [&](StringRef name, const KvTensors::Scales &of) {
    auto read = [&](ArrayRef<Scalar> v) {
      BlockCoords t(v);
      Scalar key = clampToVisible(likely(number(v[1], v[2], t)), t);
      KvTensors::Place place = placeOf(key, v[1], v[2], t);
      return blocks.in.kv.scale(of, v[0], place, kvHead(t.h), blocks.batch(t));
    };
    return of.count ? blocks.p.func(name, vars, blocks.p.b().getF32Type(), read) : Func();
  };
  keyScales = lookUp("key_scales_wide", blocks.in.kv.getKeyScales());
  valueScales = lookUp("value_scales_wide", blocks.in.kv.getValueScales());
}

Scalar KvReader::scaled(Scalar x, const KvTensors::Scales &scales, Func known, Scalar d,
                        KvTensors::Place place, Scalar k, Scalar c, const BlockCoords &t) const {
  if (!scales.count)
    return x;
  Scalar n = scales.blockOf(d);
  return x * (Value(known) ? known(n, k, c, t.it, t.h, t.b)
                           : blocks.in.kv.scale(scales, n, place, kvHead(t.h), blocks.batch(t)));
}

void KvReader::fetchAhead(int64_t keys, int64_t times, int64_t intoLocality, int64_t kvBlocks) {
  ahead = keys;
  fetches = times;
  locality = intoLocality;
  blocksAhead = kvBlocks;
}

int64_t KvReader::countKeysOfRun() const {
  return blocksAhead ? std::gcd(countHeadsOfTask(), blocks.kvBlock) : 1;
}

int64_t KvReader::countKeysAhead() const { return std::max(ahead, blocksAhead * blocks.kvBlock); }

void KvReader::distributeFetches(int64_t keys, int64_t dims) {
  constexpr int64_t kHalfLine = 8;
  const AttentionInputs &in = blocks.in;
  Value key = in.op.getKey(), value = in.op.getValue();
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  bool areInKeys = (slice ? slice.getSource() : value) == key;
  if (std::gcd(in.headDim, keys * dims) < kHalfLine || (in.headDim != in.valueDim && !areInKeys))
    return;
  tileKeys = keys;
  unrolledDims = dims;
  fetchesValues = !areInKeys;
}

/// The unrolled reads of an iteration prefetch as many elements of the group, in the order of
/// memory. Those of a run lie in one row: their addresses differ by constants, so that one prefetch
/// is left of each line.
KvReader::Fetch KvReader::getFetch(Scalar d, Scalar k) const {
  if (!tileKeys)
    return {d, k};
  int64_t headDim = blocks.in.headDim, number = tileKeys * unrolledDims,
          run = std::gcd(headDim, number);
  Scalar inIteration = k % tileKeys * unrolledDims + d % unrolledDims,
         firstOfRun = d / unrolledDims * number + inIteration / run * run,
         dim = firstOfRun % headDim + inIteration % run;
  return {unsafePromiseClamped(dim, blocks.p.i32(0), blocks.p.i32(headDim - 1)),
          k / tileKeys * tileKeys + firstOfRun / headDim};
}

KvReader KvReader::withoutLookUps() const { return {blocks, range, kvHead, start}; }

KvReader KvReader::withoutFetches() const {
  KvReader reader = *this;
  reader.ahead = reader.blocksAhead = 0;
  return reader;
}

KvTensors::Place KvReader::placeOf(Scalar number, Scalar k, Scalar c, const BlockCoords &t) const {
  if (blocks.in.kv.arePacked())
    return blocks.in.kv.placeFrom(start(t.it, t.h, t.b), number);
  if (!Value(page))
    return blocks.in.kv.placeOf(number, kvHead(t.h), blocks.batch(t));
  Scalar h = sharesPages ? blocks.p.i32(0) : t.h, run = k, row = blocks.p.i32(0);
  if (keysOfPageRun != 1) {
    run = k / keysOfPageRun;
    row = k % keysOfPageRun;
  }
  return blocks.in.kv.withBounds(
      {bits(rowInPage(run, c, t.it, h, t.b)) + row, bits(page(run, c, t.it, h, t.b))});
}

/// Of interleaved heads, the last one to read a KV block.
Scalar KvReader::isLastOfTask(const BlockCoords &t) const {
  int64_t heads = blocks.interleavedHeads;
  return t.h % heads == blocks.p.i32(heads - 1);
}

/// Behind the last KV block of a head, keys of the next head are read.
Scalar KvReader::isHeadDone(Scalar c, const BlockCoords &t) const {
  return number(blocks.p.i32(blocks.kvBlock), c, t) >= range.highAt(t);
}

Scalar KvReader::numberAhead(Scalar k, Scalar c, const BlockCoords &t) const {
  Scalar n = number(k, c, t), isBehind = k >= blocks.p.i32(blocks.kvBlock);
  if (blocks.interleavedHeads != 1 || range.hasStarts() || range.hasGap())
    return n;
  Scalar first = range.lowAt(t) + (k - blocks.kvBlock);
  return select(isHeadDone(c, t) && isBehind, first, n);
}

Scalar KvReader::keyAhead(Scalar k, int64_t keys, const BlockCoords &t) const {
  if (blocks.interleavedHeads == 1)
    return k + keys;
  // By runs, so that the page of one is looked up once.
  PipelineBuilder &p = blocks.p;
  int64_t unit = std::gcd(keysOfPageRun, keys), ofBlock = blocks.kvBlock / unit;
  Scalar run = k / unit + keys / unit, isOfNext = run >= p.i32(ofBlock) && !isLastOfTask(t);
  run = unsafePromiseClamped(run - select(isOfNext, p.i32(ofBlock), p.i32(0)), p.i32(0),
                             p.i32((blocks.kvBlock + countKeysAhead()) / unit - 1));
  return run * unit + k % unit;
}

int64_t KvReader::countHeadsOfTask() const {
  int64_t group = blocks.in.op.getGroupSize().value_or(1);
  return llvm::divideCeil(blocks.interleavedHeads * blocks.packedHeads, group);
}

Scalar KvReader::promiseHead(Scalar head) const {
  return unsafePromiseClamped(head, blocks.p.i32(0), blocks.in.kv.getNumHeads() - 1);
}

Scalar KvReader::headAhead(Scalar k, Scalar c, const BlockCoords &t, int64_t keys) const {
  PipelineBuilder &p = blocks.p;
  Scalar head = kvHead(t.h);
  if (blocks.interleavedHeads != 1) {
    Scalar step = select(isLastOfTask(t), p.i32(1 - countHeadsOfTask()), p.i32(1));
    return promiseHead(head + select(k + keys >= p.i32(blocks.kvBlock), step, p.i32(0)));
  }
  if (keys < blocks.kvBlock)
    return head;
  Scalar step = select(isHeadDone(c, t), p.i32(1), p.i32(0));
  return promiseHead(min(head + step, blocks.in.kv.getNumHeads() - 1));
}

/// A prefetch of what is behind the last row does no harm, and its address takes no comparison.
KvTensors::Place KvReader::placeAhead(Scalar k, Scalar c, const BlockCoords &t) const {
  if (Value(page))
    return placeOf(Scalar(), k, c, t);
  Scalar last = blocks.in.numKeys - 1;
  return placeOf(unsafePromiseClamped(numberAhead(k, c, t), blocks.p.i32(0), last), k, c, t);
}

KvReader::Row KvReader::rowAhead(Scalar k, Scalar c, const BlockCoords &t, int64_t keys) const {
  return {placeAhead(keyAhead(k, keys, t), c, t), headAhead(k, c, t, keys)};
}

KvReader::Row KvReader::rowBlocksAhead(Scalar k, Scalar c, const BlockCoords &t) const {
  int64_t heads = countHeadsOfTask();
  Scalar ofTask = kvHead(t.h) % heads, row = ofTask * blocks.kvBlock + k;
  return {placeAhead(row / heads + blocksAhead * blocks.kvBlock, c, t),
          promiseHead(kvHead(t.h) - ofTask + row % heads)};
}

void KvReader::visitRowsAhead(
    Scalar k, Scalar c, const BlockCoords &t, int64_t times,
    function_ref<void(const Row &row, int64_t intoLocality)> visit) const {
  int64_t distance = ahead;
  for (int64_t i = 0; distance && i < times; ++i, distance /= 2)
    visit(rowAhead(k, c, t, distance), locality);
  if (blocksAhead)
    visit(rowBlocksAhead(k, c, t), kL2);
}

Scalar KvReader::fetchKeyAhead(Scalar x, Scalar d, Scalar k, Scalar c, const BlockCoords &t) const {
  Scalar b = blocks.batch(t);
  Fetch fetch = getFetch(d, k);
  visitRowsAhead(fetch.k, c, t, fetches, [&](const Row &row, int64_t intoLocality) {
    const KvTensors &kv = blocks.in.kv;
    x = attn::fetchAhead(x, kv.keyElement(fetch.d, row.place, row.head, b), intoLocality);
    if (fetchesValues)
      x = attn::fetchAhead(x, kv.valueElement(fetch.d, row.place, row.head, b), intoLocality);
  });
  return x;
}

Scalar KvReader::fetchValueAhead(Scalar x, Scalar d, Scalar k, Scalar c,
                                 const BlockCoords &t) const {
  if (tileKeys)
    return x;
  visitRowsAhead(k, c, t, /*times=*/1, [&](const Row &row, int64_t intoLocality) {
    Scalar later = blocks.in.kv.valueElement(d, row.place, row.head, blocks.batch(t));
    x = attn::fetchAhead(x, later, intoLocality);
  });
  return x;
}

Scalar KvReader::keyElement(Scalar d, KvTensors::Place place, Scalar k, Scalar c,
                            const BlockCoords &t) const {
  return fetchKeyAhead(blocks.in.kv.key(d, place, kvHead(t.h), blocks.batch(t)), d, k, c, t);
}

Scalar KvReader::key(Scalar d, Scalar k, Scalar c, const BlockCoords &t) const {
  KvTensors::Place place = placeOf(visibleNumber(k, c, t), k, c, t);
  return scaled(keyElement(d, place, k, c, t), blocks.in.kv.getKeyScales(), keyScales, d, place, k,
                c, t);
}

Scalar KvReader::unscaledKey(Scalar d, Scalar k, Scalar c, const BlockCoords &t) const {
  return hasKeyScale() ? keyElement(d, placeOf(visibleNumber(k, c, t), k, c, t), k, c, t)
                       : key(d, k, c, t);
}

/// The elements of a key with an infinite scale are NaN or infinities of both signs.
Scalar KvReader::scaledDot(Scalar dot, Scalar k, Scalar c, const BlockCoords &t) const {
  if (!hasKeyScale())
    return dot;
  PipelineBuilder &p = blocks.p;
  KvTensors::Place place = placeOf(visibleNumber(k, c, t), k, c, t);
  Scalar scale =
      scaled(blocks.in.f32(1), blocks.in.kv.getKeyScales(), keyScales, p.i32(0), place, k, c, t);
  Scalar isFinite = magnitude(scale) < p.i32(kInfBits);
  return blend(isFinite, dot * scale, fromBits(p.i32(kNaNBits), p.b().getF32Type()));
}

Scalar KvReader::value(Scalar d, Scalar k, Scalar c, const BlockCoords &t) const {
  const KvTensors &kv = blocks.in.kv;
  KvTensors::Place place = placeOf(visibleNumber(k, c, t), k, c, t);
  Scalar x = fetchValueAhead(kv.value(d, place, kvHead(t.h), blocks.batch(t)), d, k, c, t);
  return scaled(x, kv.getValueScales(), valueScales, d, place, k, c, t);
}

Scalar KvReader::keyElement(Scalar d, Scalar k, Scalar c, const BlockCoords &t) const {
  Scalar promised = unsafePromiseClamped(number(k, c, t), blocks.p.i32(0), blocks.in.numKeys - 1);
  return blocks.in.kv.keyElement(d, placeOf(promised, k, c, t), kvHead(t.h), blocks.batch(t));
}

Scalar KvReader::keyPair(Scalar pair, Scalar k, Scalar c, const BlockCoords &t) const {
  Scalar x = blocks.in.kv.keyPair(pair, placeOf(visibleNumber(k, c, t), k, c, t), kvHead(t.h),
                                  blocks.batch(t));
  return fetchKeyAhead(x, pair * 2, k, c, t);
}

Scalar KvReader::valuePair(Scalar d, Scalar pair, Scalar c, const BlockCoords &t) const {
  Scalar low = pair * 2, high = pair * 2 + 1;
  auto place = [&](Scalar k) { return placeOf(visibleNumber(k, c, t), k, c, t); };
  Scalar x = blocks.in.kv.valuePair(d, place(low), place(high), kvHead(t.h), blocks.batch(t));
  return fetchValueAhead(fetchValueAhead(x, d, low, c, t), d, high, c, t);
}

Scalar KvReader::valueOfVisible(Scalar d, Scalar k, Scalar c, const BlockCoords &t) const {
  Scalar promised = unsafePromiseClamped(number(k, c, t), blocks.p.i32(0), blocks.in.numKeys - 1);
  const KvTensors &kv = blocks.in.kv;
  KvTensors::Place place = placeOf(promised, k, c, t);
  Scalar x = kv.value(d, place, kvHead(t.h), blocks.batch(t));
  x = fetchValueAhead(x, d, k, c, t);
  return Value(valueScales) ? x : scaled(x, kv.getValueScales(), valueScales, d, place, k, c, t);
}

/// Query heads per key/value head.
static Scalar getGroupSize(const AttentionInputs &in) {
  if (std::optional<int64_t> known = in.op.getGroupSize())
    return in.p.i32(*known);
  return in.p.extent(in.query, 2) / in.kv.getNumHeads();
}

Func attn::buildKvHead(const AttentionBlocks &blocks) {
  PipelineBuilder &p = blocks.p;
  return p.func("kv_head", {"h"}, p.b().getI32Type(), [&](ArrayRef<Scalar> v) {
    Scalar first = v[0] * blocks.packedHeads;
    return unsafePromiseClamped(first / getGroupSize(blocks.in), p.i32(0),
                                blocks.in.kv.getNumHeads() - 1);
  });
}

Func attn::buildKvStart(const AttentionBlocks &blocks) {
  if (!blocks.in.kv.arePacked())
    return {};
  return blocks.p.func("kv_start", kQBlockVars, blocks.p.b().getI32Type(), [&](ArrayRef<Scalar> v) {
    return blocks.in.kv.startOf(blocks.batch(BlockCoords(v)));
  });
}
