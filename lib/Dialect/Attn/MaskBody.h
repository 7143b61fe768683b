//===- MaskBody.h - the assembly of a mask's body ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_MASKBODY_H
#define ATTNC_LIB_DIALECT_ATTN_MASKBODY_H

#include "mlir/IR/OpImplementation.h"

namespace mlir::attn {

/// Parses a region or short forms, the attributes and the type of the score in one directive: the
/// type comes last, but a short form that reads the score's sizes needs it.
ParseResult parseMaskBody(OpAsmParser &parser, Region &body, NamedAttrList &attributes,
                          const OpAsmParser::UnresolvedOperand &score, Type &scoreType);

/// Always prints the expanded region.
void printMaskBody(OpAsmPrinter &printer, Operation *op, Region &body, DictionaryAttr attributes,
                   Value score, Type scoreType);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_MASKBODY_H
