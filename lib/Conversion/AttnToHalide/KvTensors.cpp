//===- KvTensors.cpp - keys and values in memory -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KvTensors.h"

#include "AttentionBlocks.h"

using namespace mlir;
using namespace mlir::attn;

KvTensors::KvTensors(PipelineBuilder &p, AttentionOp op)
    : p(p), keys(p.input("key", op.getKey(), /*knownDims=*/1)),
      values(p.input("value", op.getValue(), /*knownDims=*/1)) {}

Scalar KvTensors::getNumKeys() const { return p.extent(keys, 1); }

Scalar KvTensors::getNumHeads() const { return p.extent(keys, 2); }

Scalar KvTensors::key(Scalar d, Scalar number, Scalar kvHead, Scalar b) const {
  return widenFactor(keys(d, rowOf(number), kvHead, b));
}

Scalar KvTensors::value(Scalar d, Scalar number, Scalar kvHead, Scalar b) const {
  return widenFactor(values(d, rowOf(number), kvHead, b));
}
