//===- PackedRows.h - sequences of different lengths, packed ----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_PACKEDROWS_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_PACKEDROWS_H

#include "FunctionConverter.h"

namespace mlir::attn {

/// Where each sequence's rows are among packed rows. Offsets have been checked; they are read once
/// and clamped, which keeps a caller's later writes from harm.
class PackedSequences {
public:
  /// `prefix` is that of the names of an input and a func; `total` is the number of packed rows, at
  /// least 1 where one is read.
  PackedSequences(PipelineBuilder &p, StringRef prefix, Value offsets, Scalar total);

  Scalar getTotal() const { return total; }
  Scalar getBatch() const { return p.extent(offsets, 0) - 1; }
  /// The first row of sequence b, at most total.
  Scalar startOf(Scalar b) const { return starts(b); }
  Scalar lengthOf(Scalar b) const { return max(starts(b + 1) - starts(b), 0); }
  /// The row that is row i of sequence b, or the last one of all behind it.
  Scalar rowOf(Scalar i, Scalar b) const;

private:
  PipelineBuilder &p;
  Func offsets, starts;
  Scalar total;
};

/// A func over x that counts the sequences whose share of `before` ends at or before x: the number
/// of the sequence that x belongs to, or `batch`.
Func findSequences(PipelineBuilder &p, StringRef name, Scalar batch,
                   function_ref<Scalar(Scalar b)> endOf, int64_t lanes);
/// The sequence that x belongs to, by such a func; any one if it belongs to none.
Scalar readSequence(Func numbers, Scalar x, Scalar batch);

/// The query blocks of packed rows: each has rows of one sequence. Those of the sequences that a
/// kernel serves are numbered one after the other; a call has at most getMaxCount().
class PackedBlocks {
public:
  /// A block has `rows` rows; the kernel serves sequences of more than `above` rows, and of at most
  /// `limit` unless that is 0.
  PackedBlocks(PipelineBuilder &p, PackedSequences sequences, int64_t rows, int64_t above,
               int64_t limit);

  const PackedSequences &getSequences() const { return sequences; }
  Scalar getMaxCount() const { return maxCount; }
  /// The sequence of a block; any one if the block has no rows.
  Scalar sequenceOf(Scalar block) const;
  /// The number of rows of a block, 0 if it is one too many.
  Scalar countRows(Scalar block) const { return counts(block); }
  /// A block's first row in its sequence, and among all rows.
  Scalar firstRow(Scalar block) const { return firsts(block); }
  Scalar firstPackedRow(Scalar block) const { return packedFirsts(block); }

private:
  PackedSequences sequences;
  Scalar maxCount;
  Func numbers, firsts, counts, packedFirsts;
};

/// The sequences that a kernel serves: those of more than `above` rows, and of at most `limit`
/// unless that is 0.
struct ServedLengths {
  int64_t above, limit;
};
/// Computes how many sequences with rows each of several kernels serves.
LogicalResult lowerCountServed(PipelineBuilder &p, Value offsets, ArrayRef<ServedLengths> kernels);

/// Emits checks that offsets begin with 0, don't decrease and end with the number of rows.
LogicalResult requireOffsets(Operation *op, FunctionConverter &converter);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_PACKEDROWS_H
