//===- PackedSequences.cpp - sequences of packed rows ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedSequences.h"

#include "Instructions.h"

using namespace mlir;
using namespace mlir::attn::nvvm;

Reg PackedSequences::startOf(Reg sequence) const {
  return k.loadWithin(offsets, {min(sequence, getBatch())}, k.i32(0), total);
}

Reg PackedSequences::lengthOf(Reg sequence, Reg start) const {
  return max(startOf(sequence + 1) - start, k.i32(0));
}

Reg PackedSequences::find(Reg place, function_ref<Reg(Reg sequence)> endOf) const {
  Reg batch = getBatch();
  auto countEnded = [&](Reg first, ArrayRef<Reg> ended) -> Regs {
    Reg sequence = first + k.thread % kLanes;
    return {ended[0] + countLanes(k, (sequence < batch) & (endOf(sequence) <= place))};
  };
  return k.loop(k.i32(0), batch, kLanes, k.i32(0), countEnded)[0];
}

Reg ServedLengths::contain(Reg length) const {
  Reg isServed = length > length.constant(above);
  return limit ? isServed & (length <= length.constant(limit)) : isServed;
}
