//===- Escape.h - escape untrusted text --------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names, symbols and keys come from untrusted specs and models and may hold any bytes. They are
// only written through these functions, so that they stay text in any format.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TEXT_ESCAPE_H
#define ATTNC_TEXT_ESCAPE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::attn {

/// For messages: control characters, marks that reorder text, and invalid UTF-8 become \xNN, so
/// that they can't control a terminal. One line, cut after `most` bytes.
std::string escapeText(StringRef text, size_t most = StringRef::npos);

/// The inside of a C comment, one line.
std::string escapeComment(StringRef text);

/// The inside of a C string literal, byte by byte, in ASCII.
std::string escapeLiteral(StringRef text);

/// For llvm::json: replaces invalid UTF-8.
std::string escapeJson(StringRef text);

} // namespace mlir::attn

#endif // ATTNC_TEXT_ESCAPE_H
