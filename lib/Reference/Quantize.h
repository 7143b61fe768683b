//===- Quantize.h - rows in 8 bits ------------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_REFERENCE_QUANTIZE_H
#define ATTNC_LIB_REFERENCE_QUANTIZE_H

#include "Environment.h"

namespace mlir::attn::reference {

/// Stored rows as attn.dequantize converts them to `element`; `scales` may be null.
Array dequantize(const Array &rows, const Array *scales, Type element, Environment &env);

} // namespace mlir::attn::reference

#endif // ATTNC_LIB_REFERENCE_QUANTIZE_H
