//===- CpuPrefill.h - choose schedules of prefill on a CPU -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_CPUPREFILL_H
#define ATTNC_LIB_DIALECT_ATTN_CPUPREFILL_H

#include "CpuFacts.h"

namespace mlir::attn {

/// Chooses `#attn.prefill`.
class CpuPrefill : CpuFacts {
public:
  CpuPrefill(AttentionOp op, const CpuInfo &cpu);

  Attribute select(int64_t qBlock, int64_t maxQLen = 0, int64_t packedHeads = 1);
  /// Of heads that share keys, as many as fill vectors are one query block.
  Attribute selectManyHeads(int64_t rowsOfHead, int64_t maxQLen = 0);
  /// Whether the heads that share keys are so many that few rows of them take as long as their
  /// products do.
  bool packsManyHeads() { return headsInVectors(kMostPackedHeads) >= 16; }
  /// The query block for so many rows.
  int64_t chooseQBlock(int64_t rows);
  /// The query block for calls with many rows.
  int64_t largestQBlock() { return limitQBlock(fitPeriod(rowsOfBlock())); }
  /// Whether some 100 rows take a query block of their own.
  bool hasMiddleBlock() { return !isNarrow && rowsOfBlock() > 32; }

private:
  /// KV blocks are multiples of `unit` keys: at most `ofWindow` in a narrow window, at most
  /// `ofBlocks` where a mask has blocks, else `otherwise`.
  struct KvBlockSizes {
    int64_t unit, ofWindow, ofBlocks, otherwise;
  };

  /// The rows of a score tile of 32 registers, or of two of 16.
  static constexpr int64_t kRowGroup = 48;
  /// The query block of a narrow window.
  static constexpr int64_t kNarrowBlock = 32;
  static constexpr int64_t kMostPackedHeads = 64;

  /// The most rows of a query block.
  int64_t limitQBlock(int64_t qBlock) { return isNarrow ? std::min(qBlock, kNarrowBlock) : qBlock; }
  int64_t rowsOfBlock();
  int64_t bestQBlock(int64_t rows);
  int64_t fitPeriod(int64_t qBlock);
  /// The most query heads that share keys and fill whole vectors of rows, at most `limit`; or 0.
  int64_t headsInVectors(int64_t limit);
  KvBlockSizes kvBlockSizes(int64_t qBlock);
  int64_t kvBlock(int64_t qBlock);
  /// Whether one KV block covers all keys that a query block sees.
  bool isOneKvBlock(int64_t qBlock);
  int64_t fetchAhead(int64_t qBlock);
  bool isInTiles() const { return products == Products::bf16_tiles; }
  /// Whether the visible keys are found by evaluating the mask, such as one of document ids.
  bool isSearched() { return has32VectorRegs && !op.getMask().empty() && !mask.isComplete(); }
  /// Whether keys lie side by side in pages, whose runs are looked up at once.
  bool hasPageRuns();
  /// Whether it copies keys and values of f32.
  bool copiesKvBlocks();
  /// Whether it reads them from pages into L1.
  bool readsPageRuns() { return usesOneRowGroup() && hasPageRuns(); }
  bool usesOneRowGroup();

  /// The width of a narrow window, if there is one.
  std::optional<int64_t> width;
  /// Whether rows see a narrow window, or two ranges of keys, as attention sinks and a window, or
  /// keys that a search finds: a query block across two documents visits the keys of both.
  bool isNarrow;
  /// The rows and keys of the blocks that a mask tells apart, as by a table of blocks; 0 or 1 if it
  /// does not.
  int64_t rowPeriod = 0, keyPeriod = 0;
};

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_CPUPREFILL_H
