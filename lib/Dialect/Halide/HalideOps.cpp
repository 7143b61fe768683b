//===- HalideOps.cpp - algorithm ops of the halide dialect
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs, definitions and outputs: their text, builders and rules. The schedule
// is in Schedule.cpp.
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Halide/Halide.h"

#include "Schedule.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::halide;

//===----------------------------------------------------------------------===//
// Variables: `%x`, or `%x_0 "x"` where the printer had to rename
//===----------------------------------------------------------------------===//

static ParseResult parseVar(OpAsmParser &parser, OpAsmParser::Argument &arg, Attribute &name) {
  Builder &b = parser.getBuilder();
  if (parser.parseArgument(arg))
    return failure();
  arg.type = b.getI32Type();
  std::string written;
  if (failed(parser.parseOptionalString(&written)))
    written = arg.ssaName.name.drop_front().str();
  name = b.getStringAttr(written);
  return success();
}

static ParseResult parseVars(OpAsmParser &parser, SmallVectorImpl<OpAsmParser::Argument> &args,
                             ArrayAttr &vars) {
  SmallVector<Attribute> names;
  auto parseOne = [&] { return parseVar(parser, args.emplace_back(), names.emplace_back()); };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  vars = parser.getBuilder().getArrayAttr(names);
  return success();
}

static void printVar(OpAsmPrinter &p, Value arg, Attribute name) {
  std::string printed;
  llvm::raw_string_ostream os(printed);
  p.printOperand(arg, os);
  p << printed;
  StringAttr var = cast<StringAttr>(name);
  if (StringRef(printed).drop_front() != var.getValue())
    p << ' ' << var;
}

static void printVars(OpAsmPrinter &p, ValueRange args, ArrayAttr vars) {
  p << '[';
  llvm::interleaveComma(llvm::zip(args, vars), p,
                        [&](auto pair) { printVar(p, std::get<0>(pair), std::get<1>(pair)); });
  p << ']';
}

/// `[64, ?, 8, ?]`
static ParseResult parseExtents(OpAsmParser &parser, DenseI64ArrayAttr &extents) {
  SmallVector<int64_t> sizes;
  auto parseOne = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalQuestion())) {
      sizes.push_back(ShapedType::kDynamic);
      return success();
    }
    return parser.parseInteger(sizes.emplace_back());
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  extents = parser.getBuilder().getDenseI64ArrayAttr(sizes);
  return success();
}

static void printExtents(OpAsmPrinter &p, Operation *, DenseI64ArrayAttr extents) {
  p << '[';
  llvm::interleaveComma(extents.asArrayRef(), p, [&](int64_t extent) {
    ShapedType::isDynamic(extent) ? p << '?' : p << extent;
  });
  p << ']';
}

/// One loop type for each result of the op.
static ParseResult parseLoopTypes(OpAsmParser &parser, SmallVectorImpl<Type> &types) {
  types.assign(parser.getNumResults(), LoopType::get(parser.getContext()));
  return success();
}
static void printLoopTypes(OpAsmPrinter &, Operation *, TypeRange) {}

//===----------------------------------------------------------------------===//
// Shared rules
//===----------------------------------------------------------------------===//

static LogicalResult verifyExtents(Operation *op, ArrayRef<int64_t> extents, FuncType type) {
  if (int64_t(extents.size()) != type.getRank())
    return op->emitOpError("expected ") << type.getRank() << " extents, found " << extents.size();
  for (int64_t extent : extents)
    if (!ShapedType::isDynamic(extent) && (extent < 0 || extent > kMaxSize))
      return op->emitOpError("expected extents of at least 0 and at most ")
             << kMaxSize << ", found " << extent;
  return success();
}

static void nameVars(Region &body, ArrayRef<Attribute> names, OpAsmSetValueNameFn setName) {
  for (auto [arg, name] : llvm::zip(body.getArguments(), names))
    setName(arg, cast<StringAttr>(name).getValue());
}

static LogicalResult verifyVars(Operation *op, Region &body, int64_t count) {
  auto isI32 = [](Type type) { return type.isInteger(32); };
  if (int64_t(body.getNumArguments()) == count && llvm::all_of(body.getArgumentTypes(), isI32))
    return success();
  InFlightDiagnostic diag = op->emitOpError("expected a body of ")
                            << count << " i32 variables, found (";
  llvm::interleaveComma(body.getArgumentTypes(), diag);
  return diag << ")";
}

static LogicalResult verifyYieldType(YieldOp yield, Type expected) {
  Type found = yield.getValue().getType();
  if (found == expected)
    return success();
  return yield.emitOpError("expected a value of type ") << expected << ", found " << found;
}

/// Adds a body of i32 variables and lets `fill` build it.
static void buildBody(OpBuilder &b, OperationState &state, size_t count, BodyBuilder fill) {
  OpBuilder::InsertionGuard guard(b);
  Region *region = state.addRegion();
  SmallVector<Type> types(count, b.getI32Type());
  SmallVector<Location> locs(count, state.location);
  Block *block = b.createBlock(region, {}, types, locs);
  fill(b, state.location, block->getArguments());
}

bool halide::isElementType(Type type) {
  auto hasWidth = [&](unsigned width) { return type.isSignlessInteger(width); };
  return isa<Float8E4M3FNType, Float16Type, BFloat16Type, Float32Type, Float64Type>(type) ||
         llvm::any_of(ArrayRef<unsigned>{1, 8, 16, 32, 64}, hasWidth);
}

bool halide::isBufferElementType(Type type) { return isElementType(attn::getKernelType(type)); }

LogicalResult FuncType::verify(function_ref<InFlightDiagnostic()> emitError, Type elementType,
                               int64_t rank) {
  if (!isElementType(elementType))
    return emitError() << "expected i1, i8 to i64, f8E4M3FN or a float of 16 to 64 bits, found "
                       << elementType;
  if (rank < 0)
    return emitError() << "expected a rank of at least 0, found " << rank;
  return success();
}

//===----------------------------------------------------------------------===//
// PipelineOp
//===----------------------------------------------------------------------===//

void PipelineOp::build(OpBuilder &b, OperationState &state, StringRef name) {
  state.getOrAddProperties<Properties>().sym_name = b.getStringAttr(name);
  state.addRegion()->emplaceBlock();
}

/// The name an algorithm op gives its func.
static StringAttr getDeclaredName(Operation &op) {
  if (auto input = dyn_cast<InputOp>(op))
    return input.getNameAttr();
  if (auto func = dyn_cast<halide::FuncOp>(op))
    return func.getNameAttr();
  if (auto external = dyn_cast<ExternOp>(op))
    return external.getNameAttr();
  return {};
}

static LogicalResult verifyUniqueNames(Block &block) {
  DenseMap<StringAttr, Operation *> seen;
  for (Operation &op : block) {
    StringAttr name = getDeclaredName(op);
    if (!name)
      continue;
    auto [it, isNew] = seen.try_emplace(name, &op);
    if (isNew)
      continue;
    InFlightDiagnostic diag = op.emitOpError("expected a unique name, found ") << name;
    diag.attachNote(it->second->getLoc()) << "also named here";
    return diag;
  }
  return success();
}

/// The name is a C identifier, and part of file names.
static bool isSymbol(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

LogicalResult PipelineOp::verify() {
  if (!isSymbol(getSymName())) // (C5)
    return emitOpError("expected a name of letters, digits and _, found ") << getSymNameAttr();
  if (getBody().getNumArguments() == 0)
    return success();
  return emitOpError("expected a body without arguments, found ") << getBody().getNumArguments();
}

LogicalResult PipelineOp::verifyRegions() {
  Block &block = getBody().front();
  if (block.getOps<OutputOp>().empty()) // (C1)
    return emitOpError("expected at least one halide.output");
  if (failed(verifyUniqueNames(block))) // (C2)
    return failure();
  return failure(failed(verifyLoopUses(block)) || failed(verifyCopies(block))); // (C3), (C4)
}

/// A memref lists dimensions outermost first, a func innermost first.
static attn::KernelParameter makeParameter(Value func, ArrayRef<int64_t> extents,
                                           attn::Access access) {
  SmallVector<int64_t> shape(llvm::reverse(extents));
  return {getFuncName(func),
          MemRefType::get(shape, cast<FuncType>(func.getType()).getElementType()), access};
}

SmallVector<attn::KernelParameter> PipelineOp::getParameters() {
  SmallVector<attn::KernelParameter> parameters;
  for (auto input : getBody().getOps<InputOp>()) {
    bool isRead = !llvm::all_of(input.getFunc().getUsers(), llvm::IsaPred<ExtentOp>);
    parameters.push_back(makeParameter(input.getFunc(), input.getExtents(),
                                       isRead ? attn::Access::read : attn::Access::none));
  }
  for (auto output : getBody().getOps<OutputOp>())
    parameters.push_back(makeParameter(output.getFunc(), output.getExtents(), attn::Access::write));
  return parameters;
}

//===----------------------------------------------------------------------===//
// InputOp, ExtentOp, OutputOp, ExternOp, AtOp, FetchAheadOp, StoreBesideOp, StoreWhereOp
//===----------------------------------------------------------------------===//

void InputOp::build(OpBuilder &b, OperationState &state, StringRef name, Type elementType,
                    ArrayRef<int64_t> extents) {
  build(b, state, FuncType::get(b.getContext(), elementType, extents.size()), name, extents);
}

void InputOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getFunc(), getName()); }

LogicalResult InputOp::verify() {
  return verifyExtents(*this, getExtents(), getFunc().getType()); // (C1)
}

void ExtentOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (auto input = getFunc().getDefiningOp<InputOp>())
    setName(getExtent(), (input.getName() + "_extent" + Twine(getDim())).str());
}

LogicalResult ExtentOp::verify() {
  if (!getFunc().getDefiningOp<InputOp>()) // (C1)
    return emitOpError("expected a halide.input, found a func");
  int64_t rank = getFunc().getType().getRank();
  if (int64_t(getDim()) >= 0 && int64_t(getDim()) < rank) // (C2)
    return success();
  return emitOpError("expected a dimension below ") << rank << ", found " << int64_t(getDim());
}

LogicalResult OutputOp::verify() {
  if (getFunc().getDefiningOp<InputOp>()) // (C2)
    return emitOpError("expected a func, found an input");
  return verifyExtents(*this, getExtents(), getFunc().getType()); // (C1)
}

void ExternOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getFunc(), getName()); }

LogicalResult ExternOp::verify() {
  int64_t rank = getFunc().getType().getRank();
  if (int64_t(getVars().size()) == rank) // (C1)
    return success();
  return emitOpError("expected ") << rank << " variables, found " << getVars().size();
}

LogicalResult AtOp::verify() {
  int64_t rank = getFunc().getType().getRank();
  if (int64_t(getCoords().size()) == rank) // (C1)
    return success();
  return emitOpError("expected ") << rank << " coordinates, found " << getCoords().size();
}

LogicalResult FetchAheadOp::verify() { // (C1)
  auto at = getElement().getDefiningOp<AtOp>();
  if (!at || !at.getFunc().getDefiningOp<InputOp>())
    return emitError("expected an element of a halide.input");
  return success();
}

/// Whether a func or an update yields the value, which has no other use.
template <typename OpTy>
static bool isYieldedAlone(Value value) {
  auto yield = value.hasOneUse() ? dyn_cast<YieldOp>(*value.user_begin()) : YieldOp();
  return yield && yield.getValue() == value && isa<OpTy>(yield->getParentOp());
}

LogicalResult UndefOp::verify() {
  if (!isYieldedAlone<FuncOp>(getResult())) // (C1)
    return emitError("expected a func to yield the result, and no other use");
  return success();
}

LogicalResult StoreBesideOp::verify() {
  auto at = getElement().getDefiningOp<AtOp>();
  auto isOutput = [](AtOp at) {
    return llvm::any_of(at.getFunc().getUsers(), llvm::IsaPred<OutputOp>);
  };
  if (!at || !isOutput(at)) // (C1)
    return emitError("expected an element of an output");
  if (!isYieldedAlone<FuncOp>(getResult())) // (C2)
    return emitError("expected a func to yield the result, and no other use");
  return success();
}

LogicalResult StoreWhereOp::verify() {
  if (!isYieldedAlone<UpdateOp>(getResult())) // (C1)
    return emitError("expected an update to yield the result, and no other use");
  return success();
}

//===----------------------------------------------------------------------===//
// FuncOp
//===----------------------------------------------------------------------===//

void halide::FuncOp::build(OpBuilder &b, OperationState &state, StringRef name, Type elementType,
                           ArrayRef<StringRef> vars, BodyBuilder body) {
  auto &properties = state.getOrAddProperties<Properties>();
  properties.name = b.getStringAttr(name);
  properties.vars = b.getStrArrayAttr(vars);
  state.addTypes(FuncType::get(b.getContext(), elementType, vars.size()));
  buildBody(b, state, vars.size(), body);
}

ParseResult halide::FuncOp::parse(OpAsmParser &parser, OperationState &state) {
  auto &properties = state.getOrAddProperties<Properties>();
  SmallVector<OpAsmParser::Argument> args;
  Type elementType;
  llvm::SMLoc loc;
  if (parser.parseAttribute(properties.name) || parseVars(parser, args, properties.vars) ||
      parser.parseColon() || parser.getCurrentLocation(&loc) || parser.parseType(elementType) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.parseRegion(*state.addRegion(), args))
    return failure();
  auto emitError = [&] { return parser.emitError(loc); };
  FuncType type =
      FuncType::getChecked(emitError, parser.getContext(), elementType, int64_t(args.size()));
  if (!type)
    return failure();
  state.addTypes(type);
  return success();
}

void halide::FuncOp::print(OpAsmPrinter &p) {
  p << ' ' << getNameAttr() << ' ';
  printVars(p, getBody().getArguments(), getVars());
  p << " : " << getFunc().getType().getElementType();
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"name", "vars"});
  p << ' ';
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void halide::FuncOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getFunc(), getName());
}

void halide::FuncOp::getAsmBlockArgumentNames(Region &body, OpAsmSetValueNameFn setName) {
  nameVars(body, getVars().getValue(), setName);
}

LogicalResult halide::FuncOp::verifyRegions() { // (C1)
  FuncType type = getFunc().getType();
  if (int64_t(getVars().size()) != type.getRank())
    return emitOpError("expected ") << type.getRank() << " variables, found " << getVars().size();
  if (failed(verifyVars(*this, getBody(), type.getRank())))
    return failure();
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  if (!yield.getCoords().empty() || yield.getWhere())
    return yield.emitOpError("expected the value alone in a pure definition, found "
                             "coordinates or a condition");
  return verifyYieldType(yield, type.getElementType());
}

//===----------------------------------------------------------------------===//
// UpdateOp
//===----------------------------------------------------------------------===//

void UpdateOp::build(OpBuilder &b, OperationState &state, Value func, ArrayRef<StringRef> vars,
                     ArrayRef<ReductionVar> rvars, BodyBuilder body) {
  SmallVector<StringRef> names;
  SmallVector<Value> mins, extents;
  for (const ReductionVar &rvar : rvars) {
    names.push_back(rvar.name);
    mins.push_back(rvar.min);
    extents.push_back(rvar.extent);
  }
  state.addOperands(func);
  state.addOperands(mins);
  state.addOperands(extents);
  auto &properties = state.getOrAddProperties<Properties>();
  int32_t count = rvars.size();
  properties.operandSegmentSizes = {1, count, count};
  properties.vars = b.getStrArrayAttr(vars);
  properties.rvars = b.getStrArrayAttr(names);
  buildBody(b, state, vars.size() + rvars.size(), body);
}

/// ` over [%r min %lo extent %n, …]`, empty without a domain.
static ParseResult parseDomain(OpAsmParser &parser, SmallVectorImpl<OpAsmParser::Argument> &args,
                               ArrayAttr &rvars,
                               SmallVectorImpl<OpAsmParser::UnresolvedOperand> &mins,
                               SmallVectorImpl<OpAsmParser::UnresolvedOperand> &extents) {
  SmallVector<Attribute> names;
  auto parseOne = [&]() -> ParseResult {
    return failure(parseVar(parser, args.emplace_back(), names.emplace_back()) ||
                   parser.parseKeyword("min") || parser.parseOperand(mins.emplace_back()) ||
                   parser.parseKeyword("extent") || parser.parseOperand(extents.emplace_back()));
  };
  if (succeeded(parser.parseOptionalKeyword("over")) &&
      failed(parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne)))
    return failure();
  rvars = parser.getBuilder().getArrayAttr(names);
  return success();
}

ParseResult UpdateOp::parse(OpAsmParser &parser, OperationState &state) {
  auto &properties = state.getOrAddProperties<Properties>();
  OpAsmParser::UnresolvedOperand func;
  SmallVector<OpAsmParser::UnresolvedOperand> mins, extents;
  SmallVector<OpAsmParser::Argument> args;
  FuncType type;
  Type i32 = parser.getBuilder().getI32Type();
  if (parser.parseOperand(func) || parseVars(parser, args, properties.vars) ||
      parseDomain(parser, args, properties.rvars, mins, extents) || parser.parseColon() ||
      parser.parseCustomTypeWithFallback(type) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.parseRegion(*state.addRegion(), args) ||
      parser.resolveOperand(func, type, state.operands) ||
      parser.resolveOperands(mins, i32, state.operands) ||
      parser.resolveOperands(extents, i32, state.operands))
    return failure();
  int32_t count = mins.size();
  properties.operandSegmentSizes = {1, count, count};
  return success();
}

void UpdateOp::print(OpAsmPrinter &p) {
  auto args = getBody().getArguments();
  p << ' ' << getFunc();
  printVars(p, args.take_front(getVars().size()), getVars());
  if (!getRvars().empty()) {
    p << " over [";
    auto rargs = args.drop_front(getVars().size());
    llvm::interleaveComma(llvm::zip(rargs, getRvars(), getMins(), getExtents()), p, [&](auto it) {
      auto [arg, name, min, extent] = it;
      printVar(p, arg, name);
      p << " min " << min << " extent " << extent;
    });
    p << ']';
  }
  p << " : ";
  p.printStrippedAttrOrType(getFunc().getType());
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                     {"vars", "rvars", getOperandSegmentSizeAttr()});
  p << ' ';
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void UpdateOp::getAsmResultNames(OpAsmSetValueNameFn) {}

void UpdateOp::getAsmBlockArgumentNames(Region &body, OpAsmSetValueNameFn setName) {
  SmallVector<Attribute> names(getVars().getValue());
  llvm::append_range(names, getRvars());
  nameVars(body, names, setName);
}

YieldOp UpdateOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }

SmallVector<int64_t> UpdateOp::getPureDims() {
  ValueRange coords = getYield().getCoords();
  SmallVector<int64_t> dims;
  for (size_t i = 0; i < getVars().size(); ++i)
    dims.push_back(coords.empty() ? int64_t(i)
                                  : llvm::find(coords, getBody().getArgument(i)) - coords.begin());
  return dims;
}

static LogicalResult verifyCoordinates(UpdateOp update) {
  int64_t rank = update.getFunc().getType().getRank();
  YieldOp yield = update.getYield();
  ValueRange coords = yield.getCoords();
  int64_t found = coords.empty() ? update.getVars().size() : coords.size();
  if (found != rank)
    return yield.emitOpError("expected ") << rank << " coordinates, found " << found;
  if (coords.empty())
    return success();
  for (auto [i, name] : llvm::enumerate(update.getVars())) {
    int64_t places = llvm::count(coords, update.getBody().getArgument(i));
    if (places != 1)
      return yield.emitOpError("expected pure variable ")
             << name << " to be one of the coordinates, found it in " << places << " places";
  }
  return success();
}

/// Halide's rule for recursive reads: pure variables in the places they are
/// written to.
static LogicalResult verifyRecursiveReads(UpdateOp update) {
  SmallVector<int64_t> dims = update.getPureDims();
  WalkResult walk = update.getBody().walk([&](AtOp at) {
    if (at.getFunc() != update.getFunc())
      return WalkResult::advance();
    for (auto [i, dim] : llvm::enumerate(dims)) {
      if (at.getCoords()[dim] == update.getBody().getArgument(i))
        continue;
      at.emitOpError("expected pure variable ")
          << update.getVars()[i] << " as coordinate " << dim << ", its place in the update";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Halide freezes a func once another definition reads it.
static LogicalResult verifyNotReadBefore(UpdateOp update) {
  for (Operation *user : update.getFunc().getUsers()) {
    Operation *reader = update->getBlock()->findAncestorOpInBlock(*user);
    bool reads = isa<AtOp, ExternOp>(user) && reader && !isa<UpdateOp>(reader);
    if (auto other = dyn_cast_if_present<UpdateOp>(reader); other && isa<AtOp>(user))
      reads = other.getFunc() != update.getFunc();
    if (!reads || !reader->isBeforeInBlock(update))
      continue;
    InFlightDiagnostic diag =
        update.emitOpError("expected the update before the func is read by another definition");
    diag.attachNote(reader->getLoc()) << "read here";
    return diag;
  }
  return success();
}

LogicalResult UpdateOp::verifyRegions() {
  size_t count = getRvars().size();
  if (getMins().size() != count || getExtents().size() != count) // (C1)
    return emitOpError("expected ") << count << " minima and extents, found " << getMins().size()
                                    << " and " << getExtents().size();
  if (!getFunc().getDefiningOp<halide::FuncOp>()) // (C3)
    return emitOpError("expected a halide.func, found another func");
  if (failed(verifyVars(*this, getBody(), getVars().size() + count)) ||
      failed(verifyYieldType(getYield(), getFunc().getType().getElementType())) ||
      failed(verifyCoordinates(*this)) || failed(verifyRecursiveReads(*this))) // (C2)
    return failure();
  return verifyNotReadBefore(*this); // (C3)
}

#define GET_OP_CLASSES
#include "attnc/Dialect/Halide/HalideOps.cpp.inc"
