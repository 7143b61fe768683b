//===- KeyBounds.h - the keys that rows see ---------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTONVVM_KEYBOUNDS_H
#define ATTNC_CONVERSION_ATTNTONVVM_KEYBOUNDS_H

#include "RegionInliner.h"

#include "attnc/Dialect/Attn/MaskAnalysis.h"

namespace mlir::attn::nvvm {

/// The query rows [first, last] of one head of one batch, or of several heads from `head` on.
struct QueryRows {
  Reg batch, head, first, last;
  bool isOneHead;
};

/// Keys [low, high).
struct KeyRange {
  Reg low, high;
};

/// The keys of [0, kvLen) that any of `rows` may see.
KeyRange findVisibleKeys(KernelBuilder &k, Region &mask, const QueryRows &rows, Reg kvLen);
/// Keys of `visible` that all of `rows` see; may be empty where nothing is known.
KeyRange findFullKeys(KernelBuilder &k, Region &mask, const QueryRows &rows, KeyRange visible);

} // namespace mlir::attn::nvvm

#endif // ATTNC_CONVERSION_ATTNTONVVM_KEYBOUNDS_H
