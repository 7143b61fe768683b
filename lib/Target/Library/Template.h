//===- Template.h - text templates ------------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_LIBRARY_TEMPLATE_H
#define ATTNC_LIB_TARGET_LIBRARY_TEMPLATE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::attn {

/// `text` with each @WORD@ replaced, in order: a replacement may hold later words.
std::string fillTemplate(StringRef text, ArrayRef<std::pair<StringRef, std::string>> words);

} // namespace mlir::attn

#endif // ATTNC_LIB_TARGET_LIBRARY_TEMPLATE_H
