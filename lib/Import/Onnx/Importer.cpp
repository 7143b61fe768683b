//===- Importer.cpp - the walk over an ONNX graph -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Importer.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Import/Onnx/Import.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;
using ::onnx::AttributeProto;

//===----------------------------------------------------------------------===//
// Node
//===----------------------------------------------------------------------===//

/// Of a node, an import or a function.
template <typename Proto>
static StringRef getDomain(const Proto &proto) {
  return proto.domain() == "ai.onnx" ? StringRef() : StringRef(proto.domain());
}

int64_t Node::getOpset() const { return model.opsets.lookup(getDomain(proto)); }

InFlightDiagnostic Node::error() const { return emitError(body.loc); }

/// The node's name in messages: `node 'x' (Add, opset 17)`.
static std::string describe(const Context &model, const ::onnx::NodeProto &proto) {
  StringRef domain = getDomain(proto);
  // A node without a name is named by its first output.
  std::string text = !proto.name().empty() || proto.output_size() == 0
                         ? "node '" + proto.name()
                         : "node of '" + proto.output(0);
  text += "' (" + (domain.empty() ? "" : domain + ".").str() + proto.op_type() + ", opset ";
  return text + std::to_string(model.opsets.lookup(domain)) + ")";
}

static Location getLocation(const Context &model, const ::onnx::NodeProto &proto) {
  return NameLoc::get(StringAttr::get(model.context, describe(model, proto)), model.loc);
}

TensorRef Node::input(int index) const {
  if (index >= proto.input_size() || proto.input(index).empty())
    return nullptr;
  return scope.lookup(proto.input(index));
}

void Node::setOutput(int index, TensorRef tensor) {
  if (wantsOutput(index))
    scope[proto.output(index)] = std::move(tensor);
}

const AttributeProto *Node::getAttribute(StringRef name) const {
  for (const AttributeProto &attribute : proto.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

int64_t Node::getInt(StringRef name, int64_t otherwise) const {
  const AttributeProto *attribute = getAttribute(name);
  return attribute ? attribute->i() : otherwise;
}

double Node::getFloat(StringRef name, double otherwise) const {
  const AttributeProto *attribute = getAttribute(name);
  return attribute ? attribute->f() : otherwise;
}

StringRef Node::getString(StringRef name, StringRef otherwise) const {
  const AttributeProto *attribute = getAttribute(name);
  return attribute ? StringRef(attribute->s()) : otherwise;
}

std::optional<SmallVector<int64_t>> Node::getInts(StringRef name) const {
  const AttributeProto *attribute = getAttribute(name);
  if (!attribute)
    return std::nullopt;
  return SmallVector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}

FailureOr<Type> Node::getType(StringRef name) const {
  const AttributeProto *attribute = getAttribute(name);
  if (!attribute)
    return Type();
  bool fits = attribute->i() == int32_t(attribute->i());
  Type type = fits ? getElementType(attribute->i(), model.context) : Type();
  if (!type)
    return error() << "expected attribute '" << name << "' to be a supported element type, found "
                   << (fits ? getDataTypeName(attribute->i()) : std::to_string(attribute->i()));
  return type;
}

FailureOr<SmallVector<int64_t>> Node::getConstants(int index, StringRef what) const {
  TensorRef tensor = input(index);
  SmallVector<int64_t> constants;
  if (!tensor || !tensor->elements)
    return error() << "expected " << what << " to be known at compile time";
  for (Value element : *tensor->elements) {
    auto constant = getConstantInt(element);
    if (!constant)
      return error() << "expected " << what << " to be known at compile time";
    constants.push_back(*constant);
  }
  return constants;
}

FailureOr<std::optional<SmallVector<int64_t>>> Node::getAxes(int index) const {
  if (!input(index))
    return getInts("axes");
  FailureOr<SmallVector<int64_t>> axes = getConstants(index, "axes");
  if (failed(axes))
    return failure();
  return std::optional<SmallVector<int64_t>>(*axes);
}

FailureOr<int64_t> Node::getDim(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    return error() << "expected an axis of a tensor of rank " << rank << ", found " << axis;
  return axis < 0 ? axis + rank : axis;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

const OpEntry *imports::findOp(StringRef domain, StringRef name) {
  for (ArrayRef<OpEntry> entries :
       {getActivationOps(), getAttentionOps(), getElementwiseOps(), getFusedOps(), getGatherOps(),
        getMatmulOps(), getNormalizationOps(), getPadOps(), getPartOps(), getPoolOps(),
        getQuantizeOps(), getQuantizedOps(), getReductionOps(), getShapeOps()})
    for (const OpEntry &entry : entries)
      if (entry.name == name && entry.domain == domain)
        return &entry;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Parts of a fused op
//===----------------------------------------------------------------------===//

PartNode::PartNode(Node &whole, StringRef op, ArrayRef<TensorRef> inputs) : whole(whole) {
  proto.set_op_type(op.str());
  proto.add_output("result");
  for (auto [index, tensor] : llvm::enumerate(inputs)) {
    std::string name = tensor ? "input" + std::to_string(index) : "";
    proto.add_input(name);
    if (tensor)
      scope[name] = tensor;
  }
}

AttributeProto &PartNode::add(StringRef name, AttributeProto::AttributeType type) {
  AttributeProto *attribute = proto.add_attribute();
  attribute->set_name(name.str());
  attribute->set_type(type);
  return *attribute;
}

PartNode &PartNode::set(StringRef name, int64_t value) {
  add(name, Int).set_i(value);
  return *this;
}

PartNode &PartNode::set(StringRef name, double value) {
  add(name, Float).set_f(value);
  return *this;
}

PartNode &PartNode::set(StringRef name, StringRef value) {
  add(name, String).set_s(value.str());
  return *this;
}

PartNode &PartNode::set(StringRef name, ArrayRef<int64_t> values) {
  AttributeProto &attribute = add(name, Ints);
  for (int64_t value : values)
    attribute.add_ints(value);
  return *this;
}

PartNode &PartNode::take(StringRef theirs, StringRef ours) {
  if (const AttributeProto *attribute = whole.getAttribute(theirs)) {
    *proto.add_attribute() = *attribute;
    proto.mutable_attribute()->rbegin()->set_name(ours.str());
  }
  return *this;
}

PartNode &PartNode::takeAll() {
  proto.mutable_attribute()->MergeFrom(whole.proto.attribute());
  return *this;
}

FailureOr<TensorRef> PartNode::import() {
  // Parts are of this opset, whatever the model's.
  constexpr int64_t opset = 23;
  Context model = whole.model;
  model.opsets[""] = opset;
  Node node(model, proto, scope, whole.body);
  const OpEntry *entry = findOp("", node.getOp());
  if (!entry)
    return whole.error() << "the op is not supported with " << node.getOp();
  if (failed(importChecked(node, *entry)))
    return failure();
  return scope.lookup("result");
}

//===----------------------------------------------------------------------===//
// Functions of the model
//===----------------------------------------------------------------------===//

using NodeProtos = ::google::protobuf::RepeatedPtrField<::onnx::NodeProto>;
using OpsetProtos = ::google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>;

static LogicalResult importNodes(const Context &model, const NodeProtos &nodes, Scope &scope,
                                 Body &body);

static void readOpsets(const OpsetProtos &protos, llvm::StringMap<int64_t> &opsets) {
  for (const auto &import : protos)
    opsets[getDomain(import)] = import.version();
}

/// The name of a function, and of the one that a node calls.
template <typename Proto>
static std::string getFunctionName(const Proto &proto, StringRef name) {
  return (getDomain(proto) + "::" + name + ":" + StringRef(proto.overload())).str();
}

/// Gives nodes, and those of their graphs, the attributes that they name.
static void bindAttributes(NodeProtos &nodes,
                           function_ref<const AttributeProto *(StringRef name)> find) {
  for (::onnx::NodeProto &node : nodes) {
    auto attributes = node.attribute();
    node.clear_attribute();
    for (AttributeProto &attribute : attributes) {
      const AttributeProto *bound = &attribute;
      if (!attribute.ref_attr_name().empty())
        bound = find(attribute.ref_attr_name());
      else if (attribute.has_g())
        bindAttributes(*attribute.mutable_g()->mutable_node(), find);
      // One that the call leaves out is not there.
      if (!bound)
        continue;
      *node.add_attribute() = *bound;
      node.mutable_attribute()->rbegin()->set_name(attribute.name());
    }
  }
}

/// The function's nodes as the call's attributes, or the function's own, make them.
static NodeProtos bindAttributes(const Node &call, const ::onnx::FunctionProto &function) {
  NodeProtos nodes = function.node();
  bindAttributes(nodes, [&](StringRef name) -> const AttributeProto * {
    if (const AttributeProto *attribute = call.getAttribute(name))
      return attribute;
    for (const AttributeProto &attribute : function.attribute_proto())
      if (attribute.name() == name)
        return &attribute;
    return nullptr;
  });
  return nodes;
}

/// A call of a function is its nodes in a scope of their own.
static LogicalResult importCall(Node &call, const ::onnx::FunctionProto &function) {
  Context inner = call.model;
  if (++inner.depth > 32)
    return call.error() << "expected functions that do not call themselves";
  // A copy costs as its bytes do.
  inner.budget->addNodes(function.ByteSizeLong() / 1024);
  readOpsets(function.opset_import(), inner.opsets);
  if (call.numInputs() > function.input_size())
    return call.error() << "expected at most " << function.input_size() << " inputs, found "
                        << call.numInputs();
  Scope scope;
  for (int index = 0; index < function.input_size(); ++index)
    scope[function.input(index)] = call.input(index);
  if (failed(importNodes(inner, bindAttributes(call, function), scope, call.body)))
    return failure();
  for (int index = 0; index < function.output_size(); ++index) {
    TensorRef result = scope.lookup(function.output(index));
    if (!result && call.wantsOutput(index))
      return call.error() << "expected the function to compute '" << function.output(index) << "'";
    call.setOutput(index, result);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

static LogicalResult importNode(Node &node) {
  node.model.budget->addNodes(1);
  if (node.model.budget->hasTooManyNodes())
    return node.error() << "expected a model of at most " << Budget::kMostNodes
                        << " nodes, those of functions counted at each call, found more";
  if (failed(checkNames(node)))
    return failure();
  if (const auto *function = node.model.functions.lookup(getFunctionName(node.proto, node.getOp())))
    return importCall(node, *function);
  StringRef domain = getDomain(node.proto);
  if (!node.model.opsets.contains(domain))
    return node.error() << "expected the model to import the op's domain";
  const OpEntry *entry = findOp(domain, node.getOp());
  if (!entry)
    return node.error() << "the op is not supported";
  if (failed(importChecked(node, *entry)))
    return failure();
  for (int index = 0; index < node.proto.output_size(); ++index)
    if (node.wantsOutput(index) && !node.scope.contains(node.proto.output(index)))
      return node.error() << "output " << index << " is not supported";
  return success();
}

FailureOr<TensorRef> imports::readConstant(const Context &model, const ::onnx::TensorProto &proto,
                                           Body &body, Report error) {
  auto elements = getElements(proto, model.file, model.context, error);
  if (failed(elements))
    return failure();
  TensorRef constant = makeConstant(body, *elements);
  constant->isByte = proto.data_type() == ::onnx::TensorProto::UINT8;
  return constant;
}

static LogicalResult importInitializers(const Context &model, const ::onnx::GraphProto &graph,
                                        Scope &scope, Body &body) {
  for (const ::onnx::TensorProto &tensor : graph.initializer()) {
    FailureOr<TensorRef> constant =
        readConstant(model, tensor, body, [&] { return emitError(body.loc); });
    if (failed(constant))
      return failure();
    if (!scope.try_emplace(tensor.name(), *constant).second)
      return emitError(body.loc) << "expected initializers of new names, found '" << tensor.name()
                                 << "' again";
  }
  if (graph.sparse_initializer_size() > 0)
    return emitError(body.loc) << "sparse initializers are not supported";
  return success();
}

/// Visits the names that a node reads, and those that the nodes of its graphs do.
static void visitReads(const ::onnx::NodeProto &node, function_ref<void(StringRef)> visit) {
  for (const std::string &name : node.input())
    visit(name);
  for (const AttributeProto &attribute : node.attribute())
    for (const ::onnx::NodeProto &inner : attribute.g().node())
      visitReads(inner, visit);
}

namespace {
/// Nodes in an order in which each comes after those that it reads: some tools append nodes where
/// they don't belong. Of a cycle, whatever order.
class SortedNodes {
public:
  explicit SortedNodes(const NodeProtos &nodes) : nodes(nodes), isPlaced(nodes.size()) {
    for (auto [index, node] : llvm::enumerate(nodes))
      for (const std::string &name : node.output())
        if (!name.empty())
          makers.try_emplace(name, index);
    for (size_t index = 0; index < isPlaced.size(); ++index)
      place(index);
  }

  std::vector<const ::onnx::NodeProto *> order;

private:
  /// Places a node, and before it what it reads; chains may be long.
  void place(size_t index) {
    std::vector<std::pair<size_t, bool>> open = {{index, false}};
    while (!open.empty()) {
      auto [next, areReadsPlaced] = open.back();
      open.pop_back();
      if (areReadsPlaced)
        order.push_back(&nodes[next]);
      if (areReadsPlaced || isPlaced[next])
        continue;
      isPlaced[next] = true;
      open.push_back({next, true});
      visitReads(nodes[next], [&](StringRef name) {
        auto maker = makers.find(name);
        if (maker != makers.end() && !isPlaced[maker->second])
          open.push_back({maker->second, false});
      });
    }
  }

  const NodeProtos &nodes;
  std::vector<bool> isPlaced;
  llvm::StringMap<size_t> makers;
};
} // namespace

static LogicalResult importNodes(const Context &model, const NodeProtos &nodes, Scope &scope,
                                 Body &body) {
  llvm::SaveAndRestore<Location> around(body.loc);
  for (const ::onnx::NodeProto *proto : SortedNodes(nodes).order) {
    body.loc = getLocation(model, *proto);
    Node node(model, *proto, scope, body);
    if (failed(importNode(node)))
      return failure();
  }
  return success();
}

LogicalResult imports::importNodes(const Context &model, const ::onnx::GraphProto &graph,
                                   Scope &scope, Body &body) {
  if (failed(importInitializers(model, graph, scope, body)))
    return failure();
  return ::importNodes(model, graph.node(), scope, body);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

namespace {
/// Imports the graph of a model as a function.
class GraphImporter {
public:
  GraphImporter(const ::onnx::ModelProto &proto, Context model)
      : proto(proto), model(std::move(model)), builder(this->model.context, &budget),
        loc(this->model.loc) {
    this->model.budget = &budget;
  }

  OwningOpRef<ModuleOp> import();

private:
  LogicalResult readModel();
  void reserveIdentifiers();
  LogicalResult addArguments();
  FailureOr<RankedTensorType> getType(const ::onnx::ValueInfoProto &info);
  DictionaryAttr getAttributes(const ::onnx::ValueInfoProto &info, bool isArgument);
  void bindArgument(const ::onnx::ValueInfoProto &info, BlockArgument argument);
  LogicalResult addResults();

  const ::onnx::ModelProto &proto;
  Budget budget;
  Context model;
  OpBuilder builder;
  Location loc;
  func::FuncOp function;
  Scope scope;
  llvm::StringSet<> names, initializers;
  /// Names of inputs and results that are identifiers of C, until one of them takes it.
  llvm::StringSet<> identifiers;
  /// One value for each symbolic dimension.
  llvm::StringMap<Value> symbols;
};
} // namespace

/// Before opset 7, operands broadcast by other rules; opsets after the last known one may change
/// ops.
LogicalResult GraphImporter::readModel() {
  constexpr int64_t first = 7, last = 28;
  ::readOpsets(proto.opset_import(), model.opsets);
  auto opset = model.opsets.find("");
  if (opset != model.opsets.end() && (opset->second < first || opset->second > last))
    return emitError(loc) << "expected an opset from " << first << " to " << last << ", found "
                          << opset->second;
  for (const auto &function : proto.functions())
    model.functions[getFunctionName(function, function.name())] = &function;
  return success();
}

FailureOr<RankedTensorType> GraphImporter::getType(const ::onnx::ValueInfoProto &info) {
  auto error = [&] { return emitError(loc) << "'" << info.name() << "': "; };
  if (!info.type().has_tensor_type())
    return error() << "expected a tensor, found another type";
  const auto &type = info.type().tensor_type();
  Type element = getElementType(type.elem_type(), model.context);
  if (!element)
    return error() << describeUnsupported(type.elem_type());
  if (!type.has_shape())
    return error() << "expected a rank, found none";
  SmallVector<int64_t> shape;
  for (const auto &dim : type.shape().dim()) {
    if (dim.has_dim_value() && dim.dim_value() < 0)
      return error() << "expected sizes that are not negative, found " << dim.dim_value();
    shape.push_back(dim.has_dim_value() ? dim.dim_value() : ShapedType::kDynamic);
  }
  if (!isAddressable(shape))
    return error() << "expected a tensor " << kAddressable << ", found "
                   << RankedTensorType::get(shape, element);
  return RankedTensorType::get(shape, element);
}

/// Results take their dimensions from the graph: a model's words for them may be
/// missing or differ from those of the inputs.
DictionaryAttr GraphImporter::getAttributes(const ::onnx::ValueInfoProto &info, bool isArgument) {
  NamedAttrList attributes;
  std::string name = toCIdentifier(info.name(), "tensor");
  bool keepsName = name == info.name() && identifiers.erase(name);
  attributes.set(kNameAttr, builder.getStringAttr(keepsName ? name : makeUnique(name, names)));
  SmallVector<Attribute> dims;
  bool symbolic = false, complete = true;
  for (const auto &dim : info.type().tensor_type().shape().dim()) {
    symbolic |= !dim.dim_param().empty();
    complete &= dim.has_dim_value() || !dim.dim_param().empty();
    if (dim.has_dim_value())
      dims.push_back(builder.getI64IntegerAttr(dim.dim_value()));
    else
      dims.push_back(builder.getStringAttr(toCIdentifier(dim.dim_param(), "dim")));
  }
  if (isArgument && symbolic && complete)
    attributes.set(kDimsAttr, builder.getArrayAttr(dims));
  return attributes.getDictionary(model.context);
}

void GraphImporter::bindArgument(const ::onnx::ValueInfoProto &info, BlockArgument argument) {
  SmallVector<OpFoldResult> sizes;
  for (auto [index, dim] : llvm::enumerate(info.type().tensor_type().shape().dim())) {
    if (dim.has_dim_value()) {
      sizes.push_back(builder.getIndexAttr(dim.dim_value()));
      continue;
    }
    Value &size = symbols[dim.dim_param()];
    if (!size || dim.dim_param().empty())
      size = tensor::DimOp::create(builder, loc, argument, index);
    sizes.push_back(size);
  }
  scope[info.name()] = makeComputed(argument, sizes);
}

/// Others get names beside those that need no change.
void GraphImporter::reserveIdentifiers() {
  for (const auto *infos : {&proto.graph().input(), &proto.graph().output()})
    for (const auto &info : *infos)
      if (!initializers.contains(info.name()) &&
          toCIdentifier(info.name(), "tensor") == info.name() && names.insert(info.name()).second)
        identifiers.insert(info.name());
}

LogicalResult GraphImporter::addArguments() {
  for (const auto &tensor : proto.graph().initializer())
    initializers.insert(tensor.name());
  reserveIdentifiers();
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  SmallVector<const ::onnx::ValueInfoProto *> inputs;
  llvm::StringSet<> inputNames;
  for (const auto &input : proto.graph().input()) {
    if (initializers.contains(input.name()))
      continue;
    if (input.name().empty() || !inputNames.insert(input.name()).second)
      return emitError(loc) << "expected inputs of different names, found '" << input.name()
                            << "' again";
    FailureOr<RankedTensorType> type = getType(input);
    if (failed(type))
      return failure();
    types.push_back(*type);
    attributes.push_back(getAttributes(input, /*isArgument=*/true));
    inputs.push_back(&input);
  }
  std::string name = toCIdentifier(proto.graph().name(), "model");
  function = func::FuncOp::create(builder, loc, name, builder.getFunctionType(types, {}));
  function.setAllArgAttrs(attributes);
  builder.setInsertionPointToStart(function.addEntryBlock());
  for (auto [input, argument] : llvm::zip(inputs, function.getArguments()))
    bindArgument(*input, argument);
  return success();
}

LogicalResult GraphImporter::addResults() {
  Body body{builder, loc};
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributes;
  for (const auto &output : proto.graph().output()) {
    TensorRef tensor = scope.lookup(output.name());
    if (!tensor)
      return emitError(loc) << "output '" << output.name() << "': no node computes it";
    Value value = materialize(body, tensor);
    if (output.type().tensor_type().elem_type() == ::onnx::TensorProto::UINT8)
      return emitError(loc) << "output '" << output.name()
                            << "': " << describeUnsupported(::onnx::TensorProto::UINT8);
    if (output.type().has_tensor_type() && output.type().tensor_type().has_shape()) {
      FailureOr<RankedTensorType> type = getType(output);
      if (failed(type))
        return failure();
      auto found = cast<RankedTensorType>(value.getType());
      if (found.getElementType() != type->getElementType() ||
          failed(verifyCompatibleShape(*type, found)))
        return emitError(loc) << "output '" << output.name() << "': expected " << *type
                              << " as the model says, found " << found;
    }
    values.push_back(value);
    attributes.push_back(getAttributes(output, /*isArgument=*/false));
  }
  if (values.empty())
    return emitError(loc) << "expected at least one output, found none";
  if (budget.hasTooManyOps())
    return emitError(loc) << "expected a model that becomes at most " << Budget::kMostOps
                          << " operations, found more";
  func::ReturnOp::create(builder, loc, values);
  auto types = llvm::map_to_vector(values, [](Value value) { return value.getType(); });
  function.setType(builder.getFunctionType(function.getArgumentTypes(), types));
  function.setAllResultAttrs(attributes);
  return success();
}

using Resource = DialectResourceBlobManager::BlobEntry;

/// The resources that hold the constants of `module`.
static llvm::SmallPtrSet<Resource *, 32> findResources(ModuleOp module) {
  llvm::SmallPtrSet<Resource *, 32> resources;
  module.walk([&](arith::ConstantOp constant) {
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue()))
      resources.insert(resource.getRawHandle().getResource());
  });
  return resources;
}

/// A node's intermediate tensors may be larger than its result.
static LogicalResult checkSizes(ModuleOp module) {
  WalkResult walk = module.walk([](Operation *op) -> WalkResult {
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type);
          tensor && !isAddressable(tensor.getShape()))
        return emitError(op->getLoc())
               << "expected tensors " << kAddressable << ", found " << tensor;
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

OwningOpRef<ModuleOp> GraphImporter::import() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToEnd(module->getBody());
  if (failed(readModel()) || failed(addArguments()))
    return nullptr;
  Body body{builder, loc};
  if (failed(importNodes(model, proto.graph(), scope, body)) || failed(addResults()) ||
      failed(verify(*module)))
    return nullptr;
  // Erases values read by shape arithmetic alone, and frees weights that were repacked.
  auto made = findResources(*module);
  IRRewriter rewriter(model.context);
  (void)runRegionDCE(rewriter, function->getRegions());
  auto used = findResources(*module);
  for (Resource *resource : made)
    if (!used.contains(resource))
      resource->setBlob({});
  if (failed(checkSizes(*module)))
    return nullptr;
  return module;
}

OwningOpRef<ModuleOp> attn::importOnnx(StringRef path, MLIRContext *context) {
  context->loadDialect<AttnDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect,
                       tensor::TensorDialect>();
  Location loc = FileLineColLoc::get(context, path, 0, 0);
  auto model = readModel(path, [&] { return emitError(loc); });
  if (!model)
    return nullptr;
  return GraphImporter(model->proto, {context, loc, *model}).import();
}
