//===- AttentionLowering.h - the fused attention kernel ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One algorithm (Attention.cpp says how its parts lie in files), which CpuAttention.cpp and
// GpuAttention.cpp schedule.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONLOWERING_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONLOWERING_H

#include "Lowerings.h"
#include "MaskBounds.h"

#include <limits>

namespace mlir::attn {

constexpr double kMaxFloat = std::numeric_limits<float>::max();
constexpr int64_t kInfBits = 0x7f800000, kMinusInfBits = int32_t(0xff800000), kNaNBits = 0x7fc00000;

/// c ? x : 0, as bits.
Scalar pick(Scalar c, Scalar x);
/// c ? x : y, as bits.
Scalar blend(Scalar c, Scalar x, Scalar y);

/// The last coordinates of every func: which tile.
struct TileCoords {
  explicit TileCoords(ArrayRef<Scalar> v)
      : it(v[v.size() - 3]), h(v[v.size() - 2]), b(v[v.size() - 1]) {}
  Scalar it, h, b;
};

/// Builds the algorithm; those that derive from it schedule it.
class AttentionLowering {
public:
  AttentionLowering(PipelineBuilder &p, AttentionOp op, Attribute schedule);
  virtual ~AttentionLowering() = default;
  LogicalResult lower();

protected:
  /// Schedules all funcs, from the outside in.
  virtual void schedule() = 0;

  void fixTile(Func f, bool perChunk);
  int64_t countSums() const;
  bool hasRowsInLanes() const { return !byKeys && !onGpu; }
  int64_t countParts() const;
  /// Whether blocks leave their accumulators to a second kernel.
  bool hasParts() const { return onGpu && (keySplits != 1 || sharedHeads != 1); }

  PipelineBuilder &p;
  AttentionOp op;
  MaskAnalysis mask;

  // What the schedule attribute and the shapes say.

  /// Whether keys lie in a CPU's lanes, as in a decode kernel, and not rows. A GPU has no lanes.
  bool byKeys = false;
  bool onGpu = false;
  /// Whether one chunk holds all keys that a tile of rows sees: nothing is rescaled then.
  bool isOneChunk = false;
  /// Of a GPU: a block's threads.
  int64_t threadsX = 1, threadsY = 1;
  /// The most parts that the keys of a row tile are in, and on a CPU the fewest keys of one.
  int64_t keySplits = 1, leastPart = 1;
  /// Rows of a tile: `rowsOfHead` of each of `sharedHeads` query heads. Keys of a chunk.
  int64_t rowTile, rowsOfHead, sharedHeads, chunk;
  /// Of a register tile of the context: rows, and vectors of value dims.
  int64_t lanes, contextRows, contextVectors;
  /// Of a register tile of scores: rows (with rows in the lanes, vectors of them) and keys.
  int64_t scoreRows, scoreKeys;
  /// Running maxima and sums are kept in this many independent chains.
  int64_t numChains;
  int64_t headDim, valueDim;
  /// The context's columns lie in so many blocks of `block` each.
  int64_t block, numBlocks;
  /// Value dims next to each other in a thread's columns.
  int64_t vectorDims = 1;

  // The funcs; null where a kernel does without.

  Func low, high, chunks, kvHead, queryT;
  /// Where the mask's comparisons do not bound the keys: the least and the largest key that
  /// some row of a tile sees, as -key and key + 1.
  Func searchLow, searchHigh, edgeOfLane, edge;
  /// The keys that every row of a tile sees; null where that is not known.
  Func firstFull, endFull;
  /// The keys that some row of a group of context rows sees; null where that is not known.
  Func groupLow, groupHigh;
  /// Tensors that regions read along the keys, and what they are read from instead.
  using Copies = SmallVector<std::pair<Value, Func>>;
  /// A chunk of what regions read along the keys, in each of the two passes.
  Copies staged, exactStaged;
  /// Funcs whose rows are turned into the lanes, and the squares that this takes, in order: each
  /// interleaves as many parts of the one before.
  struct Transposed {
    Func func;
    SmallVector<std::pair<Func, int64_t>> squares;
  };
  SmallVector<Transposed> transposed;
  Func wideKey, dot, dotPart, score, maxChains, maximum, weights, sumChains, sum, modified;
  /// Of a GPU: a chunk of values in shared memory, and of a tile what each thread sums up.
  Func valueTile, sumOfThread;
  /// What is left of each part of the keys, and on a CPU what the parts of a row become.
  Func partial, top, merged, mergedInverse;
  /// A long sum over a chunk's keys is one of parts.
  Func paddedValue, product, productPart, acc, inverse, context;
  Func worstOfLane, worst, exactChunks, exactDot, exactDotPart, exactScore, exactWeight, exactKept,
      exactModified, exactProduct, exactContext;

  /// What funcs are computed at.
  Loop tileLoop, chunkLoop;

private:
  void readSchedule(PrefillAttr s);
  void readSchedule(DecodeAttr s);
  void readSchedule(GpuAttr s);

  // Parts of the algorithm, in order: AttentionBounds.cpp
  const MaskCondition &getBounded() const;
  KeyBounds maskBounds(Scalar first, int64_t rows, const TileCoords &t, SeenBy seenBy);
  void buildBounds();
  void buildInnerBounds();
  void buildSearch();

  // AttentionScores.cpp
  bool isTransposed(int64_t extent) const;
  bool isWholeGroups();
  Func buildTransposed(StringRef name, ArrayRef<StringRef> vars, Type type, Body element);
  Copies buildStaged(StringRef name);
  void buildStaged(Region &region, StringRef name, Copies &copies);
  void buildScores();
  void hideEdges();
  void buildWideKey();
  /// The element d of a key.
  using KeyElement = function_ref<Scalar(Scalar k, Scalar c, const TileCoords &t, Scalar d)>;
  int64_t countTerms() const;
  std::pair<Func, Func> sumOverDims(StringRef name, KeyElement keyAt, int64_t few);
  void buildDot();
  using Combine = Scalar (*)(Scalar, Scalar);
  Func combineKeys(StringRef name, Func f, double init, Combine combine);
  Func combineChains(StringRef name, Func chains, Combine combine,
                     function_ref<Scalar(Scalar, ArrayRef<Scalar>)> finish = {});
  void buildWeights();

  // AttentionContext.cpp
  Update addKey(Func sum, ArrayRef<Scalar> at, ArrayRef<Scalar> v, Scalar k);
  void buildProduct();
  Scalar nextQuery(Scalar x, Scalar y, Scalar ii, const TileCoords &t);
  void buildValueTile();
  void buildPaddedValue();
  void buildContext();
  Scalar startOf(Scalar x, Scalar y, Scalar ii, const TileCoords &t);
  void buildOnlineContext(ArrayRef<StringRef> vars);
  void buildRowSum();
  Update updateColumns(ArrayRef<Scalar> v, ArrayRef<Scalar> r);
  void buildWorst();
  void buildExactWeights();
  void buildExactContext();
  void buildPartialOutput();
  void buildParts();
  void buildMerged();
  void buildOutput();

  // Parts of expressions.
  Scalar group();
  Scalar f32(double c) { return p.constant(p.b().getF32Type(), c); }
  Scalar wide(Scalar x) { return convert(x, p.b().getF32Type()); }
  Scalar row(Scalar ii, const TileCoords &t) {
    return min(tile(t) * rowsOfHead + (sharedHeads == 1 ? ii : ii / sharedHeads), numRows - 1);
  }
  /// The row tile, whose keys may be in parts. Halide does not know the sign of their number.
  Scalar tile(const TileCoords &t) {
    if (keySplits == 1)
      return t.it;
    return onGpu ? t.it / parts : unsafePromiseClamped(t.it / parts, p.i32(0), numRows - 1);
  }
  Scalar head(Scalar ii, const TileCoords &t) {
    return sharedHeads == 1 ? t.h : t.h * sharedHeads + ii % sharedHeads;
  }
  Scalar key(Scalar k, Scalar c, const TileCoords &t) {
    return low(t.it, t.h, t.b) + c * chunk + k;
  }
  /// The index of the key, clamped to those that are visible: to key 0 where none is, which only
  /// a kernel of one chunk looks at; chunks of others have some.
  Scalar safeKey(Scalar k, Scalar c, const TileCoords &t) {
    Scalar last = high(t.it, t.h, t.b) - 1;
    if (isOneChunk)
      last = max(last, 0);
    return unsafePromiseClamped(min(key(k, c, t), last), p.i32(0), numKeys - 1);
  }
  Scalar visibleKeys(const TileCoords &t) { return high(t.it, t.h, t.b) - low(t.it, t.h, t.b); }
  Scalar inlined(Region &region, ArrayRef<Scalar> args, Scalar otherwise,
                 ArrayRef<std::pair<Value, Scalar>> known = {});
  Scalar modifiedProb(Scalar weight, Scalar ii, Scalar k, Scalar c, const TileCoords &t);
  Scalar modifiedScore(Scalar dot, Scalar ii, Scalar k, Scalar c, const TileCoords &t,
                       const Copies &copies);
  Scalar visibleScore(Scalar score, Scalar ii, Scalar k, Scalar c, const TileCoords &t,
                      const Copies &copies);
  SmallVector<std::pair<Value, Scalar>> knownReads(Scalar ii, Scalar k, Scalar c,
                                                   const TileCoords &t, const Copies &copies);
  Scalar exponent(Scalar score, Scalar maximum);
  Scalar weight(Scalar score, Scalar maximum);
  Scalar reciprocal(Scalar total);
  /// The bits of |x|, which are in its order; those of infinity and NaN come last.
  Scalar magnitude(Scalar x);
  /// Whether a tile's context is computed once more.
  Scalar isExact(const TileCoords &t) { return exactChunks(t.it, t.h, t.b) > p.i32(0); }
  /// Whether x is not NaN.
  Scalar isNumber(Scalar x);
  bool isSumApart();
  /// The value dim of a column of a block, and the other way round. On a GPU a thread's columns
  /// are vectors of dims, of which threads next to each other have those next to each other.
  Scalar valueColumn(Scalar x, Scalar y) {
    return onGpu ? x / vectorDims * (vectorDims * numBlocks) + y * vectorDims + x % vectorDims
                 : y * block + x;
  }
  Scalar columnOf(Scalar d) {
    return onGpu ? d / (vectorDims * numBlocks) * vectorDims + d % vectorDims : d % block;
  }
  Scalar blockOf(Scalar d) { return onGpu ? d % (vectorDims * numBlocks) / vectorDims : d / block; }
  /// The value dim where it exists, else the last one: a thread's columns may be more than there
  /// are.
  Scalar safeDim(Scalar d) { return valueDim == numBlocks * block ? d : min(d, valueDim - 1); }
  /// A weighted sum of values, and 1 / the sum of weights; that is 0 where no key is seen.
  struct Quotient {
    Scalar sum, inverse;
  };
  Quotient mergeParts(Scalar d, Scalar ii, Scalar it, Scalar h, Scalar b);
  Quotient divideSum(Scalar d, Scalar ii, Scalar it, Scalar h, Scalar b);
  Scalar partWeight(Scalar maximum, Scalar sum, Scalar top);
  Scalar contextSum(Scalar d, Scalar x, Scalar y, Scalar ii, const TileCoords &t);
  Scalar rowTotal(int64_t column, Scalar k, Scalar ii, const TileCoords &t);
  Scalar keepQuery(Scalar x, Scalar ii, const TileCoords &t);
  int64_t sumColumn() const { return block; }
  int64_t maxColumn() const { return block + 1; }

  /// Whether elements are f16 or bf16. They are computed with in f32.
  bool isShort;
  double scale;
  /// Scores that a modification works on, or that a sink is beside, are scaled; plain ones are
  /// query·key until they become weights.
  bool isScaled;
  /// Turns differences of scores into powers of two.
  double log2Scale;
  /// Whether the first key that a tile looks at is always the first one that there is.
  bool startsAtFirst = false;
  Func query, key_, value;
  /// `parts` is how many of them the keys of each row tile are in.
  Scalar numRows, numKeys, parts;
  bool failedRegion = false;
};

/// The fused kernels, each with its own file.
LogicalResult lowerAttentionOnCpu(PipelineBuilder &p, AttentionOp op, Attribute schedule);
LogicalResult lowerAttentionOnGpu(PipelineBuilder &p, AttentionOp op, Attribute schedule);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_ATTENTIONLOWERING_H
