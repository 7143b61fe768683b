//===- FusedAttention.h - parts of ONNX Runtime's attention ops -*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_IMPORT_ONNX_FUSEDATTENTION_H
#define ATTNC_LIB_IMPORT_ONNX_FUSEDATTENTION_H

#include "AttentionParts.h"

namespace mlir::attn::imports::fused {

/// Refuses an attribute with an unsupported value.
LogicalResult expectInt(Node &node, StringRef name, int64_t wanted = 0);
LogicalResult expectNone(Node &node, int index, StringRef name);
FailureOr<int64_t> getHeads(Node &node, StringRef name);
LogicalResult checkRank(Node &node, const TensorRef &tensor, int64_t rank, StringRef what);

/// `count` columns from `offset` on of [batch, length, columns], as heads.
FailureOr<TensorRef> takeHeads(Node &node, const TensorRef &rows, int64_t offset, int64_t count,
                               int64_t heads);
/// Splits the columns of `rows` into the heads of query, key and value.
FailureOr<Heads> takeAll(Node &node, const TensorRef &rows, int64_t queryHeads, int64_t keyHeads,
                         ArrayRef<int64_t> widths);
LogicalResult checkSizes(Node &node, const TensorRef &tensor, ArrayRef<OpFoldResult> sizes,
                         StringRef what, bool broadcasts = false);
Value readIndex(Body &at, const TensorRef &tensor, ArrayRef<Value> place);
Value compare(Body &at, arith::CmpIPredicate predicate, Value a, Value b);

/// Floats that a score adds, which broadcast to it.
LogicalResult checkBias(Node &node, const TensorRef &bias, const Heads &heads);
Value addBias(Body &at, Value score, const TensorRef &bias, ArrayRef<Value> place);

/// Splits [batch, length, width] into heads, after adding the bias from `offset` on.
FailureOr<TensorRef> splitHeads(Node &node, TensorRef rows, int64_t heads, const TensorRef &bias,
                                int64_t &offset);

} // namespace mlir::attn::imports::fused

#endif // ATTNC_LIB_IMPORT_ONNX_FUSEDATTENTION_H
