//===- Escape.h - strangers' text in what we write ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names, symbols and keys come from specs and models of anybody's and may hold any bytes. All
// that is written from them goes through one of these, so that it stays text wherever it stands.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TEXT_ESCAPE_H
#define ATTNC_TEXT_ESCAPE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::attn {

/// For people: controls, marks that reorder text, and bytes that are no UTF-8 are \xNN, so that
/// no terminal obeys them. One line. What is longer than `most` bytes is cut.
std::string escapeText(StringRef text, size_t most = StringRef::npos);

/// The inside of a C comment, one line.
std::string escapeComment(StringRef text);

/// The inside of a C string literal, byte by byte, in ASCII.
std::string escapeLiteral(StringRef text);

/// What llvm::json takes: bytes that are no UTF-8 are replaced.
std::string escapeJson(StringRef text);

} // namespace mlir::attn

#endif // ATTNC_TEXT_ESCAPE_H
