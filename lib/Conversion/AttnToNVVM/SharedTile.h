//===- SharedTile.h - rows of a matrix in shared memory ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTONVVM_SHAREDTILE_H
#define ATTNC_CONVERSION_ATTNTONVVM_SHAREDTILE_H

#include "Instructions.h"

namespace mlir::attn::nvvm {

/// The matrix of one head of one batch in global memory.
struct Matrix {
  Reg base, rowStride;
  int64_t columns;
  Type element;

  Matrix(KernelBuilder &k, const Buffer &buffer, Reg batch, Reg head);
  /// Whether all rows can be copied 16 bytes at a time.
  Reg isAligned;
};

/// Rows in shared memory. Chunk c of row r, of 16 bytes, is where c ^ (r % 8) would be: the same
/// chunk of 8 adjacent rows is in different banks.
class SharedTile {
public:
  SharedTile(KernelBuilder &k, int64_t offset, int64_t rows, int64_t rowBytes, int64_t threads)
      : k(k), offset(offset), rows(rows), rowBytes(rowBytes), threads(threads) {}

  /// Starts copying rows from `first` on; those from `end` on are zeros.
  void startCopies(const Matrix &matrix, Reg first, Reg end) const;

  /// A tile of 16 rows x 16 elements as the left operand of a product.
  Regs loadLeft(Reg row, int64_t depth) const;
  /// 16 rows x 16 elements as two right operands: element k, n is that of row n, element k.
  Regs loadTransposedRight(int64_t row, int64_t depth) const;
  /// The same: element k, n is that of row k, element n of two chunks, the first of which is even.
  Regs loadRight(int64_t row, Reg chunk) const;

private:
  void copyChunk(const Matrix &matrix, Reg row, Reg chunk, int64_t above, Reg first, Reg end) const;
  void moveChunk(Reg from, Reg isIn, Reg to) const;
  Reg chunkAddress(Reg row, Reg chunk, int64_t above) const;
  Regs load(Reg row, int64_t above, Reg chunk, bool rowsFirst, bool isTransposed) const;

  KernelBuilder &k;
  int64_t offset, rows, rowBytes, threads;
};

} // namespace mlir::attn::nvvm

#endif // ATTNC_CONVERSION_ATTNTONVVM_SHAREDTILE_H
