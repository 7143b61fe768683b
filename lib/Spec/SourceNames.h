//===- SourceNames.h - names from a spec's text -----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_SPEC_SOURCENAMES_H
#define ATTNC_LIB_SPEC_SOURCENAMES_H

#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/IR/BuiltinOps.h"

namespace attnc {

/// Names arguments and results without `attn.name` by the text: `%query` is "query", and the result
/// of `return %context` is "context". Numbers, C's keywords and names in use are skipped.
void nameFromSource(mlir::ModuleOp module, const mlir::AsmParserState &source);

} // namespace attnc

#endif // ATTNC_LIB_SPEC_SOURCENAMES_H
