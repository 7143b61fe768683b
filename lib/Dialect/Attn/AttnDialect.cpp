//===- AttnDialect.cpp - the attn dialect: registration and argument attributes
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

#include "attnc/Dialect/Attn/AttnDialect.cpp.inc"
#include "attnc/Dialect/Attn/AttnEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "attnc/Dialect/Attn/AttnAttrs.cpp.inc"

namespace {
/// All ops may be inlined.
struct AttnInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final { return true; }
};
} // namespace

void AttnDialect::initialize() {
  addInterfaces<AttnInlinerInterface>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "attnc/Dialect/Attn/AttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "attnc/Dialect/Attn/AttnOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Names that no op has
//===----------------------------------------------------------------------===//

/// The op's name that differs least from `name`, empty if none is like it.
static StringRef findSimilarOp(MLIRContext *context, StringRef name) {
  StringRef nearest;
  unsigned distance = name.size() / 3;
  for (RegisteredOperationName op : context->getRegisteredOperations()) {
    if (!isa<AttnDialect>(op.getDialect()))
      continue;
    unsigned found = name.edit_distance(op.getStringRef(), /*AllowReplacements=*/true, distance);
    if (found > distance)
      continue;
    nearest = op.getStringRef();
    distance = found;
  }
  return nearest;
}

static ParseResult suggestSimilarOp(OpAsmParser &parser, OperationState &state) {
  StringRef name = state.name.getStringRef();
  return mlir::emitError(state.location, "custom op '")
         << name << "' is unknown; did you mean '" << findSimilarOp(parser.getContext(), name)
         << "'?";
}

std::optional<Dialect::ParseOpHook> AttnDialect::getParseOperationHook(StringRef name) const {
  if (findSimilarOp(getContext(), name).empty())
    return std::nullopt;
  return ParseOpHook(suggestSimilarOp);
}

//===----------------------------------------------------------------------===//
// Attributes of arguments and results
//===----------------------------------------------------------------------===//

/// Keywords of C and C++, macros of their libraries' headers, and the type of a library's tensors.
static constexpr StringLiteral kKeywords =
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
    "char32_t char8_t class co_await co_return co_yield compl concept const const_cast "
    "consteval constexpr constinit continue decltype default delete do double dynamic_cast "
    "else enum explicit export extern false float for friend goto if inline int long mutable "
    "namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
    "register reinterpret_cast requires restrict return short signed sizeof static "
    "static_assert static_cast struct switch template this thread_local throw true try "
    "typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile "
    "wchar_t while xor xor_eq _Alignas _Alignof _Atomic _Bool _Complex _Generic _Imaginary "
    "_Noreturn _Static_assert _Thread_local BUFSIZ EDOM EILSEQ EOF ERANGE EXIT_FAILURE "
    "EXIT_SUCCESS HUGE_VAL INFINITY NAN NDEBUG NULL SEEK_CUR SEEK_END SEEK_SET assert errno linux "
    "offsetof stderr stdin stdout unix DLTensor";

/// Whether a name looks like a limit in C's headers, such as INT_MAX or FLT_MIN.
static bool isLimit(StringRef name) {
  return (name.ends_with("_MAX") || name.ends_with("_MIN")) && name == name.upper();
}

bool attn::isCIdentifier(StringRef name) {
  static const llvm::StringSet<> keywords = [] {
    llvm::StringSet<> words;
    for (StringRef word : llvm::split(kKeywords, ' '))
      words.insert(word);
    return words;
  }();
  if (name.empty() || llvm::isDigit(name.front()) || keywords.contains(name) || isLimit(name))
    return false;
  return llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

std::string attn::toCIdentifier(StringRef name, StringRef otherwise) {
  if (name.empty())
    return otherwise.str();
  std::string text = name.str();
  for (char &c : text)
    c = llvm::isAlnum(c) ? c : '_';
  return isCIdentifier(text) ? text : "_" + text;
}

std::string attn::makeUnique(StringRef name, llvm::StringSet<> &names) {
  std::string unique = name.str();
  for (int number = 1; !names.insert(unique).second; ++number)
    unique = (name + "_" + Twine(number)).str();
  return unique;
}

static std::string getNameOr(Attribute name, const Twine &otherwise) {
  return name ? cast<StringAttr>(name).str() : otherwise.str();
}

std::string attn::getArgumentName(FunctionOpInterface function, unsigned index) {
  return getNameOr(function.getArgAttr(index, kNameAttr), "arg" + Twine(index));
}

std::string attn::getResultName(FunctionOpInterface function, unsigned index) {
  return getNameOr(function.getResultAttr(index, kNameAttr), "out" + Twine(index));
}

namespace {
/// An argument or a result with an attribute.
struct Parameter {
  FunctionOpInterface function;
  bool isResult;
  unsigned index;

  Type getType() {
    return isResult ? function.getResultTypes()[index] : function.getArgumentTypes()[index];
  }
  InFlightDiagnostic emitError(const Twine &message);
};
} // namespace

/// At the argument, if it has a place, and with its number; its name may be what is wrong.
InFlightDiagnostic Parameter::emitError(const Twine &message) {
  Location loc = function.getLoc();
  if (Region &body = function.getFunctionBody(); !isResult && index < body.getNumArguments())
    loc = body.getArgument(index).getLoc();
  return mlir::emitError(isa<UnknownLoc>(loc) ? function.getLoc() : loc)
         << (isResult ? "result " : "argument ") << index << ": " << message;
}

/// The name of argument or result `index`, null if it has none.
static Attribute nameOf(FunctionOpInterface function, bool isResult, unsigned index) {
  return isResult ? function.getResultAttr(index, kNameAttr)
                  : function.getArgAttr(index, kNameAttr);
}

/// Whether an earlier argument or result has the same name.
static bool isNameTaken(Parameter parameter, Attribute name) {
  auto [function, isResult, index] = parameter;
  unsigned numArguments = isResult ? function.getNumArguments() : index;
  for (unsigned i = 0; i < numArguments; ++i)
    if (nameOf(function, false, i) == name)
      return true;
  for (unsigned i = 0; isResult && i < index; ++i)
    if (nameOf(function, true, i) == name)
      return true;
  return false;
}

static LogicalResult verifyName(Parameter parameter, Attribute attribute) {
  auto name = dyn_cast<StringAttr>(attribute);
  if (!name)
    return parameter.emitError("expected attn.name to be a string, found ") << attribute;
  if (!isCIdentifier(name.getValue()))
    return parameter.emitError("expected attn.name to be a C identifier, found ") << name;
  if (isNameTaken(parameter, name))
    return parameter.emitError("expected every attn.name once, found ") << name << " twice";
  return success();
}

/// One entry of attn.dims: a symbol, or the static size repeated.
static LogicalResult verifyDim(Parameter parameter, unsigned dim, Attribute entry, int64_t size) {
  if (auto symbol = dyn_cast<StringAttr>(entry); symbol && !symbol.getValue().empty())
    return success();
  auto number = dyn_cast<IntegerAttr>(entry);
  if (!number)
    return parameter.emitError("expected attn.dims to hold symbols and sizes, found ") << entry;
  if (ShapedType::isDynamic(size))
    return parameter.emitError("expected a symbol for dynamic dimension ")
           << dim << " in attn.dims, found " << entry;
  if (number.getValue().trySExtValue() != size)
    return parameter.emitError("expected attn.dims to repeat size ")
           << size << " of dimension " << dim << ", found " << entry;
  return success();
}

static LogicalResult verifyDims(Parameter parameter, Attribute attribute) {
  auto dims = dyn_cast<ArrayAttr>(attribute);
  if (!dims)
    return parameter.emitError("expected attn.dims to be an array, found ") << attribute;
  auto shaped = dyn_cast<ShapedType>(parameter.getType());
  if (!shaped || !shaped.hasRank())
    return parameter.emitError("expected attn.dims on a ranked tensor, found ")
           << parameter.getType();
  if (static_cast<int64_t>(dims.size()) != shaped.getRank())
    return parameter.emitError("expected attn.dims with ")
           << shaped.getRank() << " entries, found " << dims.size();
  for (auto [dim, entry] : llvm::enumerate(dims))
    if (failed(verifyDim(parameter, dim, entry, shaped.getDimSize(dim))))
      return failure();
  return success();
}

/// A weight is a tensor of a file: only arguments can be weights.
static LogicalResult verifyWeight(Parameter parameter, Attribute attribute) {
  if (parameter.isResult)
    return parameter.emitError("expected attn.weight on an argument, found it on a result");
  auto name = dyn_cast<StringAttr>(attribute);
  if (!name || name.getValue().empty())
    return parameter.emitError("expected attn.weight to name a tensor, found ") << attribute;
  return success();
}

/// Marks an argument of the host function that was a result.
static LogicalResult verifyResult(Parameter parameter, Attribute attribute) {
  if (parameter.isResult || !isa<UnitAttr>(attribute))
    return parameter.emitError("expected attn.result on an argument and without value");
  return success();
}

/// A result names the earlier argument whose memory it may share.
static LogicalResult verifyInPlace(Parameter parameter, Attribute attribute) {
  auto [function, isResult, index] = parameter;
  auto number = dyn_cast<IntegerAttr>(attribute);
  if (isResult || !function.getArgAttr(index, kResultAttr) || !number ||
      !number.getValue().isIntN(32) || number.getValue().getZExtValue() >= index)
    return parameter.emitError("expected attn.in_place on an argument with attn.result and with "
                               "the number of an argument before it, found ")
           << attribute;
  auto types = function.getArgumentTypes();
  unsigned other = number.getValue().getZExtValue();
  if (types[other] != types[index])
    return parameter.emitError("expected attn.in_place to number an argument of type ")
           << types[index] << ", found " << types[other];
  return success();
}

static LogicalResult verifyAttribute(Operation *op, bool isResult, unsigned index,
                                     NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError("expected ") << attribute.getName() << " on a function only";
  Parameter parameter{function, isResult, index};
  if (attribute.getName() == kNameAttr)
    return verifyName(parameter, attribute.getValue());
  if (attribute.getName() == kDimsAttr)
    return verifyDims(parameter, attribute.getValue());
  if (attribute.getName() == kWeightAttr)
    return verifyWeight(parameter, attribute.getValue());
  if (attribute.getName() == kResultAttr)
    return verifyResult(parameter, attribute.getValue());
  if (attribute.getName() == kInPlaceAttr)
    return verifyInPlace(parameter, attribute.getValue());
  return parameter.emitError(
             "expected attn.name, attn.dims, attn.weight, attn.result or attn.in_place, found ")
         << attribute.getName();
}

/// Whether something reads an attribute of that name on `op`.
static bool isRead(Operation *op, StringRef name) {
  if (name == kQLenAttr || name == kShardAttr)
    return isa<FunctionOpInterface>(op);
  if (name == kSameSizeAttr)
    return isa<tensor::ExtractOp>(op);
  bool isOfGraph = isa_and_nonnull<AttnDialect>(op->getDialect());
  if (name == kEstimatesAttr)
    return isOfGraph;
  return (name == kKindAttr || name == kScheduleAttr || name == kCheckAttr) && !isOfGraph;
}

/// Others would be ignored: one that is misspelled changes what is computed.
LogicalResult AttnDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (isRead(op, attribute.getName()))
    return success();
  return op->emitError(
             "expected attn.q_len or attn.shard on a function, or an op's own attributes, "
             "found ")
         << attribute.getName();
}

LogicalResult AttnDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argIndex,
                                                    NamedAttribute attribute) {
  return verifyAttribute(op, /*isResult=*/false, argIndex, attribute);
}

LogicalResult AttnDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                       unsigned resultIndex,
                                                       NamedAttribute attribute) {
  return verifyAttribute(op, /*isResult=*/true, resultIndex, attribute);
}
