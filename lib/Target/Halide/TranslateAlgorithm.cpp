//===- TranslateAlgorithm.cpp - inputs, funcs, updates and outputs
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BF16Pairs.h"
#include "Diagnostics.h"
#include "Expressions.h"
#include "Translator.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::halide;
namespace H = ::Halide;

Translator::Translator(PipelineOp pipeline, const H::Target &target)
    : pipeline(pipeline), target(target),
      convertsF16(target.has_feature(H::Target::F16C) && !target.has_gpu_feature()),
      roundsToBF16(hasBF16Instructions(target) && !target.has_gpu_feature()) {}

LogicalResult Translator::translate() {
  collectCoordinateOps();
  collectClampsOfComputed();
  for (Operation &op : pipeline.getBody().front()) {
    auto locate = [&](StringRef) { return op.getLoc(); };
    if (failed(guardHalide([&] { return translateOp(&op); }, locate)))
      return failure();
  }
  return success();
}

LogicalResult Translator::translateOp(Operation *op) {
  for (auto step : {&Translator::translateLoopDirective, &Translator::translateFuncDirective,
                    &Translator::translateStageDirective})
    if ((this->*step)(op))
      return success();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<InputOp, ExtentOp, halide::FuncOp, UpdateOp, ExternOp, OutputOp>(
          [&](auto typed) { return translate(typed); })
      .Default([&](Operation *scalar) { return translateScalar(scalar); });
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string Translator::getFreshName(std::set<std::string> &taken, StringRef name) {
  std::string clean = name.str();
  for (char &c : clean)
    if (!llvm::isAlnum(c))
      c = '_';
  if (clean.empty() || llvm::isDigit(clean.front()))
    clean = "v" + clean;
  std::string candidate = clean;
  for (int i = 1; !taken.insert(candidate).second; ++i)
    candidate = clean + "_" + std::to_string(i);
  return candidate;
}

std::vector<H::Expr> Translator::getExprs(ValueRange values) {
  std::vector<H::Expr> result;
  for (Value value : values)
    result.push_back(exprs.at(value));
  return result;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Minima are 0, the innermost stride 1, static extents fixed.
template <typename Buffer>
static void setLayout(Buffer &buffer, ArrayRef<int64_t> extents) {
  for (auto [i, extent] : llvm::enumerate(extents)) {
    buffer.dim(i).set_min(0);
    if (i == 0)
      buffer.dim(i).set_stride(1);
    if (!ShapedType::isDynamic(extent))
      buffer.dim(i).set_extent(int(extent));
  }
}

LogicalResult Translator::translate(InputOp op) {
  FuncType type = op.getFunc().getType();
  H::ImageParam image(*getHalideType(type.getElementType()), type.getRank(),
                      getFreshName(funcNames, op.getName()));
  setLayout(image, op.getExtents());
  arguments.push_back(image);
  images[op.getFunc().getAsOpaquePointer()] = image;
  return success();
}

LogicalResult Translator::translate(ExtentOp op) {
  exprs[op.getExtent()] = images.at(op.getFunc().getAsOpaquePointer()).dim(op.getDim()).extent();
  return success();
}

LogicalResult Translator::translate(OutputOp op) {
  H::Func &func = getFunc(op.getFunc());
  func.compute_root();
  H::OutputImageParam buffer = func.output_buffer();
  setLayout(buffer, op.getExtents());
  outputs.push_back(func);
  return success();
}

//===----------------------------------------------------------------------===//
// Definitions
//===----------------------------------------------------------------------===//

LogicalResult Translator::translateBody(Region &body) {
  for (Operation &op : body.front().without_terminator())
    if (failed(translateScalar(&op)))
      return failure();
  return success();
}

// Built from an Internal::Function, since Func's own constructor renames.
LogicalResult Translator::translate(halide::FuncOp op) {
  const void *key = op.getFunc().getAsOpaquePointer();
  H::Func func{H::Internal::Function(getFreshName(funcNames, op.getName()))};
  std::vector<H::Var> vars;
  for (auto [arg, name] :
       llvm::zip(op.getBody().getArguments(), op.getVars().getAsValueRange<StringAttr>())) {
    vars.emplace_back(getFreshName(varNames[key], name));
    exprs[arg] = vars.back();
  }
  if (failed(translateBody(op.getBody())))
    return failure();
  auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
  func(vars) = exprs.at(yield.getValue());
  funcs[key] = func;
  stageVars[{key, -1}] = {vars.begin(), vars.end()};
  return success();
}

/// The domain's variables under the names of the IR.
static H::RDom makeDomain(ArrayRef<std::string> names, ArrayRef<H::Expr> mins,
                          ArrayRef<H::Expr> extents) {
  std::vector<H::Internal::ReductionVariable> vars;
  for (auto [name, min, extent] : llvm::zip(names, mins, extents))
    vars.push_back({name, min, extent});
  return vars.empty() ? H::RDom() : H::RDom(H::Internal::ReductionDomain(vars));
}

/// `value`, rewritten to read `var` if neither it nor `coords` reads any of `names`: otherwise
/// Halide forgets the update's domain, and the schedule could not name its loops.
static H::Expr keepDomain(ArrayRef<std::string> names, const H::Expr &var,
                          const std::vector<H::Expr> &coords, const H::Expr &value) {
  auto reads = [&](const H::Expr &expr) {
    return llvm::any_of(
        names, [&](const std::string &name) { return H::Internal::expr_uses_var(expr, name); });
  };
  if (reads(value) || llvm::any_of(coords, reads))
    return value;
  return H::Internal::Call::make(value.type(), H::Internal::Call::return_second, {var, value},
                                 H::Internal::Call::PureIntrinsic);
}

LogicalResult Translator::translate(UpdateOp op) {
  const void *key = op.getFunc().getAsOpaquePointer();
  H::Func &func = getFunc(op.getFunc());
  std::vector<H::Var> pureVars = func.args();
  std::vector<H::VarOrRVar> vars;
  for (auto [i, dim] : llvm::enumerate(op.getPureDims())) {
    vars.emplace_back(pureVars[dim]);
    exprs[op.getBody().getArgument(i)] = pureVars[dim];
  }
  SmallVector<std::string> names;
  for (StringRef name : op.getRvars().getAsValueRange<StringAttr>())
    names.push_back(getFreshName(varNames[key], name));
  H::RDom domain = makeDomain(names, getExprs(op.getMins()), getExprs(op.getExtents()));
  for (size_t i = 0; i < names.size(); ++i) {
    vars.emplace_back(domain[i]);
    exprs[op.getBody().getArgument(op.getVars().size() + i)] = domain[i];
  }
  if (failed(translateBody(op.getBody())))
    return failure();
  YieldOp yield = op.getYield();
  if (Value where = yield.getWhere()) {
    if (names.empty())
      return yield.emitOpError("expected a reduction domain for the condition, found none");
    domain.where(exprs.at(where));
  }
  std::vector<H::Expr> coords = getExprs(yield.getCoords());
  if (coords.empty())
    coords.assign(pureVars.begin(), pureVars.end());
  int64_t index = func.num_update_definitions();
  H::Expr value = exprs.at(yield.getValue());
  func(coords) = names.empty() ? value : keepDomain(names, domain[0], coords, value);
  stageVars[{key, index}] = std::move(vars);
  return success();
}

LogicalResult Translator::translate(ExternOp op) {
  const void *key = op.getFunc().getAsOpaquePointer();
  H::Func func{H::Internal::Function(getFreshName(funcNames, op.getName()))};
  std::vector<H::ExternFuncArgument> args;
  for (Value arg : op.getArgs()) {
    auto image = images.find(arg.getAsOpaquePointer());
    args.push_back(image == images.end() ? H::ExternFuncArgument(getFunc(arg))
                                         : H::ExternFuncArgument(image->second.parameter()));
  }
  std::vector<H::Var> vars;
  for (StringRef name : op.getVars().getAsValueRange<StringAttr>())
    vars.emplace_back(getFreshName(varNames[key], name));
  func.define_extern(op.getSymbol().str(), args,
                     *getHalideType(op.getFunc().getType().getElementType()), vars,
                     H::NameMangling::C);
  funcs[key] = func;
  return success();
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

LogicalResult Translator::translateAt(AtOp op) {
  std::vector<H::Expr> coords = getExprs(op.getCoords());
  auto image = images.find(op.getFunc().getAsOpaquePointer());
  exprs[op.getValue()] = image == images.end()
                             ? H::Expr(getFunc(op.getFunc())(coords))
                             : H::Internal::Call::make(image->second.parameter(), coords);
  return success();
}

/// Whether `op` widens f16 whose NaN and infinities nothing tests for. Halide's own conversion, one
/// instruction, promises LLVM that there are none.
static bool isUntestedWidening(Operation *op) {
  auto widen = dyn_cast<arith::ExtFOp>(op);
  auto unspecified = arith::FastMathFlags::nnan | arith::FastMathFlags::ninf;
  return widen && widen.getIn().getType().isF16() && widen.getType().isF32() &&
         arith::bitEnumContainsAll(widen.getFastmath().value_or(arith::FastMathFlags::none),
                                   unspecified);
}

static bool isRoundingToBF16(Operation *op) {
  auto round = dyn_cast<arith::TruncFOp>(op);
  return round && round.getIn().getType().isF32() && round.getType().isBF16();
}

/// `e`, computed by a division that costs nothing. The simplifier moves and removes clamps by what
/// it knows about their operand, and bounds inference, which knows less, then finds no bounds.
/// Neither knows anything about this intrinsic, so the clamp's own bounds hold.
static H::Expr hide(H::Expr e) {
  using H::Internal::Call;
  if (H::Internal::is_const(e))
    return e;
  return Call::make(e.type(), Call::div_round_to_zero, {e, H::Internal::make_one(e.type())},
                    Call::PureIntrinsic);
}

LogicalResult Translator::translateScalar(Operation *op) {
  if (auto at = dyn_cast<AtOp>(op))
    return translateAt(at);
  for (Type type : op->getResultTypes())
    if (!getHalideType(type))
      return op->emitError("expected types of Halide, found ") << type;
  std::vector<H::Expr> operands = getExprs(op->getOperands());
  if (clampsOfComputed.contains(op))
    operands[0] = hide(operands[0]);
  bool isCoordinate = coordinateOps.contains(op);
  H::Expr result;
  if (convertsF16 && isUntestedWidening(op))
    result = H::cast(H::Float(32), operands[0]);
  else if (roundsToBF16 && isRoundingToBF16(op))
    result = roundBF16(operands[0]);
  else
    result = translateScalarOp(op, operands, isCoordinate, target);
  if (!result.defined())
    return op->emitError("expected an op that Halide can express, found '")
           << op->getName() << "' on " << op->getOperandTypes();
  exprs[op->getResult(0)] = result;
  return success();
}

/// Ops through which a coordinate stays linear enough for bounds inference. Others, such as the
/// shifts of a hash, end the search: their operands may wrap.
static bool passesCoordinates(Operation *op) {
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return op->getResult(0).getType().isInteger(1);
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp, arith::MaxSIOp,
             arith::SelectOp, arith::CmpIOp, arith::DivSIOp, arith::FloorDivSIOp,
             arith::CeilDivSIOp, arith::RemSIOp, arith::ExtSIOp, arith::TruncIOp, arith::FPToSIOp,
             ModOp, PromiseClampedOp, LikelyOp>(op);
}

/// Operands used as coordinates, as extents, or in conditions on them.
static SmallVector<Value> getCoordinateOperands(Operation *op) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case([](AtOp at) { return SmallVector<Value>(at.getCoords()); })
      .Case([](UpdateOp update) { return SmallVector<Value>(update->getOperands().drop_front()); })
      .Case([](YieldOp yield) { return SmallVector<Value>(yield->getOperands().drop_front()); })
      .Case([](DotBF16TilesOp dot) { return SmallVector<Value>{dot.getRows(), dot.getDepth()}; })
      .Case<PromiseClampedOp, SpecializeOp>(
          [](auto any) { return SmallVector<Value>(any->getOperands()); })
      .Default([](Operation *) { return SmallVector<Value>(); });
}

void Translator::collectCoordinateOps() {
  SmallVector<Value> worklist;
  pipeline.walk([&](Operation *op) { llvm::append_range(worklist, getCoordinateOperands(op)); });
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (op && passesCoordinates(op) && coordinateOps.insert(op).second)
      llvm::append_range(worklist, op->getOperands());
  }
}

/// The innermost of the clamps around each other that give `coord`; null if it has no bounds of
/// both sides.
static Operation *getInnermostClamp(Value coord) {
  Operation *op = coord.getDefiningOp(), *innermost = nullptr;
  bool hasLow = false, hasHigh = false;
  while (isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp, arith::TruncIOp>(op)) {
    hasLow |= isa<arith::MaxSIOp>(op);
    hasHigh |= isa<arith::MinSIOp>(op);
    innermost = op;
    op = op->getOperand(0).getDefiningOp();
  }
  return hasLow && hasHigh ? innermost : nullptr;
}

/// Whether `value` depends on more than sums and products of loops, extents and what is promised to
/// be in bounds.
static bool isComputed(Value value, SmallPtrSetImpl<Operation *> &seen) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<ExtentOp, PromiseClampedOp, arith::ConstantOp>(op) || !seen.insert(op).second)
    return false;
  return !passesCoordinates(op) ||
         llvm::any_of(op->getOperands(), [&](Value each) { return isComputed(each, seen); });
}

void Translator::collectClampsOfComputed() {
  pipeline.walk([&](AtOp at) {
    for (Value coord : at.getCoords()) {
      Operation *clamp = getInnermostClamp(coord);
      SmallPtrSet<Operation *, 16> seen;
      if (clamp && !clamp->getOperand(0).getDefiningOp<AtOp>() &&
          isComputed(clamp->getOperand(0), seen))
        clampsOfComputed.insert(clamp);
    }
  });
}
