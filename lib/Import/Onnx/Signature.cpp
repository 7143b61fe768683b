//===- Signature.cpp - checks of nodes against their op's entry -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models are untrusted: all that a handler assumes of its node is in the op's entry and checked
// here before the handler runs. The results are checked after it, so that later nodes can rely on
// their sizes.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;
using ::onnx::AttributeProto;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

LogicalResult imports::checkNames(Node &node) {
  for (const std::string &name : node.proto.input())
    if (!name.empty() && !node.scope.contains(name))
      return node.error() << "expected an input that is computed before, found '" << name << "'";
  llvm::StringSet<> outputs;
  for (const std::string &name : node.proto.output())
    if (!name.empty() && (node.scope.contains(name) || !outputs.insert(name).second))
      return node.error() << "expected outputs of new names, found '" << name << "' again";
  return success();
}

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

namespace {
/// One input or output of an entry.
struct Slot {
  char type;
  bool isOptional = false, isVariadic = false;
};
} // namespace

static SmallVector<Slot> parseSlots(StringRef text) {
  SmallVector<Slot> slots;
  for (char c : text) {
    if (c == '?')
      slots.back().isOptional = true;
    else if (c == '*')
      slots.back().isVariadic = true;
    else
      slots.push_back({c});
  }
  return slots;
}

static LogicalResult checkCount(Node &node, ArrayRef<Slot> slots, int64_t count, StringRef what) {
  int64_t most = slots.size();
  int64_t least = llvm::count_if(slots, [](const Slot &slot) { return !slot.isOptional; });
  bool isOpen = most > 0 && slots.back().isVariadic;
  if (count >= least && (count <= most || isOpen))
    return success();
  InFlightDiagnostic error = node.error() << "expected " << least;
  if (isOpen)
    error << " or more";
  else if (most != least)
    error << " to " << most;
  return error << ' ' << what << (most == 1 && !isOpen ? "" : "s") << ", found " << count;
}

static const Slot &getSlot(ArrayRef<Slot> slots, size_t index) {
  return slots[std::min(index, slots.size() - 1)];
}

static bool isOfType(Type element, char type) {
  bool isFloat = isa<FloatType>(element), isBool = element.isInteger(1);
  switch (type) {
  case 'f':
    return isFloat;
  case 'i':
    return !isFloat && !isBool;
  case 'n':
    return !isBool;
  case 'b':
    return isBool;
  default:
    return true;
  }
}

static StringRef describeType(char type) {
  return type == 'f' ? "floats" : type == 'i' ? "integers" : type == 'b' ? "i1" : "numbers";
}

static LogicalResult checkInputs(Node &node, const OpEntry &entry) {
  SmallVector<Slot> slots = parseSlots(entry.inputs);
  if (failed(checkCount(node, slots, node.numInputs(), "input")))
    return failure();
  for (int index = 0; index < node.numInputs(); ++index) {
    const Slot &slot = getSlot(slots, index);
    TensorRef tensor = node.input(index);
    if (!tensor && !slot.isOptional)
      return node.error() << "expected input " << index << ", found none";
    if (tensor && !isOfType(tensor->element, slot.type))
      return node.error() << "expected " << describeType(slot.type) << " as input " << index
                          << ", found " << tensor->element;
  }
  return success();
}

static LogicalResult checkOutputs(Node &node, const OpEntry &entry) {
  SmallVector<Slot> slots = parseSlots(entry.outputs);
  if (failed(checkCount(node, slots, node.proto.output_size(), "output")))
    return failure();
  // Of any number of outputs the first alone must have a name.
  for (auto [index, slot] : llvm::enumerate(slots))
    if (!slot.isOptional && !node.wantsOutput(index))
      return node.error() << "expected a name for output " << index << ", found none";
  return success();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static bool hasValue(const AttributeProto &attribute, AttributeProto::AttributeType type) {
  switch (type) {
  case Int:
    return attribute.has_i();
  case Float:
    return attribute.has_f();
  case String:
    return attribute.has_s();
  case Dense:
    return attribute.has_t();
  case Graph:
    return attribute.has_g();
  default:
    return true; // An empty list leaves no trace.
  }
}

static LogicalResult checkAttribute(Node &node, const OpEntry &entry,
                                    const AttributeProto &attribute) {
  const auto *known = llvm::find_if(
      entry.attributes, [&](const AttributeEntry &own) { return own.name == attribute.name(); });
  if (known == entry.attributes.end())
    return node.error() << "attribute '" << attribute.name() << "' is not supported";
  auto found = attribute.type();
  // Files of old do not say the type.
  if (found == AttributeProto::UNDEFINED && hasValue(attribute, known->type))
    found = known->type;
  if (found != known->type)
    return node.error() << "expected attribute '" << attribute.name() << "' of type "
                        << AttributeProto::AttributeType_Name(known->type) << ", found "
                        << AttributeProto::AttributeType_Name(found);
  return success();
}

static LogicalResult checkAttributes(Node &node, const OpEntry &entry) {
  llvm::StringSet<> names;
  for (const AttributeProto &attribute : node.proto.attribute()) {
    if (failed(checkAttribute(node, entry, attribute)))
      return failure();
    if (!names.insert(attribute.name()).second)
      return node.error() << "expected attribute '" << attribute.name() << "' once, found it again";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

static LogicalResult checkResults(Node &node) {
  for (const std::string &name : node.proto.output()) {
    auto found = node.scope.find(name);
    if (name.empty() || found == node.scope.end())
      continue;
    RankedTensorType type = found->second->getType();
    if (!isAddressable(type.getShape()))
      return node.error() << "expected a result " << kAddressable << ", found " << type;
  }
  if (node.model.budget->hasTooManyOps())
    return node.error() << "expected a model that becomes at most " << Budget::kMostOps
                        << " operations, found more here";
  return success();
}

//===----------------------------------------------------------------------===//
// UINT8
//===----------------------------------------------------------------------===//

static bool readsBytes(const Node &node) {
  for (int index = 0; index < node.numInputs(); ++index)
    if (TensorRef input = node.input(index); input && input->isByte)
      return true;
  return false;
}

/// Whether an op on UINT8 may give numbers beyond it, which ONNX wraps around.
static bool mayExceedByte(StringRef op) {
  return llvm::StringSwitch<bool>(op)
      .Cases({"Add", "Sub", "Mul", "Pow", "Neg", "Sum", "BitShift", "BitwiseNot", "CumSum",
              "Einsum", "ReduceSum", "ReduceSumSquare", "ReduceProd", "ReduceL1"},
             true)
      .Default(false);
}

static bool castsToBytes(const Node &node) {
  return node.getInt("to", 0) == ::onnx::TensorProto::UINT8 ||
         (node.getOp() == "CastLike" && node.input(1)->isByte);
}

/// Results of what moves, selects or makes bytes are bytes; those of a cast from them, and sums of
/// products, are integers.
static void markBytes(Node &node, bool areRead) {
  StringRef op = node.getOp();
  bool isCast = op == "Cast" || op == "CastLike",
       areSums = op == "MatMulInteger" || op == "ConvInteger",
       areMade = op == "QuantizeLinear" || op == "DynamicQuantizeLinear";
  bool areBytes = isCast ? castsToBytes(node) : !areSums && (areMade || areRead);
  for (const std::string &name : node.proto.output()) {
    TensorRef result = node.scope.lookup(name);
    if (!result || result->element != getByteType(node.model.context) || result->isByte == areBytes)
      continue;
    // A cast to i32 shares the tensor of its input.
    node.scope[name] = result = std::make_shared<Tensor>(*result);
    result->isByte = areBytes;
  }
}

LogicalResult imports::importChecked(Node &node, const OpEntry &entry) {
  if (node.getOpset() < entry.since)
    return node.error() << "expected opset " << entry.since << " or later";
  if (failed(checkAttributes(node, entry)) || failed(checkInputs(node, entry)) ||
      failed(checkOutputs(node, entry)))
    return failure();
  bool areBytes = readsBytes(node);
  if (areBytes && mayExceedByte(node.getOp()))
    return node.error() << "expected numbers of another type than UINT8, which wrap around";
  if (failed(entry.import(node)))
    return failure();
  markBytes(node, areBytes);
  return checkResults(node);
}
