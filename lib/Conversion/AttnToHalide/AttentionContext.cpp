//===- AttentionContext.cpp - weighted sums of values ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// prob·value of a KV block, and the context: the sum over all KV blocks divided by the sum of
// numerators.
//
//===----------------------------------------------------------------------===//

#include "AttentionContext.h"
#include "Rows.h"

using namespace mlir;
using namespace mlir::attn;

int64_t attn::countKeySums(const AttentionBlocks &blocks) {
  return countEqualBlocks(blocks.kvBlock, kLongestSum).value_or(1);
}

//===----------------------------------------------------------------------===//
// A KV block
//===----------------------------------------------------------------------===//

/// Only columns that are not whole are padded.
static Func buildValueCopy(const KvReader &reader, const ContextColumns &columns, ValueForm form) {
  const AttentionBlocks &blocks = reader.blocks;
  PipelineBuilder &p = blocks.p;
  StringRef vars[] = {"x", "k", "c", "it", "h", "b"};
  bool inPairs = form == ValueForm::inPairs || form == ValueForm::inTiles;
  Type type = inPairs ? Type(p.b().getI32Type()) : p.b().getF32Type();
  auto valueAt = [&](Scalar d, Scalar k, Scalar c, const BlockCoords &t) {
    return inPairs ? reader.valuePair(d, k, c, t) : reader.value(d, k, c, t);
  };
  if (columns.isWhole())
    return p.func("value_copy", vars, type,
                  [&](ArrayRef<Scalar> v) { return valueAt(v[0], v[1], v[2], BlockCoords(v)); });
  Func padded =
      p.func("padded_value", vars, type, [&](ArrayRef<Scalar>) { return p.constant(type, 0); });
  p.update(padded, ArrayRef(vars).drop_front(), {{"rv", p.i32(blocks.in.valueDim)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             SmallVector<Scalar> at(v);
             at.insert(at.begin(), r[0]);
             return {valueAt(r[0], v[0], v[1], BlockCoords(v)), at};
           });
  return padded;
}

/// A value of a few bits is then multiplied once for all its rows' sums, not scaled before.
static Func buildScaledNumerators(const KvReader &reader, Func numerators) {
  StringRef vars[] = {"n", "ii", "k", "c", "it", "h", "b"};
  PipelineBuilder &p = reader.blocks.p;
  return p.func("scaled_weight", vars, p.b().getF32Type(), [&](ArrayRef<Scalar> v) {
    return numerators(v.drop_front()) * reader.valueScales(without(v, 1));
  });
}

KvBlockContext attn::buildKvBlockContext(const KvReader &reader, const ContextColumns &columns,
                                         Func numerators, ValueForm form, const FullKeys &keys,
                                         int64_t rowsOfGroup, Body start) {
  const AttentionBlocks &blocks = reader.blocks;
  PipelineBuilder &p = blocks.p;
  Type f32Type = p.b().getF32Type();
  StringRef vars[] = {"x", "y", "ii", "c", "it", "h", "b"};
  bool inTiles = form == ValueForm::inTiles, arePairsInPlace = form == ValueForm::pairsInPlace,
       inPairs = form == ValueForm::inPairs || inTiles || arePairsInPlace;
  int64_t step = inPairs ? 2 : 1;
  KvBlockContext context;
  context.keysOfElement = step;
  if (form != ValueForm::inPlace && !arePairsInPlace)
    context.valueCopy = buildValueCopy(reader, columns, form);
  else if (Value(reader.valueScales))
    context.scaledNumerators = buildScaledNumerators(reader, numerators);
  /// `sum` at `at`, plus numerator times value of key k, or of the keys of pair k; `v` gives the
  /// column, KV block and query block.
  auto addKey = [&](Func sum, ArrayRef<Scalar> at, ArrayRef<Scalar> v, Scalar k) -> Update {
    BlockCoords t(v);
    Scalar x = v[0], y = v[1], ii = v[2], c = v[3], d = columns.dim(x, y);
    Scalar w = Value(context.scaledNumerators)
                   ? context.scaledNumerators(blocks.in.kv.getValueScales().blockOf(d), ii, k, c,
                                              t.it, t.h, t.b)
                   : numerators(ii, k, c, t.it, t.h, t.b);
    Scalar element = form == ValueForm::inPlace ? reader.valueOfVisible(d, k, c, t)
                     : arePairsInPlace          ? reader.valuePair(d, k, c, t)
                                                : context.valueCopy(d, k, c, t.it, t.h, t.b);
    Scalar low = inPairs ? k * 2 : k, high = inPairs ? k * 2 + 1 : k;
    Scalar isVisible = reader.isVisible(low, c, t);
    if (inTiles)
      return {dotBF16Tiles(blocks.in.f32(0), w, element, p.i32(blocks.rows) - ii,
                           reader.countVisible(low, c, t)),
              {},
              isVisible};
    Scalar next = inPairs ? dotBF16Pair(sum(at), w, element) : sum(at) + w * element;
    if (!Value(keys.groupHigh))
      return {next, {}, isVisible};
    // All keys of a group are visible, but bounds inference does not look into its funcs: without
    // `isVisible`, scores and numerators would be computed for the whole KV block.
    Scalar g = ii / rowsOfGroup, first = keys.groupLow(g, t.it, t.h, t.b),
           end = keys.groupHigh(g, t.it, t.h, t.b);
    // In the loop over a run of a page, the first key decides: one address serves all of it.
    if (int64_t run = reader.keysOfPageRun; run != 1)
      isVisible = reader.isVisible(low / run * run, c, t);
    return {next,
            {},
            isVisible && reader.number(high, c, t) >= first && reader.number(low, c, t) < end};
  };
  auto unknown = [&](ArrayRef<Scalar>) { return undef(p.b(), f32Type); };
  Func product = context.product =
      inTiles ? p.func("product", vars, f32Type, unknown) : p.func("product", vars, f32Type, start);
  int64_t sums =
              inTiles ? 1 : countEqualBlocks(blocks.kvBlock / step, kLongestSum / step).value_or(1),
          keysOfSum = blocks.kvBlock / step / sums;
  if (sums == 1) {
    p.update(product, vars, {{"rk", p.i32(keysOfSum)}},
             [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) { return addKey(product, v, v, r[0]); });
    return context;
  }
  StringRef partialVars[] = {"x", "y", "ii", "j", "c", "it", "h", "b"};
  Func partial = context.partialProduct = p.func(
      "product_partial", partialVars, f32Type, [&](ArrayRef<Scalar>) { return blocks.in.f32(0); });
  p.update(partial, partialVars, {{"rk", p.i32(keysOfSum)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) {
             return addKey(partial, v, without(v, 3), v[3] * keysOfSum + r[0]);
           });
  p.update(product, vars, {{"rj", p.i32(sums)}},
           [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
             return {product(v) + partial(along(v, 3, r[0])),
                     {},
                     reader.isVisible(r[0] * (keysOfSum * step), v[3], BlockCoords(v))};
           });
  return context;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// An element of the context.
static Scalar divide(PipelineBuilder &p, const Quotient &q, Type element) {
  return convert(pick(!(bits(q.inverse) == p.i32(0)), q.sum * q.inverse), element);
}

/// Each query block stores the rows that it has.
static Func
buildPackedContext(const AttentionBlocks &blocks,
                   function_ref<Quotient(Scalar d, Scalar ii, const BlockCoords &t)> quotientAt) {
  PipelineBuilder &p = blocks.p;
  Type element = blocks.in.op.getResult().getType().getElementType();
  Func context = p.func("context", {"d", "i", "h", "b"}, element,
                        [&](ArrayRef<Scalar>) { return undef(p.b(), element); });
  // In the order of the loops: Halide refuses to reorder reductions that may write one element
  // twice.
  int64_t interleaved = blocks.getStoredHeads();
  SmallVector<Reduction> domain = {
      {kPackedHead, p.i32(blocks.packedHeads)},
      {kPackedRow, p.i32(blocks.rowsOfHead)},
      {kPackedBlock, blocks.maxQBlocks()},
      {kPackedHeads, p.extent(blocks.in.query, 2) / (blocks.packedHeads * interleaved)}};
  if (interleaved != 1)
    domain.insert(domain.begin() + 2, {kInterleavedHead, p.i32(interleaved)});
  p.update(context, {"d"}, domain, [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
    Scalar block = r.drop_back().back(), h = r.back();
    if (interleaved != 1)
      h = h * interleaved + r[2];
    Scalar coords[] = {block, h, p.i32(0)}, ii = r[1] * blocks.packedHeads + r[0];
    BlockCoords t(coords);
    Scalar x = divide(p, quotientAt(v[0], ii, t), element);
    Scalar head = unsafePromiseClamped(h * blocks.packedHeads + r[0], p.i32(0),
                                       p.extent(blocks.in.query, 2) - 1);
    return {x,
            {v[0], blocks.storedRow(ii, t.it), head, p.i32(0)},
            r[1] < blocks.packed->countRows(t.it)};
  });
  return context;
}

Func attn::buildContext(
    const AttentionBlocks &blocks,
    function_ref<Quotient(Scalar d, Scalar ii, const BlockCoords &t)> quotientAt,
    const LseOutput *lse) {
  PipelineBuilder &p = blocks.p;
  auto type = blocks.in.op.getResult().getType();
  Type element = type.getElementType();
  if (blocks.packed) {
    Func context = buildPackedContext(blocks, quotientAt);
    p.output(context, type, /*knownDims=*/1);
    return context;
  }
  Func context = p.func("context", {"d", "i", "h", "b"}, element, [&](ArrayRef<Scalar> v) {
    Scalar it = v[1] / blocks.rowsOfHead, ii = v[1] % blocks.rowsOfHead, h = v[2], b = v[3];
    if (blocks.packedHeads != 1) {
      ii = ii * blocks.packedHeads + h % blocks.packedHeads;
      h = h / blocks.packedHeads;
    }
    Scalar coords[] = {it, h, b};
    Quotient q = quotientAt(v[0], ii, BlockCoords(coords));
    Scalar x = divide(p, q, element);
    return lse ? lse->storeBeside(x, {v[1], v[2], v[3]}, q.row, v[0] == p.i32(0)) : x;
  });
  p.output(context, type, /*knownDims=*/1);
  return context;
}
