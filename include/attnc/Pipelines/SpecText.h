//===- SpecText.h - checks before MLIR parses a spec ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's parser trusts its input: it recurses on nesting, and allocates a list as long as a type's
// element count claims. Its bytecode reader trusts more.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_PIPELINES_SPECTEXT_H
#define ATTNC_PIPELINES_SPECTEXT_H

#include "llvm/Support/MemoryBufferRef.h"

#include <optional>
#include <string>

namespace mlir::attn {

/// Help of the option that allows bytecode.
inline constexpr char kAllowBytecode[] =
    "Read MLIR bytecode, for trusted files only: its reader checks less than the text parser";

/// Why a spec is refused, and where: lines and columns count from 1; 0 is the whole spec.
struct SpecRefusal {
  unsigned line, column;
  std::string message;
};

/// Checks the text of a spec for input that MLIR's parser would not survive.
std::optional<SpecRefusal> checkSpecText(llvm::MemoryBufferRef spec, bool allowBytecode);

} // namespace mlir::attn

#endif // ATTNC_PIPELINES_SPECTEXT_H
