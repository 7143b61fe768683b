//===- MaskPicture.h - draw the keys that a mask shows ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_EXPLAIN_MASKPICTURE_H
#define ATTNC_LIB_EXPLAIN_MASKPICTURE_H

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Explain/Explanation.h"
#include "attnc/Reference/Reference.h"

#include "llvm/ADT/BitVector.h"

namespace attnc {

/// The arguments of its function that the mask of `op` is computed from.
llvm::BitVector findMaskInputs(mlir::attn::AttentionOp op);

/// Draws the mask of `op`, of a fused graph, for the first batch and head on these inputs of its
/// function, of which the others may be empty.
mlir::FailureOr<MaskPicture> drawMask(mlir::attn::AttentionOp op,
                                      llvm::ArrayRef<mlir::attn::reference::Array> inputs,
                                      int64_t qLen, int64_t kvLen);

} // namespace attnc

#endif // ATTNC_LIB_EXPLAIN_MASKPICTURE_H
