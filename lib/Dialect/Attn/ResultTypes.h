//===- ResultTypes.h - result types that a spec need not write --*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The custom directives of AttnOps.td: `-> type` may be left out of a spec where it follows
// from the operands. Ops are printed with it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_RESULTTYPES_H
#define ATTNC_LIB_DIALECT_ATTN_RESULTTYPES_H

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/IR/OpImplementation.h"

namespace mlir::attn {

ParseResult parseScoreType(OpAsmParser &parser, Type &score, Type query, Type key);
ParseResult parseContextType(OpAsmParser &parser, Type &context, Type prob, Type value);
ParseResult parseLinearType(OpAsmParser &parser, Type &result, Type input, Type weight);
ParseResult parseHeadsType(OpAsmParser &parser, Type &heads, Type input, IntegerAttr numHeads,
                           LayoutAttr layout);
ParseResult parseMergedType(OpAsmParser &parser, Type &merged, Type heads, LayoutAttr layout);
ParseResult parseLseType(OpAsmParser &parser, Type &lse, Type score);
ParseResult parseProductType(OpAsmParser &parser, Type &product, Type left, Type right);
ParseResult parseMapType(OpAsmParser &parser, Type &result, ArrayRef<Type> inputs, Region &body);
// `[-1] keep_dims`: the result's type depends on both.
ParseResult parseReducedAxes(OpAsmParser &parser, DenseI64ArrayAttr &axes, UnitAttr &keepDims);
void printReducedAxes(OpAsmPrinter &printer, Operation *op, DenseI64ArrayAttr axes,
                      UnitAttr keepDims);
ParseResult parseReducedType(OpAsmParser &parser, Type &result, Type input, DenseI64ArrayAttr axes,
                             UnitAttr keepDims);
ParseResult parseTransposedType(OpAsmParser &parser, Type &result, Type input,
                                DenseI64ArrayAttr permutation);
ParseResult parseRowsType(OpAsmParser &parser, Type &rows, Type table, Type ids);

void printResultType(OpAsmPrinter &printer, Type type);

#define ATTNC_PRINT_RESULT_TYPE(NAME)                                                              \
  template <typename... Sources>                                                                   \
  void print##NAME##Type(OpAsmPrinter &printer, Operation *, Type type, const Sources &...) {      \
    printResultType(printer, type);                                                                \
  }
ATTNC_PRINT_RESULT_TYPE(Score)
ATTNC_PRINT_RESULT_TYPE(Context)
ATTNC_PRINT_RESULT_TYPE(Linear)
ATTNC_PRINT_RESULT_TYPE(Heads)
ATTNC_PRINT_RESULT_TYPE(Merged)
ATTNC_PRINT_RESULT_TYPE(Lse)
ATTNC_PRINT_RESULT_TYPE(Product)
ATTNC_PRINT_RESULT_TYPE(Map)
ATTNC_PRINT_RESULT_TYPE(Reduced)
ATTNC_PRINT_RESULT_TYPE(Transposed)
ATTNC_PRINT_RESULT_TYPE(Rows)
#undef ATTNC_PRINT_RESULT_TYPE

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_RESULTTYPES_H
