//===- PackedSequences.h - sequences of packed rows -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTONVVM_PACKEDSEQUENCES_H
#define ATTNC_CONVERSION_ATTNTONVVM_PACKEDSEQUENCES_H

#include "KernelBuilder.h"

namespace mlir::attn::nvvm {

/// Where each sequence's rows are among packed rows. Offsets have been checked; they are clamped,
/// which keeps a caller's later writes from harm.
class PackedSequences {
public:
  /// `total`: the number of packed rows.
  PackedSequences(KernelBuilder &k, StringRef name, Value offsets, Reg total)
      : k(k), offsets(k.input(name, offsets)), total(total) {}

  Reg countOffsets() const { return offsets.sizes[0]; }
  Reg getBatch() const { return offsets.sizes[0] - 1; }
  /// The first row of a sequence, at most `total`, which it is behind the last sequence.
  Reg startOf(Reg sequence) const;
  /// The number of rows of the sequence that begins at `start`.
  Reg lengthOf(Reg sequence, Reg start) const;
  /// The number of sequences whose end is at or before `place`: that of the sequence that it
  /// belongs to, or the batch. The lanes of a warp look together; ends don't decrease.
  Reg find(Reg place, function_ref<Reg(Reg sequence)> endOf) const;

private:
  KernelBuilder &k;
  Buffer offsets;
  Reg total;
};

/// The sequences that a kernel computes: those of more than `above` rows, and of at most `limit`
/// unless that is 0.
struct ServedLengths {
  int64_t above = 0, limit = 0;

  Reg contain(Reg length) const;
};

} // namespace mlir::attn::nvvm

#endif // ATTNC_CONVERSION_ATTNTONVVM_PACKEDSEQUENCES_H
