//===- Attention.cpp - the fused attention kernel -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FlashAttention-2's online softmax (Dao 2023, algorithm 1), for one tile of query rows
// at a time. Rows lie in the vector lanes for scores and softmax, value dims in the
// lanes for the context. One func, `acc`, holds in its columns the context (in blocks),
// the row sum l and the row maximum m, and is updated a chunk of keys at a time. Where one
// chunk is certain to hold all keys that a tile sees, nothing is rescaled, and it is the context.
//
// Names: ii row in the tile, k key in the chunk, c chunk, it row tile, h head, b batch,
// x column in a context block, y context block.
//
// AttentionBounds.cpp, AttentionScores.cpp and AttentionContext.cpp are the algorithm in the
// order of the computation; CpuAttention.cpp and GpuAttention.cpp are its schedules.
//
// With few rows (`#attn.decode`), lanes hold keys instead, dot products are sums over
// lanes of dims, and the query heads that share a head of key and value are rows of one
// tile: all that is read of memory is read once.
//
// What must stay as it is:
// - Nothing inside the chunk loops selects on a func's value: Halide would then run the
//   loop over all chunks, visible or not. Bit masks give the same instructions.
// - A weight is exactly 0 where the key is masked and NaN where the score is. Zero times
//   Inf or NaN is NaN: a tile whose context is not finite is computed once more with
//   masked keys left out (`exact…`); for all others that loop has no iterations.
//
//===----------------------------------------------------------------------===//

#include "AttentionLowering.h"

#include <numeric>

using namespace mlir;
using namespace mlir::attn;

static constexpr double kLog2e = 1.4426950408889634;

AttentionLowering::AttentionLowering(PipelineBuilder &p, AttentionOp op, Attribute schedule)
    : p(p), op(op), mask(op.getMask()), isShort(!op.getQuery().getType().getElementType().isF32()),
      scale(op.getScale().convertToDouble()),
      // A scale of zero makes NaN of an infinite product, which the weights alone would forget.
      isScaled(!op.getScoreMod().empty() || op.getSink() || scale == 0),
      log2Scale(isScaled ? kLog2e : std::max(std::abs(scale) * kLog2e, 1e-30)) {
  if (auto decode = dyn_cast<DecodeAttr>(schedule))
    readSchedule(decode);
  else if (auto gpu = dyn_cast<GpuAttr>(schedule))
    readSchedule(gpu);
  else
    readSchedule(cast<PrefillAttr>(schedule));
  headDim = op.getQuery().getType().getDimSize(3);
  valueDim = op.getValue().getType().getDimSize(3);
  contextVectors = std::min(contextVectors, llvm::divideCeilSigned(valueDim, lanes));
  block = lanes * contextVectors;
  numBlocks = onGpu ? threadsX : llvm::divideCeilSigned(valueDim, block);
  vectorDims = std::gcd(block, 4);
  if (auto mostKeys = getMostKeys(op, mask, rowTile); hasRowsInLanes() && mostKeys)
    isOneChunk = *mostKeys <= chunk && !op.getSink() && op.getProbMod().empty();

  // One kernel for all lengths, batches and heads: Halide proves the tile's bounds more
  // easily of sizes it does not know, and nothing is gained from those it does.
  query = p.input("query", op.getQuery(), /*knownDims=*/1);
  key_ = p.input("key", op.getKey(), /*knownDims=*/1);
  value = p.input("value", op.getValue(), /*knownDims=*/1);
  numRows = p.extent(query, 1);
  numKeys = p.extent(key_, 1);
  parts = onGpu ? p.i32(keySplits) : clamp(numKeys / leastPart, p.i32(1), p.i32(keySplits));
}

void AttentionLowering::readSchedule(PrefillAttr s) {
  rowTile = rowsOfHead = s.getRowTile();
  sharedHeads = 1;
  chunk = s.getKeyChunk();
  lanes = s.getVectorWidth();
  scoreRows = s.getScoreVectors();
  scoreKeys = s.getScoreKeys();
  numChains = PrefillAttr::kChains;
  contextRows = s.getContextRows();
  contextVectors = s.getContextVectors();
}

void AttentionLowering::readSchedule(DecodeAttr s) {
  byKeys = true;
  rowTile = s.getRowTile();
  sharedHeads = s.getSharedHeads();
  rowsOfHead = rowTile / sharedHeads;
  chunk = s.getKeyChunk();
  lanes = numChains = s.getVectorWidth();
  scoreRows = s.getScoreRows();
  scoreKeys = s.getScoreKeys();
  contextRows = s.getContextRows();
  contextVectors = s.getContextVectors();
  keySplits = s.getKeySplits();
  leastPart = s.getLeastPart();
}

/// Each thread has a row tile and a column tile of scores, and of the context. The columns
/// behind the context's are the sum and the maximum.
void AttentionLowering::readSchedule(GpuAttr s) {
  onGpu = true;
  rowTile = s.getRowTile();
  sharedHeads = s.getSharedHeads();
  rowsOfHead = rowTile / sharedHeads;
  chunk = s.getKeyChunk();
  keySplits = s.getKeySplits();
  threadsX = numChains = s.getThreadsX();
  threadsY = s.getThreadsY();
  lanes = 2;
  scoreRows = contextRows = rowTile / threadsY;
  scoreKeys = chunk / threadsX;
  contextVectors = s.getContextColumns() / lanes;
}

LogicalResult AttentionLowering::lower() {
  buildBounds();
  buildScores();
  buildWeights();
  buildContext();
  buildExactContext();
  buildOutput();
  if (failedRegion)
    return failure();
  schedule();
  return success();
}

/// Extents of 1 along the tile, and along the chunk where there is one, so that storage
/// and loops are of known size.
void AttentionLowering::fixTile(Func f, bool perChunk) {
  int64_t rank = f.getRank();
  for (int64_t dim = rank - (perChunk ? 4 : 3); dim < rank; ++dim)
    p.boundExtent(f, dim, 1);
}

/// What a region yields for `args`; `otherwise` where there is no region.
Scalar AttentionLowering::inlined(Region &region, ArrayRef<Scalar> args, Scalar otherwise,
                                  ArrayRef<std::pair<Value, Scalar>> known) {
  if (region.empty())
    return otherwise;
  FailureOr<Scalar> result = p.inlineRegion(region, args, known);
  failedRegion |= failed(result);
  return failed(result) ? otherwise : *result;
}

Scalar attn::pick(Scalar c, Scalar x) {
  Scalar b = bits(x);
  return fromBits(b & -convert(c, b.getType()), x.getType());
}

Scalar attn::blend(Scalar c, Scalar x, Scalar y) {
  Scalar b = bits(x), ones = -convert(c, b.getType());
  return fromBits((b & ones) | (bits(y) & (ones.constant(-1) - ones)), x.getType());
}
