//===- ResultTypes.h - optional result types in specs -----------*- C++ -*-===//
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

/// `-> type`, or the type that `infer` gives.
ParseResult parseOrInfer(OpAsmParser &parser, Type &result, llvm::function_ref<Type()> infer);

/// The element type of an op's result whose first operand has that one: of products of i8, i32.
template <typename OpTy>
Type getResultElement(Type first) {
  bool isSum = std::is_same_v<OpTy, LinearOp> && first.isInteger(8);
  return isSum ? IntegerType::get(first.getContext(), 32) : first;
}

/// Infers the type of an op's one result, its element type from that of its first operand, `first`.
/// Operands are not verified yet: sizes are inferred only from operands of the right ranks, other
/// errors are left to the verifier.
template <typename OpTy, typename... Sources>
ParseResult parseResultType(OpAsmParser &parser, Type &result, OpTy, Type first,
                            const Sources &...others) {
  return parseOrInfer(parser, result, [&]() -> Type {
    FailureOr<ResultSizes> sizes = OpTy::inferSizes(first, others...);
    if (failed(sizes))
      return first; // the verifier tells which rank is wrong
    Type element = cast<RankedTensorType>(first).getElementType();
    return RankedTensorType::get(getStaticSizes(*sizes), getResultElement<OpTy>(element));
  });
}

template <typename OpTy, typename... Sources>
void printResultType(OpAsmPrinter &printer, Operation *, Type result, OpTy, const Sources &...) {
  printer << "-> " << result;
}

/// A map's element type is the type that its region yields.
ParseResult parseMapType(OpAsmParser &parser, Type &result, ArrayRef<Type> inputs, Region &body);
void printMapType(OpAsmPrinter &printer, Operation *op, Type result, TypeRange inputs,
                  Region &body);

// `[-1] keep_dims`: the result's type depends on both.
ParseResult parseReduceAxes(OpAsmParser &parser, DenseI64ArrayAttr &axes, UnitAttr &keepDims);
void printReduceAxes(OpAsmPrinter &printer, Operation *op, DenseI64ArrayAttr axes,
                     UnitAttr keepDims);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_RESULTTYPES_H
