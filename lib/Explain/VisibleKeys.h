//===- VisibleKeys.h - which keys a mask shows ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_EXPLAIN_VISIBLEKEYS_H
#define ATTNC_LIB_EXPLAIN_VISIBLEKEYS_H

#include "attnc/Cost/Cost.h"
#include "attnc/Dialect/Attn/MaskAnalysis.h"

namespace attnc {

/// "row q sees keys [0, 4) and [q - 255, q]", by the bounds that the analysis found. Batch and head
/// are b and h. Empty if the mask has more ranges than a reader would want.
std::string describeVisibleKeys(mlir::attn::AttentionOp op, const mlir::attn::MaskAnalysis &mask,
                                CostModel &costs);

} // namespace attnc

#endif // ATTNC_LIB_EXPLAIN_VISIBLEKEYS_H
