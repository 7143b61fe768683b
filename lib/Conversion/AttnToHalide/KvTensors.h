//===- KvTensors.h - keys and values in memory ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_KVTENSORS_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_KVTENSORS_H

#include "Lowerings.h"

namespace mlir::attn {

/// The one place that reads keys and values: all else names a key by its number among
/// `getNumKeys()`. Only this class depends on a key's row in memory and its element type.
class KvTensors {
public:
  KvTensors(PipelineBuilder &p, AttentionOp op);

  Scalar getNumKeys() const;
  Scalar getNumHeads() const;

  /// An element of a key, in f32; `number` is within the number of keys.
  Scalar key(Scalar d, Scalar number, Scalar kvHead, Scalar b) const;
  /// The same of a value.
  Scalar value(Scalar d, Scalar number, Scalar kvHead, Scalar b) const;

private:
  /// The row of the tensors that holds a key; an index table would be read here.
  Scalar rowOf(Scalar number) const { return number; }

  PipelineBuilder &p;
  Func keys, values;
};

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_KVTENSORS_H
