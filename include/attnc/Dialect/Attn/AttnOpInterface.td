//===- AttnOpInterface.td - interface of the attn ops -----------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_ATTNOPINTERFACE_TD
#define ATTNC_DIALECT_ATTN_ATTNOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def AttnOpInterface : OpInterface<"AttnOpInterface"> {
  let cppNamespace = "::mlir::attn";
  let description = [{
    An op of a graph: its sizes, FLOPs and formula. `lib/Reference` defines its semantics,
    `lib/Conversion/AttnToHalide` lowers it.
  }];
  let methods = [
    InterfaceMethod<[{
        Constraints on sizes of operands. The verifier checks static sizes, the reference and the
        compiled function those of a call.
      }],
      "::mlir::attn::SizeConstraints", "getSizeConstraints", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<"Sizes of a result; without an implementation those of the first operand.",
      "::mlir::attn::ResultSizes", "getResultSizes", (ins "unsigned":$result), [{}],
      [{ return ::mlir::attn::sizesLike($_op->getOperand(0)); }]>,
    InterfaceMethod<"Multiplications and additions of matrix products, as a sum.",
      "::llvm::SmallVector<::mlir::attn::SizeProduct>", "getFlops", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<"Writes a line for each result: `score = 0.125 * query @ key^T`.",
      "void", "writeFormula", (ins "::mlir::attn::FormulaWriter &":$writer)>,
    InterfaceMethod<"Whether kernels compute the op as it is, without `attn-decompose`.",
      "bool", "isDecomposed", (ins), [{}], [{ return true; }]>
  ];
}

#endif // ATTNC_DIALECT_ATTN_ATTNOPINTERFACE_TD
