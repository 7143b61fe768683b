//===- Graph.h - a spec's graph for the reference ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_EXECUTION_GRAPH_H
#define ATTNC_EXECUTION_GRAPH_H

#include "attnc/Execution/Tensor.h"
#include "attnc/Reference/Reference.h"
#include "attnc/Spec/Spec.h"

namespace attnc {

/// A copy of a spec's graph as it is, for the reference.
class Graph {
public:
  /// Fails if the spec is scheduled, so that it no longer holds a graph.
  static mlir::FailureOr<Graph> copy(Spec &spec);

  /// The results on these inputs.
  mlir::FailureOr<std::vector<mlir::attn::reference::Array>>
  evaluate(llvm::ArrayRef<mlir::attn::reference::Array> inputs,
           mlir::attn::reference::Arithmetic arithmetic);

  llvm::StringRef getPath() const { return path; }
  mlir::func::FuncOp getFunction() { return function; }
  /// Copies the symbols that a pass gave to sizes of `named`'s arguments.
  void nameDims(mlir::func::FuncOp named);

private:
  std::string path;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
};

std::vector<mlir::attn::reference::Array> makeArrays(llvm::ArrayRef<Tensor> tensors);

/// Rounds the elements to `type`.
Tensor makeTensor(const mlir::attn::reference::Array &array, mlir::Type type);

} // namespace attnc

#endif // ATTNC_EXECUTION_GRAPH_H
