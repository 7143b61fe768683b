//===- Signature.h - arguments and results of a spec ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_SPEC_SIGNATURE_H
#define ATTNC_SPEC_SIGNATURE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace attnc {

/// An argument or result of the library's function.
struct Parameter {
  /// `attn.name`, else arg0, arg1, … and out0, out1, ….
  std::string name;
  mlir::Type elementType;
  /// ShapedType::kDynamic if the size is known only when called.
  llvm::SmallVector<int64_t> shape;
  /// The symbol of each dimension in `attn.dims`; empty without one.
  llvm::SmallVector<std::string> symbols;
};

struct Signature {
  llvm::SmallVector<Parameter> inputs, outputs;
};

/// The signature of a graph, or of a host function, whose results are arguments with
/// `attn.result`. All arguments and results are shaped.
Signature readSignature(mlir::func::FuncOp function);

/// `tensor<2x?xf32>` as messages write it: `f32[2, q_len]`.
std::string describe(const Parameter &parameter);

} // namespace attnc

#endif // ATTNC_SPEC_SIGNATURE_H
