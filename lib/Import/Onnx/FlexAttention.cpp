//===- FlexAttention.cpp - ONNX's FlexAttention ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The modifiers are subgraphs with one input and one output. They are imported as if
// they stood in the graph, where elementwise ops on a score or prob become regions.
//
//===----------------------------------------------------------------------===//

#include "AttentionParts.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

/// Applies the subgraph `name` to `tensor`; without it, `tensor` itself.
static FailureOr<TensorRef> modify(Node &node, StringRef name, const TensorRef &tensor) {
  const ::onnx::AttributeProto *attribute = node.getAttribute(name);
  if (!attribute)
    return tensor;
  const ::onnx::GraphProto &graph = attribute->g();
  if (graph.input_size() != 1 || graph.output_size() != 1)
    return node.error() << "expected '" << name << "' to have one input and one output, found "
                        << graph.input_size() << " and " << graph.output_size();
  Scope inner = node.scope;
  inner[graph.input(0).name()] = tensor;
  if (failed(importNodes(node.model, graph, inner, node.body)))
    return failure();
  TensorRef result = inner.lookup(graph.output(0).name());
  if (!result)
    return node.error() << "expected '" << name << "' to compute its output '"
                        << graph.output(0).name() << "'";
  if (result->element != tensor->element || !sameSizes(result->sizes, tensor->sizes))
    return node.error() << "expected '" << name << "' to keep the type " << tensor->getType()
                        << ", found " << result->getType();
  return result;
}

LogicalResult imports::importFlexAttention(Node &node) {
  Body &body = node.body;
  Heads heads{node.input(0), node.input(1), node.input(2)};
  Type element = heads.query->element;
  for (const TensorRef &tensor : {heads.query, heads.key, heads.value})
    if (tensor->getRank() != 4 || !isa<FloatType>(tensor->element))
      return node.error() << "expected floats of rank 4, found " << tensor->getType();
  if (failed(checkAttention(node, heads)) || failed(checkPrecision(node)))
    return failure();
  bool isModified = node.getAttribute("score_mod") || node.getAttribute("prob_mod");
  // Modifiers of f16 and bf16 inputs compute in f32.
  if (isModified && element.getIntOrFloatBitWidth() < 32)
    for (TensorRef *tensor : {&heads.query, &heads.key, &heads.value})
      *tensor = castTensor(body, *tensor, body.b.getF32Type());

  FailureOr<Value> score = makeScore(node, heads);
  if (failed(score))
    return failure();
  Sizes sizes = heads.getScoreSizes();
  FailureOr<TensorRef> modified = modify(node, "score_mod", makeComputed(*score, sizes));
  if (failed(modified))
    return failure();
  Value last = node.materialize(*modified);
  Value prob = makeProb(node, last);
  modified = modify(node, "prob_mod", makeComputed(prob, sizes));
  if (failed(modified))
    return failure();
  TensorRef context = makeContext(node, heads, node.materialize(*modified));
  return node.setOutput(castTensor(body, context, element));
}
