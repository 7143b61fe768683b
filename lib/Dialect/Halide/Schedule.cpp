//===- Schedule.cpp - schedule directives of the halide dialect
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors that Halide would report only when it lowers a schedule are reported here at the wrong
// directive, as far as the IR alone shows them.
//
//===----------------------------------------------------------------------===//

#include "Schedule.h"

#include "attnc/Dialect/Halide/Halide.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace mlir::halide;

//===----------------------------------------------------------------------===//
// Stages and loops
//===----------------------------------------------------------------------===//

bool Stage::operator==(const Stage &other) const {
  return func == other.func && update == other.update && specialization == other.specialization;
}

LogicalResult halide::verifyHandleOperands(Operation *op) {
  for (Value operand : op->getOperands()) {
    bool isLoop = isa<LoopType>(operand.getType());
    if (!isLoop && !isa<FuncType>(operand.getType()))
      continue;
    Operation *definition = operand.getDefiningOp();
    if (isLoop ? !isa_and_nonnull<LoopsOp, SplitOp, FuseOp, SpecializeOp>(definition)
               : !isa_and_nonnull<InputOp, halide::FuncOp, ExternOp, RfactorOp>(definition))
      return op->emitOpError("expected ")
             << (isLoop ? "a loop of halide.loops, split, fuse or specialize"
                        : "a func of halide.input, func, extern or rfactor")
             << ", found a value of "
             << (definition ? definition->getName().getStringRef() : "a block");
    Operation *user = definition->getBlock()->findAncestorOpInBlock(*op);
    if (!user || !definition->isBeforeInBlock(user))
      return op->emitOpError("expected ")
             << definition->getName() << " before the use of its result";
  }
  return success();
}

Stage halide::getStage(Value loop) {
  Operation *op = loop.getDefiningOp();
  for (; isa<SplitOp, FuseOp>(op); op = loop.getDefiningOp())
    loop = isa<SplitOp>(op) ? cast<SplitOp>(op).getLoop() : cast<FuseOp>(op).getOuter();
  if (auto special = dyn_cast<SpecializeOp>(op))
    return {special.getFunc(), special.getUpdate(), special};
  auto loops = cast<LoopsOp>(op);
  return {loops.getFunc(), loops.getUpdate()};
}

SmallVector<UpdateOp> halide::getUpdates(Value func) {
  SmallVector<UpdateOp> updates;
  for (Operation *user : func.getUsers())
    if (auto update = dyn_cast<UpdateOp>(user);
        update && update->getBlock() == func.getParentBlock())
      updates.push_back(update);
  llvm::sort(updates, [](UpdateOp a, UpdateOp b) { return a->isBeforeInBlock(b); });
  return updates;
}

/// `names` may be of an op after the one being verified, so unverified: null or of other
/// attributes.
static SmallVector<std::string> toStrings(ArrayAttr names) {
  SmallVector<std::string> strings;
  if (names)
    for (Attribute name : names)
      strings.push_back(isa<StringAttr>(name) ? cast<StringAttr>(name).str() : "");
  return strings;
}

/// Number of a stage's pure variables; its reduction variables follow them.
static int64_t countPureVars(Value func, std::optional<int64_t> update) {
  SmallVector<UpdateOp> updates = getUpdates(func);
  if (update && *update < int64_t(updates.size()))
    return toStrings(updates[*update].getVarsAttr()).size();
  return cast<FuncType>(func.getType()).getRank();
}

bool halide::isReductionLoop(Value loop) {
  Operation *op = loop.getDefiningOp();
  if (auto split = dyn_cast<SplitOp>(op))
    return isReductionLoop(split.getLoop());
  if (auto fuse = dyn_cast<FuseOp>(op))
    return isReductionLoop(fuse.getInner()) || isReductionLoop(fuse.getOuter());
  Stage stage = getStage(loop);
  return cast<OpResult>(loop).getResultNumber() >= countPureVars(stage.func, stage.update);
}

/// `depth` bounds the names of loops that are split or fused many times.
static std::string nameLoop(Value loop, int depth) {
  Operation *op = loop.getDefiningOp();
  if (depth == 0)
    return "loop";
  if (auto split = dyn_cast<SplitOp>(op))
    return nameLoop(split.getLoop(), depth - 1) + (loop == split.getOuter() ? "o" : "i");
  if (auto fuse = dyn_cast<FuseOp>(op))
    return nameLoop(fuse.getInner(), depth - 1) + "_" + nameLoop(fuse.getOuter(), depth - 1);
  Stage stage = getStage(loop);
  auto vars = getStageVars(stage.func, stage.update);
  size_t index = cast<OpResult>(loop).getResultNumber();
  return succeeded(vars) && index < vars->size() ? (*vars)[index] : "loop";
}

std::string halide::getLoopName(Value loop) { return nameLoop(loop, /*depth=*/12); }

std::string halide::getFuncName(Value func) {
  Operation *op = func.getDefiningOp();
  if (auto rfactor = dyn_cast<RfactorOp>(op))
    return getFuncName(getStage(rfactor.getLoop()).func) + "_intm";
  return op->getAttrOfType<StringAttr>("name").str();
}

/// The first handle on a loop: several `halide.loops` may give the same one.
static Value getFirstHandle(Value loop) {
  auto loops = loop.getDefiningOp<LoopsOp>();
  if (!loops)
    return loop;
  LoopsOp first = loops;
  for (Operation *user : loops.getFunc().getUsers())
    if (auto other = dyn_cast<LoopsOp>(user);
        other && other.getUpdate() == loops.getUpdate() && other->isBeforeInBlock(first))
      first = other;
  return first->getResult(cast<OpResult>(loop).getResultNumber());
}

//===----------------------------------------------------------------------===//
// Variables of a stage
//===----------------------------------------------------------------------===//

SmallVector<RemainingLoop> halide::getRemainingLoops(RfactorOp rfactor) {
  Stage stage = getStage(rfactor.getLoop());
  SmallVector<RemainingLoop> loops;
  size_t numPure = countPureVars(stage.func, stage.update);
  SmallVector<std::string> vars = *getStageVars(stage.func, stage.update);
  for (const std::string &name : llvm::drop_begin(vars, numPure))
    loops.push_back({name, Value()});
  auto erase = [&](Value loop) {
    llvm::erase_if(loops, [&](RemainingLoop &l) { return l.handle == getFirstHandle(loop); });
  };
  auto append = [&](Value loop) { loops.push_back({getLoopName(loop), loop}); };
  for (Operation &op : *rfactor->getBlock()) {
    if (auto handles = dyn_cast<LoopsOp>(op);
        handles && handles.getFunc() == stage.func && handles.getUpdate() == stage.update)
      for (size_t i = numPure; i < handles.getNumResults(); ++i)
        for (RemainingLoop &loop : loops)
          if (!loop.handle && loop.name == getLoopName(handles.getResult(i)))
            loop.handle = handles.getResult(i);
    if (auto split = dyn_cast<SplitOp>(op);
        split && getStage(split.getLoop()) == stage && isReductionLoop(split.getLoop())) {
      erase(split.getLoop());
      append(split.getInner());
      append(split.getOuter());
    }
    if (auto fuse = dyn_cast<FuseOp>(op);
        fuse && getStage(fuse.getFused()) == stage && isReductionLoop(fuse.getFused())) {
      erase(fuse.getInner());
      erase(fuse.getOuter());
      append(fuse.getFused());
    }
    if (&op == rfactor)
      break;
    if (auto before = dyn_cast<RfactorOp>(op); before && getStage(before.getLoop()) == stage)
      llvm::erase_if(
          loops, [&](RemainingLoop &l) { return l.handle != getFirstHandle(before.getLoop()); });
  }
  erase(rfactor.getLoop());
  return loops;
}

/// The intermediate of an rfactor has one update, over the remaining reduction loops.
static FailureOr<SmallVector<std::string>> getIntermediateVars(RfactorOp rfactor,
                                                               std::optional<int64_t> update) {
  Stage stage = getStage(rfactor.getLoop());
  auto vars = getStageVars(stage.func, std::nullopt);
  if (failed(vars) || (update && *update != 0))
    return failure();
  vars->push_back(getLoopName(rfactor.getLoop()));
  if (update)
    for (const RemainingLoop &loop : getRemainingLoops(rfactor))
      vars->push_back(loop.name);
  return vars;
}

FailureOr<SmallVector<std::string>> halide::getStageVars(Value func,
                                                         std::optional<int64_t> update) {
  if (auto rfactor = func.getDefiningOp<RfactorOp>())
    return getIntermediateVars(rfactor, update);
  auto definition = func.getDefiningOp<halide::FuncOp>();
  if (!definition)
    return failure();
  if (!update)
    return toStrings(definition.getVars());
  SmallVector<UpdateOp> updates = getUpdates(func);
  if (*update < 0 || *update >= int64_t(updates.size()))
    return failure();
  SmallVector<std::string> vars = toStrings(updates[*update].getVarsAttr());
  llvm::append_range(vars, toStrings(updates[*update].getRvarsAttr()));
  return vars;
}

//===----------------------------------------------------------------------===//
// Shared rules
//===----------------------------------------------------------------------===//

static LogicalResult verifyIsFunc(Operation *op, Value func) {
  if (func.getDefiningOp<InputOp>())
    return op->emitOpError("expected a func, found an input");
  return success();
}

static LogicalResult verifyStageExists(Operation *op, Value func, std::optional<int64_t> update) {
  if (succeeded(getStageVars(func, update)))
    return success();
  if (update)
    return op->emitOpError("expected an update of the func, found none of index ") << *update;
  return op->emitOpError("expected a func with a definition, found an input or extern");
}

static LogicalResult verifyHandles(Operation *op, Value func, std::optional<int64_t> update) {
  if (failed(verifyStageExists(op, func, update)))
    return failure();
  size_t count = getStageVars(func, update)->size();
  if (op->getNumResults() == count)
    return success();
  return op->emitOpError("expected ") << count << " loops, found " << op->getNumResults();
}

/// Handles are named after func and loop: the schedule of several funcs reads
/// well and the variables of bodies keep their own names.
static void nameLoops(ResultRange loops, OpAsmSetValueNameFn setName) {
  for (Value loop : loops)
    setName(loop, getFuncName(getStage(loop).func) + "_" + getLoopName(loop));
}

static LogicalResult verifyOneStage(Operation *op, ValueRange loops) {
  for (auto [i, loop] : llvm::enumerate(loops)) {
    if (!(getStage(loop) == getStage(loops.front())))
      return op->emitOpError("expected loops of one stage, found '")
             << getLoopName(loop) << "' of another";
    if (llvm::is_contained(loops.take_front(i), loop))
      return op->emitOpError("expected each loop once, found '") << getLoopName(loop) << "' twice";
  }
  return success();
}

static LogicalResult verifyAt(Operation *op, Value func, Value loop) {
  if (failed(verifyIsFunc(op, func))) // (C1)
    return failure();
  if (getStage(loop).func == func) // (C2)
    return op->emitOpError("expected a loop of another func, found '")
           << getLoopName(loop) << "', the func's own";
  for (Operation *user : func.getUsers())
    if (auto output = dyn_cast<OutputOp>(user)) { // (C3)
      InFlightDiagnostic diag = op->emitOpError("expected a func that is not an output");
      diag.attachNote(output.getLoc()) << "an output here";
      return diag;
    }
  return success();
}

static LogicalResult verifyCount(Operation *op, StringRef what, int64_t found) {
  if (found > 0 && found <= kMaxSize)
    return success();
  return op->emitOpError("expected a positive ")
         << what << " of at most " << kMaxSize << ", found " << found;
}

static LogicalResult verifyDim(Operation *op, Value func, int64_t dim, int64_t size) {
  int64_t rank = cast<FuncType>(func.getType()).getRank();
  if (dim < 0 || dim >= rank) // (C1)
    return op->emitOpError("expected a dimension below ") << rank << ", found " << dim;
  if (failed(verifyCount(op, "size", size)))
    return failure();
  return verifyIsFunc(op, func); // (C2)
}

//===----------------------------------------------------------------------===//
// Invalidated loops
//===----------------------------------------------------------------------===//

static StringRef getParticiple(Operation *op) {
  if (isa<SplitOp>(op))
    return "split";
  return isa<FuseOp>(op) ? "fused" : "moved by rfactor";
}

static LogicalResult verifyIsValid(Operation &op, Value loop,
                                   const DenseMap<Value, Operation *> &consumers) {
  Operation *consumer = consumers.lookup(getFirstHandle(loop));
  if (!consumer)
    return success();
  InFlightDiagnostic diag = op.emitOpError("expected a valid loop handle, found '")
                            << getLoopName(loop) << "', already " << getParticiple(consumer);
  diag.attachNote(consumer->getLoc()) << getParticiple(consumer) << " here";
  return diag;
}

/// PipelineOp (C3): loops that were split, fused or moved are not used again.
LogicalResult halide::verifyLoopUses(Block &block) {
  DenseMap<Value, Operation *> consumers;
  for (Operation &op : block) {
    for (Value operand : op.getOperands())
      if (isa<LoopType>(operand.getType()) && failed(verifyIsValid(op, operand, consumers)))
        return failure();
    if (isa<SplitOp, FuseOp>(op))
      for (Value loop : op.getOperands())
        consumers[getFirstHandle(loop)] = &op;
    if (auto rfactor = dyn_cast<RfactorOp>(op))
      for (const RemainingLoop &loop : getRemainingLoops(rfactor))
        if (loop.handle)
          consumers[getFirstHandle(loop.handle)] = &op;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Vectorized and unrolled loops
//===----------------------------------------------------------------------===//

static std::optional<int64_t> getExtent(Value func, int64_t dim) {
  for (Operation *user : func.getUsers()) {
    if (auto bound = dyn_cast<BoundExtentOp>(user); bound && int64_t(bound.getDim()) == dim)
      return bound.getSize();
    if (auto output = dyn_cast<OutputOp>(user);
        output && output.getFunc() == func && !ShapedType::isDynamic(output.getExtents()[dim]))
      return output.getExtents()[dim];
  }
  return std::nullopt;
}

/// The trip count of a loop, if the IR alone determines it.
static std::optional<int64_t> getExtent(Value loop) {
  if (auto split = loop.getDefiningOp<SplitOp>())
    return loop == split.getInner() ? std::optional<int64_t>(split.getFactor()) : std::nullopt;
  auto loops = loop.getDefiningOp<LoopsOp>();
  if (!loops || !loops.getFunc().getDefiningOp<halide::FuncOp>())
    return std::nullopt;
  int64_t number = cast<OpResult>(loop).getResultNumber();
  if (!loops.getUpdate())
    return getExtent(loops.getFunc(), number);
  UpdateOp update = getUpdates(loops.getFunc())[*loops.getUpdate()];
  int64_t numPure = update.getVars().size();
  if (number < numPure)
    return getExtent(loops.getFunc(), update.getPureDims()[number]);
  APInt extent;
  if (!matchPattern(update.getExtents()[number - numPure], m_ConstantInt(&extent)))
    return std::nullopt;
  return extent.getSExtValue();
}

LogicalResult halide::verifyCopies(Block &block) {
  constexpr int64_t most = 1 << 16;
  std::map<std::tuple<void *, int64_t, Operation *>, int64_t> copies;
  for (Operation &op : block) {
    if (!isa<VectorizeOp, UnrollOp>(op))
      continue;
    Stage stage = getStage(op.getOperand(0));
    int64_t &known =
        copies[{stage.func.getAsOpaquePointer(), stage.update.value_or(-1), stage.specialization}];
    int64_t extent = getExtent(op.getOperand(0)).value_or(1);
    known = std::max<int64_t>(known, 1) * std::clamp<int64_t>(extent, 1, most + 1);
    if (known > most)
      return op.emitOpError("expected at most ")
             << most << " copies of a stage's value in vectors and unrolled loops, found more";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Directives
//===----------------------------------------------------------------------===//

/// Counts the directives of the pipeline: "4 vectorize, 1 parallel".
std::string PipelineOp::describeSchedule() {
  llvm::MapVector<StringRef, unsigned> counts;
  for (Operation &op : getBody().front())
    if (isa<SplitOp, FuseOp, VectorizeOp, UnrollOp, ParallelOp, ComputeAtOp, ComputeRootOp,
            GpuBlockOp, GpuThreadOp>(op))
      ++counts[op.getName().stripDialect()];
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(counts, os,
                        [&](const auto &count) { os << count.second << ' ' << count.first; });
  return text.empty() ? "no directives" : text;
}

static SmallVector<Type> getLoopTypes(Value func, std::optional<int64_t> update) {
  auto vars = getStageVars(func, update);
  assert(succeeded(vars) && "no such stage");
  return SmallVector<Type>(vars->size(), LoopType::get(func.getContext()));
}

static IntegerAttr makeUpdateAttr(Builder &b, std::optional<int64_t> update) {
  return update ? b.getI64IntegerAttr(*update) : IntegerAttr();
}

void LoopsOp::build(OpBuilder &b, OperationState &state, Value func,
                    std::optional<int64_t> update) {
  build(b, state, getLoopTypes(func, update), func, makeUpdateAttr(b, update));
}

void LoopsOp::getAsmResultNames(OpAsmSetValueNameFn setName) { nameLoops(getLoops(), setName); }

LogicalResult LoopsOp::verify() { return verifyHandles(*this, getFunc(), getUpdate()); } // (C1)

void SplitOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  nameLoops((*this)->getResults(), setName);
}

LogicalResult SplitOp::verify() { return verifyCount(*this, "factor", getFactor()); } // (C1)

void FuseOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  nameLoops((*this)->getResults(), setName);
}

LogicalResult FuseOp::verify() { // (C1)
  return verifyOneStage(*this, {getInner(), getOuter()});
}

LogicalResult ReorderOp::verify() { return verifyOneStage(*this, getLoops()); } // (C1)

LogicalResult ComputeRootOp::verify() { return verifyIsFunc(*this, getFunc()); } // (C1)
LogicalResult StoreRootOp::verify() { return verifyIsFunc(*this, getFunc()); }   // (C1)
LogicalResult ComputeAtOp::verify() { return verifyAt(*this, getFunc(), getLoop()); }
LogicalResult StoreAtOp::verify() { return verifyAt(*this, getFunc(), getLoop()); }
LogicalResult StoreInOp::verify() { return verifyIsFunc(*this, getFunc()); } // (C1)

LogicalResult ComputeWithOp::verify() { // (C1)
  if (failed(verifyStageExists(*this, getFunc(), getUpdate())))
    return failure();
  if (getStage(getLoop()).func == getFunc())
    return emitOpError("expected a loop of another func, found '")
           << getLoopName(getLoop()) << "', the func's own";
  return success();
}

LogicalResult BoundExtentOp::verify() { return verifyDim(*this, getFunc(), getDim(), getSize()); }
LogicalResult BoundStorageOp::verify() { return verifyDim(*this, getFunc(), getDim(), getSize()); }
LogicalResult AlignBoundsOp::verify() { return verifyDim(*this, getFunc(), getDim(), getSize()); }
LogicalResult AlignStorageOp::verify() { return verifyDim(*this, getFunc(), getDim(), getSize()); }

LogicalResult ReorderStorageOp::verify() {
  SmallVector<int64_t> sorted(getOrder());
  llvm::sort(sorted);
  int64_t rank = getFunc().getType().getRank();
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank))) // (C1)
    return emitOpError("expected each of the dimensions below ") << rank << " once";
  return verifyIsFunc(*this, getFunc()); // (C2)
}

LogicalResult AtomicOp::verify() { // (C1)
  return verifyStageExists(*this, getFunc(), getUpdate());
}
LogicalResult GpuSingleThreadOp::verify() { // (C1)
  return verifyStageExists(*this, getFunc(), getUpdate());
}
LogicalResult AllowRaceConditionsOp::verify() { // (C1)
  return verifyStageExists(*this, getFunc(), getUpdate());
}
LogicalResult NeverPartitionOp::verify() { // (C1)
  return verifyStageExists(*this, getFunc(), getUpdate());
}

void RfactorOp::build(OpBuilder &b, OperationState &state, Value loop) {
  auto type = cast<FuncType>(getStage(loop).func.getType());
  build(b, state, FuncType::get(b.getContext(), type.getElementType(), type.getRank() + 1), loop);
}

void RfactorOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getIntermediate(), getFuncName(getIntermediate()));
}

LogicalResult RfactorOp::verify() {
  Stage stage = getStage(getLoop());
  if (!isReductionLoop(getLoop()) || stage.specialization) // (C1)
    return emitOpError("expected a reduction loop of an update, found '")
           << getLoopName(getLoop()) << "'";
  auto type = cast<FuncType>(stage.func.getType());
  auto expected = FuncType::get(getContext(), type.getElementType(), type.getRank() + 1);
  if (getIntermediate().getType() != expected) // (C2)
    return emitOpError("expected result ") << expected << ", found " << getIntermediate().getType();
  return success();
}

void SpecializeOp::build(OpBuilder &b, OperationState &state, Value func, Value condition,
                         std::optional<int64_t> update) {
  build(b, state, getLoopTypes(func, update), func, makeUpdateAttr(b, update), condition);
}

void SpecializeOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  nameLoops(getLoops(), setName);
}

LogicalResult SpecializeOp::verify() {
  if (failed(verifyHandles(*this, getFunc(), getUpdate()))) // (C1)
    return failure();
  Stage stage{getFunc(), getUpdate()};
  for (Operation &op : *(*this)->getBlock()) {
    if (&op == *this)
      break;
    if (isa<SplitOp, FuseOp>(op) && getStage(op.getOperand(0)) == stage) { // (C2)
      InFlightDiagnostic diag =
          emitOpError("expected a stage with loops neither split nor fused before");
      diag.attachNote(op.getLoc()) << getParticiple(&op) << " here";
      return diag;
    }
  }
  return success();
}

LogicalResult PrefetchOp::verify() { return verifyCount(*this, "offset", getOffset()); } // (C1)
