//===- FragmentAttention.h - attention in fragments of lanes ----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTONVVM_FRAGMENTATTENTION_H
#define ATTNC_CONVERSION_ATTNTONVVM_FRAGMENTATTENTION_H

#include "KeyBounds.h"
#include "PackedSequences.h"
#include "SharedTile.h"

#include "attnc/Dialect/Attn/TensorCores.h"

namespace mlir::attn::nvvm {

constexpr double kLog2E = 1.4426950408889634;

/// The state of a lane's rows: the maximum of their scores in units of log 2, which is the least
/// finite number before the first one, this lane's part of the sum of their numerators, and of
/// their context tiles. After the last key: the whole sum, and the sum with the sink; the maximum
/// of a row that saw no key is -inf.
struct RowState {
  Regs maximum, sum, context;
  Regs total = {};

  Regs pack() const;
  static RowState unpack(ArrayRef<Reg> regs, int64_t rows);
};

/// The largest scores of a KV block that a lane has of its rows, and whether any of the warp's is
/// so large that maxima move.
struct Shift {
  Regs largest;
  Reg isAny;
};

/// Where a thread block and a lane are.
struct Place {
  Reg warp, lane, split, batch, firstHead, kvHead, firstRow;
  /// Of the batch.
  Reg qLen;
  /// Of packed rows: the first of the batch's sequence, and whether the block has rows that the
  /// kernel computes.
  Reg start, isServed;
  /// Of the lane's rows, and the last row of the batch instead of those beyond.
  Regs head, row, safeRow;
  /// Whether they are rows of the batch.
  Regs isRow;
  /// Of the lane's first column of a tile.
  Reg column;
};

/// The contexts and statistics of KV splits, f32, for as many rows as calls of the kernel have at
/// most; empty if keys are not split. Those of packed rows of a limited number have a batch for
/// each offset.
SmallVector<RankedTensorType> getPartialTypes(AttentionOp op, MmaAttr schedule);
/// The kernel that merges them.
BuiltKernel buildMerge(OpBuilder &builder, StringRef name, AttentionOp op, MmaAttr schedule,
                       ArrayRef<Value> partials);

/// 0 in place of the maximum of a row that saw no key, whose scores are all -inf.
Reg offsetOf(KernelBuilder &k, Reg maximum);
/// The numerator of the sink of a row whose scores have this maximum.
Reg readSink(KernelBuilder &k, AttentionOp op, ArrayRef<Reg> row, Reg maximum);
/// The lse; `sum` is NaN where a score is NaN or inf, and `isOfNaN` tells which.
Reg buildLse(KernelBuilder &k, Reg maximum, Reg sum, Reg isOfNaN);

/// What kernels share that hold scores, numerators and context as fragments: tiles of 16 x 8 sums
/// of a warp (Instructions.h), those of a warp's first 16 rows first.
class FragmentAttention {
protected:
  FragmentAttention(OpBuilder &builder, StringRef name, AttentionOp op, TensorCoreTiles sizes,
                    TileLayout layout, SmallVector<RankedTensorType> partialTypes);

  virtual ~FragmentAttention() = default;
  void findBlock();
  /// Finds where the block is, and runs `body` if it has rows to compute.
  void whenServed(function_ref<void()> body);
  /// All that a loop over keys needs.
  void findKeys();
  /// Waits until all threads that compute rows are here.
  virtual void synchronize() { barrier(k); }
  /// Ends the kernel: context, lse, and the fallback where something is not finite.
  void finishRows(RowState state);
  SmallVector<cuda::KernelOp::Blocks> countBlocks();
  Place findPlace();
  Reg countTiles();
  void findPackedRows(Place &p, Reg tile);
  bool hasTileOfEach() const;
  /// The batch of the query's tensor, and of the keys'.
  Reg getQueryBatch() { return sequences ? k.i32(0) : at.batch; }
  Reg getKeyBatch() { return packedKeys ? k.i32(0) : at.batch; }
  /// Where one of the lane's rows is in context and lse, or in the results of splits.
  Regs placeOf(int64_t r);
  Matrix getRows(const Buffer &buffer);
  /// Of the query, which `firstHead` begins.
  Matrix getQueryRows();
  KeyRange getKeysOfSplit(KeyRange all);
  void copyQuery();
  /// Left operands of each 16 rows of the warp.
  SmallVector<Regs> loadQuery(int64_t depth);
  /// Tiles of 16 rows of a warp, of each of which a lane has two rows.
  int64_t countRowTiles() const { return sizes.warpRows / kTileRows; }
  int64_t countRows() const { return 2 * countRowTiles(); }
  /// The lane's row of the element `index` of `count`, one of the first `count` / countRowTiles()
  /// elements for each tile of rows.
  int64_t rowOf(int64_t index, int64_t count) const {
    return index / (count / countRowTiles()) * 2 + index % 4 / 2;
  }

  // Scores.cpp
  /// Products of the query block with the keys of the tile, of 16 x 8 each.
  Regs multiplyKeys();
  /// Scores times 1 / `unit` of products, -inf where hidden; the tile's first key is `first`.
  Regs buildScores(Regs products, Reg first);
  Reg modify(Reg dot, Reg key, int64_t r);
  Regs hide(ArrayRef<Reg> scores, Reg first);
  /// Runs the prob region on numerators.
  void modifyNumerators(Regs &numerators, Reg first);
  Reg modifyProb(Reg prob, Reg first, int64_t index);
  Reg keyOf(Reg first, int64_t element) const;

  // Softmax.cpp
  /// From the first element of a row of the lane on: two elements of it, two of others.
  ArrayRef<Reg> elementsOf(ArrayRef<Reg> elements, int64_t row) const;
  RowState startRows();
  /// Replaces scores by numerators.
  RowState addNumerators(RowState state, Regs &scores);
  /// The steps of it.
  Shift findLargest(const RowState &state, ArrayRef<Reg> scores);
  Regs moveMaxima(ArrayRef<Reg> maxima, const Shift &shift);
  /// Where maxima of the warp moved: sums and context of `state` in units of its maxima, which were
  /// `before`.
  RowState rescaleFrom(ArrayRef<Reg> before, RowState state);
  RowState rescale(RowState state, ArrayRef<Reg> factors);
  void addContext(RowState &state, ArrayRef<Reg> numerators);
  /// The left operands of 16 keys from two tiles of numerators of each tile of rows.
  SmallVector<Regs> packNumerators(ArrayRef<Reg> numerators, int64_t depth);
  /// Adds to `sums` the products of a left operand for each tile of rows with a right one of 16
  /// columns, whose tile is number `tile` of those of a tile of rows.
  void addProducts(Regs &sums, ArrayRef<Regs> left, ArrayRef<Reg> right, int64_t tile);
  void reduceSums(RowState &state);
  /// Makes scores numerators, and adds each row's to its sum.
  void exponentiate(Regs &scores, Regs &sums, ArrayRef<Reg> offset);

  // Output.cpp
  void addOutputs();
  void storeContext(const RowState &state);
  void storeElements(ArrayRef<Reg> elements, Reg firstColumn);
  void storeStatistics(const RowState &state, ArrayRef<Reg> isOfNaN);

  // NonFinite.cpp
  Reg isAnyNotFinite(const RowState &state);
  void recompute(const RowState &state);
  Regs addBlock(const RowState &state, Reg first, Reg chunk, ArrayRef<Reg> before);
  Regs weigh(const RowState &state, Reg first, Regs &scores, Regs &sums);
  SmallVector<Regs> packKept(ArrayRef<Reg> kept, int64_t depth, bool isNegative);
  void addParts(ArrayRef<Reg> numerators, ArrayRef<Reg> kept, int64_t depth, Reg chunk, Regs &sums);
  Reg joinParts(ArrayRef<Reg> sums, int64_t i, Reg total);
  void storeGroup(const RowState &state, ArrayRef<Reg> sums, Reg firstColumn);

  KernelBuilder k;
  AttentionOp op;
  Type element;
  TensorCoreTiles sizes;
  /// Of splits; empty without.
  SmallVector<RankedTensorType> partialTypes;
  /// Threads that compute rows.
  int64_t threads;
  Buffer query, key, value;
  Place at;
  Reg kvLen;
  /// Of packed queries, and of packed keys.
  std::optional<PackedSequences> sequences, packedKeys;
  ServedLengths served;
  /// The first of the sequence's packed keys.
  Reg firstKey;
  SharedTile queryTile, keyTile, valueTile;
  /// Of scores, in units of log 2.
  double unit;
  RegionInliner scoreMod, mask, probMod;
  KeyRange visible, full;
  std::optional<Matrix> keys, values;
  std::optional<Buffer> context, lse;
  /// Of a split: the maximum, NaN if a score is, and the sum.
  std::optional<Buffer> statistics;
  std::optional<PageTable> pages;
  /// Whether the kernel is only called with rows that can be copied 16 bytes at a time.
  bool hasAlignedRows = false;
  /// Left operands for each 16 elements of head_dim; none where they are loaded when used.
  SmallVector<SmallVector<Regs>> queries;
};

} // namespace mlir::attn::nvvm

#endif // ATTNC_CONVERSION_ATTNTONVVM_FRAGMENTATTENTION_H
