//===- Importer.h - the walk over an ONNX graph -----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_IMPORT_ONNX_IMPORTER_H
#define ATTNC_LIB_IMPORT_ONNX_IMPORTER_H

#include "Budget.h"
#include "Model.h"
#include "Tensor.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::attn::imports {

/// The tensors of names in scope. A subgraph sees the names around it.
using Scope = llvm::StringMap<TensorRef>;

/// State shared by all graphs and functions of a model.
struct Context {
  MLIRContext *context;
  /// The model's file. A node's location adds the node's name.
  Location loc;
  const Model &file;
  llvm::StringMap<int64_t> opsets = {};
  /// The model's own functions, by domain, name and overload.
  llvm::StringMap<const ::onnx::FunctionProto *> functions = {};
  /// The nesting depth of functions being imported.
  int depth = 0;
  /// The remaining cost of the import.
  Budget *budget = nullptr;
};

/// A node being imported. Errors are at its location, which names it.
class Node {
public:
  Node(const Context &model, const ::onnx::NodeProto &proto, Scope &scope, Body &body)
      : model(model), proto(proto), scope(scope), body(body) {}

  const Context &model;
  const ::onnx::NodeProto &proto;
  Scope &scope;
  /// Builds ops at this node.
  Body &body;

  StringRef getOp() const { return proto.op_type(); }
  int64_t getOpset() const;
  InFlightDiagnostic error() const;

  /// Null if the node has no such input.
  TensorRef input(int index) const;
  int numInputs() const { return proto.input_size(); }
  bool wantsOutput(int index) const {
    return index < proto.output_size() && !proto.output(index).empty();
  }
  void setOutput(int index, TensorRef tensor);
  LogicalResult setOutput(TensorRef tensor) {
    setOutput(0, std::move(tensor));
    return success();
  }

  LogicalResult setOutput(FailureOr<TensorRef> tensor) {
    return failed(tensor) ? failure() : setOutput(*tensor);
  }

  const ::onnx::AttributeProto *getAttribute(StringRef name) const;
  int64_t getInt(StringRef name, int64_t otherwise) const;
  double getFloat(StringRef name, double otherwise) const;
  StringRef getString(StringRef name, StringRef otherwise) const;
  /// The element type that an attribute names; none without the attribute.
  FailureOr<Type> getType(StringRef name) const;
  /// None without the attribute.
  std::optional<SmallVector<int64_t>> getInts(StringRef name) const;

  /// The integers of a constant input, called `what` in errors.
  FailureOr<SmallVector<int64_t>> getConstants(int index, StringRef what) const;
  /// `axes`: an input, or an attribute in older opsets.
  FailureOr<std::optional<SmallVector<int64_t>>> getAxes(int index) const;
  /// A dimension in [0, rank), from a possibly negative axis.
  FailureOr<int64_t> getDim(int64_t axis, int64_t rank) const;

  Value materialize(const TensorRef &tensor) const { return imports::materialize(body, tensor); }
};

using Handler = LogicalResult (*)(Node &);

/// The types of attributes.
constexpr auto Int = ::onnx::AttributeProto::INT, Float = ::onnx::AttributeProto::FLOAT,
               String = ::onnx::AttributeProto::STRING, Dense = ::onnx::AttributeProto::TENSOR,
               Graph = ::onnx::AttributeProto::GRAPH, Ints = ::onnx::AttributeProto::INTS,
               Floats = ::onnx::AttributeProto::FLOATS;

struct AttributeEntry {
  StringRef name;
  ::onnx::AttributeProto::AttributeType type;
};

/// An op that can be imported, and all that its handler may assume of a node.
struct OpEntry {
  StringRef domain, name;
  /// The element type of each input: `f` floats, `i` integers, `n` either, `b` i1, `x` any. `?`
  /// after it: optional; `*` after the last: any number more, each required.
  StringRef inputs;
  /// `x` for each output, with `?` and `*` as for inputs.
  StringRef outputs;
  /// Other attributes are errors.
  SmallVector<AttributeEntry> attributes;
  Handler import;
  /// The first opset with the op's imported semantics.
  int64_t since = 1;
};

/// The op's entry; null if the op is unknown.
const OpEntry *findOp(StringRef domain, StringRef name);

/// Imports a node: checks its inputs, outputs and attributes against the entry, runs the handler,
/// then checks sizes and cost of the results.
LogicalResult importChecked(Node &node, const OpEntry &entry);
/// Checks that the node's inputs are in scope and its output names are new.
LogicalResult checkNames(Node &node);

/// A node of a standard op, as a part of a fused op.
class PartNode {
public:
  PartNode(Node &whole, StringRef op, ArrayRef<TensorRef> inputs);

  PartNode &set(StringRef name, int64_t value);
  PartNode &set(StringRef name, double value);
  PartNode &set(StringRef name, StringRef value);
  PartNode &set(StringRef name, ArrayRef<int64_t> values);
  /// Copies attribute `theirs` of the fused op, if set, to `ours` of the part.
  PartNode &take(StringRef theirs, StringRef ours);
  PartNode &take(StringRef name) { return take(name, name); }
  /// Copies all attributes of the fused op.
  PartNode &takeAll();

  /// Imports the part and returns its only result. Errors are at the fused op.
  FailureOr<TensorRef> import();

private:
  ::onnx::AttributeProto &add(StringRef name, ::onnx::AttributeProto::AttributeType type);

  Node &whole;
  Scope scope;
  ::onnx::NodeProto proto;
};

/// The constant of a model's tensor.
FailureOr<TensorRef> readConstant(const Context &model, const ::onnx::TensorProto &proto,
                                  Body &body, Report error);

/// Imports the nodes of a graph, each after those that it reads.
LogicalResult importNodes(const Context &model, const ::onnx::GraphProto &graph, Scope &scope,
                          Body &body);

/// The matrix product; batch dimensions broadcast.
FailureOr<TensorRef> multiplyMatrices(Node &node, const TensorRef &left, const TensorRef &right);

/// Sizes of the result of operands that broadcast.
FailureOr<SmallVector<OpFoldResult>> broadcast(Node &node, ArrayRef<TensorRef> operands);
/// An element-by-element function of operands, which broadcast.
FailureOr<TensorRef> applyElementwise(Node &node, ArrayRef<TensorRef> operands, Type element,
                                      ScalarFn scalar);
/// A scalar in another type, as by ONNX's Cast.
Value castScalar(Body &body, Value scalar, Type type);
/// The same element by element; `tensor` itself if it is of that type.
TensorRef castTensor(Body &body, const TensorRef &tensor, Type type);
Value floatConstant(Body &body, Type type, double value);
/// `below` where the float x is negative, else x.
Value bendBelow(Body &body, Value x, Value below);
/// A position in a dimension of `size` as an index; negative ones count from the end.
Value fromEnd(Body &at, Value position, OpFoldResult size);

/// An op on a score or prob with a region on (element, batch, head, q, k).
template <typename Op>
static Op makeModify(Body &body, Value input,
                     function_ref<Value(Body &, Value, ArrayRef<Value>)> build) {
  auto op = Op::create(body.b, body.loc, input.getType(), input);
  SmallVector<Type> types(5, body.b.getIndexType());
  types[0] = cast<RankedTensorType>(input.getType()).getElementType();
  OpBuilder::InsertionGuard guard(body.b);
  Block *block = body.b.createBlock(&op.getBody(), {}, types, SmallVector<Location>(5, body.loc));
  Body inner{body.b, body.loc};
  SmallVector<Value> indices(llvm::drop_begin(block->getArguments()));
  YieldOp::create(body.b, body.loc, build(inner, block->getArgument(0), indices));
  return op;
}

/// `attn.reduce` along `dims`.
TensorRef makeReduce(Body &body, const TensorRef &input, ReduceKind kind, ArrayRef<int64_t> dims,
                     bool keep);
LogicalResult checkFloat(Node &node, const TensorRef &tensor);

using Sizes = SmallVector<OpFoldResult>;
inline OpFoldResult fixedSize(const Node &node, int64_t size) {
  return fixedSize(node.model.context, size);
}
/// The scalars of an input of sizes or positions, called `what` in errors.
FailureOr<SmallVector<Value>> getList(Node &node, int index, StringRef what);

// The entries of each file.
ArrayRef<OpEntry> getActivationOps();
ArrayRef<OpEntry> getElementwiseOps();
ArrayRef<OpEntry> getFusedOps();
ArrayRef<OpEntry> getShapeOps();
ArrayRef<OpEntry> getPartOps();
ArrayRef<OpEntry> getGatherOps();
ArrayRef<OpEntry> getPadOps();
ArrayRef<OpEntry> getPoolOps();
ArrayRef<OpEntry> getQuantizeOps();
ArrayRef<OpEntry> getQuantizedOps();
LogicalResult importConv(Node &node);
SmallVector<AttributeEntry> getConvAttributes();
LogicalResult importConvTranspose(Node &node);
LogicalResult importResize(Node &node);
LogicalResult importScatterNd(Node &node);
LogicalResult importScatterElements(Node &node);
LogicalResult importEinsum(Node &node);
ArrayRef<OpEntry> getMatmulOps();
ArrayRef<OpEntry> getNormalizationOps();
ArrayRef<OpEntry> getReductionOps();
ArrayRef<OpEntry> getAttentionOps();

} // namespace mlir::attn::imports

#endif // ATTNC_LIB_IMPORT_ONNX_IMPORTER_H
