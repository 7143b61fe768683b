//===- Pages.h - keys and values in pages ----------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_REFERENCE_PAGES_H
#define ATTNC_LIB_REFERENCE_PAGES_H

#include "Environment.h"

namespace mlir::attn::reference {

/// The rows of a pool in the order of the keys, as attn.gather_pages gathers them. Fails, with an
/// error at `op`, if a page, an offset or a length is wrong.
FailureOr<Array> gatherPages(Operation *op, Value pool, const PagedTensors &paged,
                             bool isHeadsFirst, Environment &env);

} // namespace mlir::attn::reference

#endif // ATTNC_LIB_REFERENCE_PAGES_H
