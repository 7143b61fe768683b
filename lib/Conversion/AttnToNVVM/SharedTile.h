//===- SharedTile.h - rows of a matrix in shared memory ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTONVVM_SHAREDTILE_H
#define ATTNC_CONVERSION_ATTNTONVVM_SHAREDTILE_H

#include "Instructions.h"

#include <functional>

namespace mlir::attn::nvvm {

/// The page table of a batch's sequence (attn.gather_pages).
struct PageTable {
  Buffer entries;
  std::optional<Buffer> offsets, lengths;
  Reg batch, numHeads, numPages, pageSize;

  Reg getMaxPages() const { return entries.sizes.back(); }
  /// The page of a key of a head, of entry key / pageSize.
  Reg pageOf(KernelBuilder &k, Reg entry, Reg head) const;

private:
  /// The first entry of a sequence in CSR.
  Reg startOf(KernelBuilder &k, Reg sequence) const;
  /// Where entry i of the sequence is.
  Regs placeOf(KernelBuilder &k, Reg i, Reg head) const;
  /// Whether entry i has keys before the sequence's end; null if all do.
  Reg isFollowed(KernelBuilder &k, Reg i) const;
};

/// Rows in global memory.
struct Matrix {
  Reg base;
  /// The number of elements from the base to a row.
  std::function<Reg(Reg row)> offset;
  int64_t columns;
  Type element;
  /// Whether all rows can be copied 16 bytes at a time.
  Reg isAligned;
  /// The number of columns where it may be less; none if it is not.
  Reg rest = {};
  /// From a row to the next one, in elements, where it is the same for all.
  Reg rowStride = {};

  /// The rows of one head of one batch, from `first` on if there is one.
  static Matrix ofHead(KernelBuilder &k, const Buffer &buffer, Reg batch, Reg head, Reg first);
  /// Row r of the first head, of the second and so on, then row r + 1: heads from `head` on.
  static Matrix ofPackedHeads(KernelBuilder &k, const Buffer &buffer, Reg batch, Reg head,
                              int64_t heads, Reg first);
  /// The keys of one head in the pages of a sequence.
  static Matrix ofPages(KernelBuilder &k, const Buffer &pool, const PageTable &table, Reg head);
  /// The rows of all dimensions but the last, of static size.
  static Matrix ofRows(KernelBuilder &k, const Buffer &buffer);

  /// Where row `row` + `above` begins.
  Reg rowAddress(KernelBuilder &k, Reg row, int64_t above) const;
  /// `count` columns from `first` on, a multiple of `count`; those past the last are zeros.
  Matrix slice(KernelBuilder &k, Reg first, int64_t count) const;
};

/// Whether rows lie one behind another, or, as products of a warpgroup read them, the first 128
/// bytes of all rows, then the next ones: panels.
enum class TileLayout { rows, panels };

/// Rows in shared memory, of 64 bytes or a multiple of 128. Chunks of 16 bytes are swizzled within
/// 128 bytes so that the same chunk of 8 adjacent rows is in different banks: chunk c of row r is
/// where c ^ (r % 8) would be, of rows of 64 bytes where c ^ (r / 2 % 4) would be. Columns are
/// padded with zeros to whole tiles.
class SharedTile {
public:
  SharedTile(KernelBuilder &k, int64_t offset, int64_t rows, int64_t rowBytes, int64_t threads,
             TileLayout layout = TileLayout::rows)
      : k(k), offset(offset), rows(rows), threads(threads),
        rowBytes(layout == TileLayout::rows ? rowBytes : kPanelBytes),
        panelBytes(layout == TileLayout::rows ? kPanelBytes : rows * kPanelBytes) {}

  /// The tile that lies `bytes` behind this one, a multiple of 128.
  SharedTile behind(Reg bytes) const;

  /// Uses the first rows alone.
  void limitRows(int64_t most) { rows = most; }

  /// Starts copying rows from `first` on; those from `end` on are zeros.
  void startCopies(const Matrix &matrix, Reg first, Reg end) const;

  // Rows are those of `row`, a multiple of 16, + `above`.

  /// A tile of 16 rows x 16 elements as the left operand of a product.
  Regs loadLeft(Reg row, int64_t above, int64_t depth) const;
  /// 16 rows x 16 elements as two right operands: element k, n is that of row n, element k.
  Regs loadTransposedRight(Reg row, int64_t above, int64_t depth) const;
  /// The same: element k, n is that of row k, column + n; a column of two chunks, the first of
  /// which is even.
  Regs loadRight(int64_t row, int64_t column) const;
  Regs loadRight(int64_t row, Reg chunk) const;

  // Of panels.

  /// Tells a product of a warpgroup where the rows from `row` on are, a multiple of 8.
  Reg describe(Reg row) const;
  /// The same for the columns from `column` on, a multiple of 16, or the rows `row` further, a
  /// multiple of 8.
  Reg describeColumns(Reg start, int64_t column) const;
  Reg describeRows(Reg start, int64_t row) const;

private:
  /// A place of the tile: chunk `chunk` + `chunksLeft` of row `row` + `above`. What is left or
  /// above is a multiple of 8, and a constant of the instruction.
  struct ChunkPlace {
    Reg row, chunk;
    int64_t above, left;
  };

  void copyRow(const Matrix &matrix, Reg row, int64_t above, Reg first, Reg end,
               bool isAligned) const;
  void copyChunk(Reg from, Reg isIn, Reg count, const ChunkPlace &to) const;
  void moveChunk(Reg from, Reg isIn, Reg count, const ChunkPlace &to) const;
  int64_t chunksAtOnce() const;
  Reg chunkAddress(const ChunkPlace &place) const;
  ChunkPlace placeOf(Reg row, int64_t above, int64_t column) const;
  Regs load(ChunkPlace place, bool rowsFirst, bool isTransposed) const;

  /// Bytes of a row that are swizzled together.
  static constexpr int64_t kPanelBytes = 128;

  KernelBuilder &k;
  int64_t offset, rows, threads;
  /// From a row to the next one, and from 128 bytes of a row to the next ones.
  int64_t rowBytes, panelBytes;
  /// What lies before `offset`; none if nothing does.
  Reg base = {};
};

} // namespace mlir::attn::nvvm

#endif // ATTNC_CONVERSION_ATTNTONVVM_SHAREDTILE_H
