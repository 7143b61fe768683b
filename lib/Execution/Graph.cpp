//===- Evaluate.cpp - a spec by the reference -----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Execution/Graph.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Dialect/Attn/Attributes.h"

using namespace mlir;
using namespace attnc;
using namespace mlir::attn::reference;

FailureOr<Graph> Graph::copy(Spec &spec) {
  if (spec.getStage() == Stage::Scheduled)
    return reportError(spec.getPath(),
                       "expected a graph of attn ops, found scheduled pipelines: the "
                       "reference evaluates graphs alone");
  Graph graph;
  graph.path = spec.getPath().str();
  graph.module = spec.getModule().clone();
  graph.function = graph.module->lookupSymbol<func::FuncOp>(spec.getFunction().getName());
  return graph;
}

void Graph::nameDims(func::FuncOp named) {
  for (unsigned arg = 0; arg < function.getNumArguments(); ++arg)
    if (Attribute dims = named.getArgAttr(arg, mlir::attn::kDimsAttr))
      function.setArgAttr(arg, mlir::attn::kDimsAttr, dims);
}

static Array makeArray(const Tensor &tensor) {
  Array array(tensor.getElementType(), tensor.getShape());
  for (int64_t index = 0; index < tensor.size(); ++index)
    if (array.isFloat())
      array.values[index].real = tensor.get(index);
    else
      array.values[index].integer = tensor.getInteger(index);
  return array;
}

Tensor attnc::makeTensor(const Array &array, Type type) {
  Tensor tensor(type, array.shape);
  for (int64_t index = 0; index < tensor.size(); ++index)
    if (array.isFloat())
      tensor.set(index, array.values[index].real);
    else
      tensor.setInteger(index, array.values[index].integer);
  return tensor;
}

std::vector<Array> attnc::makeArrays(ArrayRef<Tensor> tensors) {
  std::vector<Array> arrays;
  for (const Tensor &tensor : tensors)
    arrays.push_back(makeArray(tensor));
  return arrays;
}

FailureOr<std::vector<Array>> Graph::evaluate(ArrayRef<Array> inputs, Arithmetic arithmetic) {
  return mlir::attn::reference::evaluate(function, inputs, arithmetic);
}
