//===- SpecText.h - what is checked before MLIR reads a spec ----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's parser trusts its input: it recurses as deep as a text is nested, and makes a list of as
// many elements as a type claims. Its bytecode reader trusts more than that.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_PIPELINES_SPECTEXT_H
#define ATTNC_PIPELINES_SPECTEXT_H

#include "llvm/Support/MemoryBufferRef.h"

#include <optional>
#include <string>

namespace mlir::attn {

/// What the option that lets a tool read bytecode says of itself.
inline constexpr char kAllowBytecode[] =
    "Read MLIR bytecode: only from people you trust, for its reader checks less than that of text";

/// Why a spec is not read, and where it says so: lines and columns count from 1, 0 for the whole.
struct SpecRefusal {
  unsigned line, column;
  std::string message;
};

/// Looks through the text of a spec for what MLIR's parser would not survive.
std::optional<SpecRefusal> checkSpecText(llvm::MemoryBufferRef spec, bool allowBytecode);

} // namespace mlir::attn

#endif // ATTNC_PIPELINES_SPECTEXT_H
