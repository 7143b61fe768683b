//===- Evaluate.h - a spec by the reference ---------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TOOLS_ATTNC_EVALUATE_H
#define ATTNC_TOOLS_ATTNC_EVALUATE_H

#include "Spec.h"
#include "Tensor.h"

#include "attnc/Reference/Reference.h"

namespace attnc {

/// A spec's graph as it was read, before any pass.
class Graph {
public:
  /// Of a spec that no pass has changed yet; an error where it holds no graph.
  static mlir::FailureOr<Graph> copy(Spec &spec);

  /// The results on these inputs.
  mlir::FailureOr<std::vector<mlir::attn::reference::Array>>
  evaluate(llvm::ArrayRef<mlir::attn::reference::Array> inputs,
           mlir::attn::reference::Arithmetic arithmetic);

  mlir::func::FuncOp getFunction() { return function; }
  /// Takes over the names that a pass has given to the sizes of the arguments.
  void nameDims(mlir::func::FuncOp named);

private:
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
};

std::vector<mlir::attn::reference::Array> makeArrays(llvm::ArrayRef<Tensor> tensors);

/// Rounded to `type`.
Tensor makeTensor(const mlir::attn::reference::Array &array, mlir::Type type);

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_EVALUATE_H
