//===- WgmmaAttention.h - fused attention of warpgroups ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTONVVM_WGMMAATTENTION_H
#define ATTNC_CONVERSION_ATTNTONVVM_WGMMAATTENTION_H

#include "FragmentAttention.h"

namespace mlir::attn::nvvm {

/// The kernel of a `#attn.wgmma`.
class WgmmaAttention : FragmentAttention {
public:
  WgmmaAttention(OpBuilder &builder, StringRef name, AttentionOp op, WgmmaAttr schedule);
  /// `fallback` takes layouts that tensor maps can't describe.
  BuiltKernel build(BuiltKernel fallback);

private:
  /// Keys or values: their tensor map, their barriers and their tiles.
  struct Stream {
    Reg map;
    SharedTile tile;
    int64_t offset, rowBytes, firstBarrier;
    /// The descriptor of the first stage's tile.
    Reg start;
  };
  /// Where a KV block is, and the parity of its stage's phase.
  struct Turn {
    Reg stage, parity;
  };
  /// The rows' state, and the packed numerators of the last KV block, whose values have not been
  /// added yet.
  struct Step {
    RowState state;
    Regs numerators;
  };

  /// Registers of threads that copy, and of those that compute.
  struct RegisterCounts {
    int64_t copying, computing;
  };

  void synchronize() override;
  /// None if all have as many as they need.
  std::optional<RegisterCounts> getRegisterCounts() const;
  void initBarriers();
  Turn turnOf(Reg block) const;
  Reg barrierAt(int64_t number);
  /// Of a stage: whether it has been copied, and whether it may be overwritten.
  Reg filled(const Stream &stream, const Turn &turn);
  Reg freed(const Stream &stream, const Turn &turn);

  // The warpgroup that copies.
  void produce();
  /// `place`: of the first row, its batch and its head.
  void copyRows(Reg map, int64_t offset, Reg before, int64_t rows, int64_t rowBytes,
                ArrayRef<Reg> place, Reg barrier);
  void fill(const Stream &stream, const Turn &turn, Reg first);

  // Warpgroups that compute.
  void consume();
  Reg startOf(const Stream &stream, const Turn &turn);
  Regs startKeys(const Turn &turn);
  Regs startValues(const Turn &turn, const Step &step);
  void release(const Stream &stream, const Turn &turn);
  void takeTensorCores();
  void passTensorCores(Reg isLast);
  Shift weigh(RowState &state, Regs &scores, Reg first, Regs &sums);
  Regs packBlock(Regs &scores, Reg first);
  Step addFirst();
  Step addBlock(Step step, Reg first, Reg block);
  RowState addLast(Step step, Reg block);
  RowState addBlocks();

  int64_t warpgroups;
  Reg warpgroup, queryMap;
  Stream keyStream, valueStream;
  /// The descriptor of the warpgroup's rows of the query.
  Reg queryStart;
};

} // namespace mlir::attn::nvvm

#endif // ATTNC_CONVERSION_ATTNTONVVM_WGMMAATTENTION_H
