//===- AttnToHalide.cpp - attn graphs to pipelines and a host function ----===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops are taken in order. Each tensor gets a buffer: an argument, a result's
// argument, a view of another buffer or a temporary; each op that computes gets a
// pipeline and a call of it.
//
//===----------------------------------------------------------------------===//

#include "HostFunction.h"
#include "Lowerings.h"
#include "PackWeights.h"
#include "Rows.h"
#include "SizeChecks.h"

#include "attnc/Conversion/Passes.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/Decompose.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Dialect/Attn/Sizes.h"
#include "attnc/Machine/GpuInfo.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir {
#define GEN_PASS_DEF_CONVERTATTNTOHALIDE
#include "attnc/Conversion/Passes.h.inc"
} // namespace mlir

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Converts the ops of one function.
class FunctionConverter {
public:
  FunctionConverter(func::FuncOp function, const CpuInfo &cpu, bool onGpu)
      : function(function), cpu(cpu), onGpu(onGpu), host(function) {}

  LogicalResult convert();

private:
  using Lower = function_ref<LogicalResult(PipelineBuilder &)>;
  using Build = function_ref<FailureOr<BuiltKernel>(OpBuilder &, StringRef name)>;

  void findEpilogues();
  LogicalResult convertOp(Operation &op);
  LogicalResult convertCompute(Operation &op);
  LogicalResult convertMergeHeads(MergeHeadsOp op);
  LogicalResult convertSplitHeads(SplitHeadsOp op);
  LogicalResult convertReturn(func::ReturnOp op);
  LogicalResult convertConcat(tensor::ConcatOp op);
  LogicalResult convertInsertSlice(tensor::InsertSliceOp op);
  /// The tensor's buffer, or a copy of it without gaps.
  FailureOr<Value> getCompact(Value tensor);

  LogicalResult convertAttention(AttentionOp op);
  LogicalResult requireNone(Location loc, StringRef kind, const Twine &message, Lower lowerCount);
  LogicalResult convertEmbedding(EmbeddingOp op);
  LogicalResult convertAppendCache(AppendCacheOp op);
  LogicalResult convertGenerate(tensor::GenerateOp op);
  LogicalResult convertLinear(LinearOp op);
  LogicalResult convertMap(MapOp op);
  LogicalResult callLinear(LinearOp op, Value result);

  /// A pipeline built by `lower`, called on the buffers of its inputs, then those of its outputs;
  /// where there is a condition, only if it holds.
  LogicalResult callOn(ArrayRef<Value> destinations, Location loc, StringRef kind, Lower lower,
                       function_ref<Value()> condition = {});
  /// The same of any kernel.
  LogicalResult callKernel(ArrayRef<Value> destinations, Location loc, StringRef kind, Build build,
                           function_ref<Value()> condition);
  /// The same on the buffer of `result`.
  LogicalResult call(Location loc, StringRef kind, Value result, Lower lower,
                     function_ref<Value()> condition = {});
  LogicalResult copy(Location loc, Value tensor, Value to);
  KernelOpInterface share(KernelOpInterface kernel);

  func::FuncOp function;
  CpuInfo cpu;
  bool onGpu;
  HostFunction host;
  /// Found before anything is converted: that adds uses of tensors, for their sizes.
  llvm::DenseMap<LinearOp, SmallVector<MapOp>> epilogues;
  llvm::DenseMap<MapOp, LinearOp> linearBefore;
  /// By what they are printed as without their names.
  llvm::StringMap<KernelOpInterface> kernels;
  int64_t numKernels = 0;
};
} // namespace

/// A map of two products belongs to the first; the other one ends before it.
void FunctionConverter::findEpilogues() {
  function.walk([&](LinearOp op) {
    SmallVector<MapOp> &epilogue = epilogues[op];
    for (MapOp map : getEpilogue(op)) {
      if (!linearBefore.try_emplace(map, op).second)
        break;
      epilogue.push_back(map);
    }
  });
}

LogicalResult FunctionConverter::convert() {
  if (!function.getBody().hasOneBlock())
    return function.emitError("expected a function of one block, found ")
           << function.getBody().getBlocks().size();
  if (failed(host.create()))
    return failure();
  findEpilogues();
  for (Operation &op : function.getBody().front())
    if (failed(convertOp(op)))
      return failure();
  host.finish();
  return success();
}

LogicalResult FunctionConverter::convertOp(Operation &op) {
  if (!isDecomposed(&op))
    return op.emitOpError("expected ops that have kernels: run attn-decompose first");
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](func::ReturnOp ret) { return convertReturn(ret); })
      .Case([&](MergeHeadsOp merge) { return convertMergeHeads(merge); })
      .Case([&](SplitHeadsOp split) { return convertSplitHeads(split); })
      .Case([&](TransposeOp transpose) {
        // Rows that stay whole are a view; kernels can't read others.
        if (!transpose.keepsRows())
          return convertCompute(op);
        host.viewTransposed(transpose);
        return success();
      })
      .Case([&](tensor::ExpandShapeOp expand) {
        host.viewExpanded(expand);
        return success();
      })
      .Case([&](tensor::CollapseShapeOp collapse) {
        FailureOr<Value> compact = getCompact(collapse.getSrc());
        if (succeeded(compact))
          host.viewCollapsed(collapse, *compact);
        return LogicalResult(compact);
      })
      .Case([&](tensor::EmptyOp empty) {
        host.getDestination(empty);
        return success();
      })
      .Case([&](tensor::InsertSliceOp insert) { return convertInsertSlice(insert); })
      .Case([&](tensor::ExtractSliceOp slice) {
        // Elements side by side are a view; kernels can't read others.
        if (!slice.hasUnitStride())
          return convertCompute(op);
        host.viewSlice(slice);
        return success();
      })
      .Case([&](tensor::ConcatOp concat) { return convertConcat(concat); })
      .Case([&](arith::ConstantOp) { return success(); })
      .Default([&](Operation *) { return convertCompute(op); });
}

/// Pipelines name the dimensions of their tensors.
static LogicalResult verifyRanks(Operation &op) {
  SmallVector<Type> types(op.getOperandTypes());
  llvm::append_range(types, op.getResultTypes());
  for (Type type : types)
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.getRank() > kMaxRank)
      return op.emitOpError("expected tensors of rank ")
             << kMaxRank << " or less, found " << tensor.getRank();
  return success();
}

LogicalResult FunctionConverter::convertCompute(Operation &op) {
  // Scalars are rebuilt where a region or a size reads them.
  if (llvm::none_of(op.getResultTypes(), llvm::IsaPred<TensorType>))
    return success();
  if (failed(verifyRanks(op)))
    return failure();
  requireSizes(host, op);
  auto lowered = [&](auto lower) {
    return [&, lower](auto typed) {
      return call(op.getLoc(), op.getName().stripDialect(), op.getResult(0),
                  [&](PipelineBuilder &p) { return lower(p, typed, cpu); });
    };
  };
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<ScoreOp>(lowered(lowerScore))
      .Case<AdditiveScoreOp>(lowered(lowerAdditiveScore))
      .Case<ModifyScoreOp>(lowered(lowerModifyScore))
      .Case<MaskOp>(lowered(lowerMask))
      .Case<SoftmaxOp>(lowered(lowerSoftmax))
      .Case<ModifyProbOp>(lowered(lowerModifyProb))
      .Case<ContextOp>(lowered(lowerContext))
      .Case([&](EmbeddingOp embedding) { return convertEmbedding(embedding); })
      .Case([&](AppendCacheOp append) { return convertAppendCache(append); })
      .Case([&](LinearOp linear) { return convertLinear(linear); })
      .Case<LseOp>(lowered(lowerLse))
      .Case<MatmulOp>(lowered(lowerMatmul))
      .Case([&](MapOp map) { return convertMap(map); })
      .Case<ReduceOp>(lowered(lowerReduce))
      .Case<TransposeOp>(lowered(lowerTranspose))
      .Case<LayerNormOp>(lowered(lowerLayerNorm))
      .Case([&](tensor::GenerateOp generate) { return convertGenerate(generate); })
      .Case<tensor::ExtractSliceOp>(lowered(lowerStridedSlice))
      .Case([&](AttentionOp attention) { return convertAttention(attention); })
      .Default([&](Operation *) -> LogicalResult {
        if (!isElementwise(&op))
          return op.emitError("expected an op that convert-attn-to-halide knows, found ")
                 << op.getName();
        return call(op.getLoc(), op.getName().stripDialect(), op.getResult(0),
                    [&](PipelineBuilder &p) { return lowerElementwise(p, &op, cpu); });
      });
}

LogicalResult FunctionConverter::callKernel(ArrayRef<Value> destinations, Location loc,
                                            StringRef kind, Build build,
                                            function_ref<Value()> condition) {
  std::string stem = (function.getName() + "_").str(); // keywords are no longer ones
  if (!isCIdentifier(stem))
    stem = "function_";
  std::string name;
  do
    name = (stem + kind + "_" + Twine(numKernels++)).str();
  while (SymbolTable::lookupSymbolIn(function->getParentOp(), name));
  OpBuilder builder(function);
  FailureOr<BuiltKernel> built = build(builder, name);
  if (failed(built))
    return failure();
  built->kernel->setAttr(kKindAttr, builder.getStringAttr(kind));
  host.call(loc, share(built->kernel), built->inputs, destinations,
            condition ? condition() : Value());
  return success();
}

LogicalResult FunctionConverter::callOn(ArrayRef<Value> destinations, Location loc, StringRef kind,
                                        Lower lower, function_ref<Value()> condition) {
  auto build = [&](OpBuilder &builder, StringRef name) -> FailureOr<BuiltKernel> {
    PipelineBuilder p(builder, loc, name);
    if (failed(lower(p)))
      return failure();
    return p.getKernel();
  };
  return callKernel(destinations, loc, kind, build, condition);
}

LogicalResult FunctionConverter::call(Location loc, StringRef kind, Value result, Lower lower,
                                      function_ref<Value()> condition) {
  return callOn(host.getDestination(result), loc, kind, lower, condition);
}

LogicalResult FunctionConverter::copy(Location loc, Value tensor, Value to) {
  return callOn(to, loc, "copy", [&](PipelineBuilder &p) { return lowerCopy(p, tensor, cpu); });
}

/// Refuses calls where a pipeline counts what must not be, before anything reads it.
LogicalResult FunctionConverter::requireNone(Location loc, StringRef kind, const Twine &message,
                                             Lower lowerCount) {
  Value count = host.allocate(MemRefType::get({1}, IntegerType::get(function.getContext(), 32)));
  if (failed(callOn(count, loc, kind, lowerCount)))
    return failure();
  host.requireZero(loc, count, message);
  return success();
}

LogicalResult FunctionConverter::convertEmbedding(EmbeddingOp op) {
  if (failed(requireNone(op.getLoc(), "wrong_ids",
                         "expected ids of attn.embedding to be rows of its table",
                         [&](PipelineBuilder &p) { return lowerWrongIds(p, op); })))
    return failure();
  return call(op.getLoc(), "embedding", op.getResult(),
              [&](PipelineBuilder &p) { return lowerEmbedding(p, op, cpu); });
}

/// Whether a tensor may have no rows: kernels read the last one.
static bool mayLackRows(RankedTensorType input) {
  int64_t dim = input.getRank() - 2;
  return dim >= 0 && (input.isDynamicDim(dim) || input.getDimSize(dim) == 0);
}

LogicalResult FunctionConverter::convertAppendCache(AppendCacheOp op) {
  if (failed(requireNone(op.getLoc(), "wrong_lengths",
                         "expected lengths of attn.append_cache to leave room for its rows",
                         [&](PipelineBuilder &p) { return lowerWrongLengths(p, op); })))
    return failure();
  bool mayBeEmpty = mayLackRows(tensorType(op.getRows()));
  auto isEmpty = [&] { return host.isEmpty(op.getRows(), 2); };
  auto isServed = [&] { return host.isWithin(op.getRows(), 2, /*above=*/0, /*limit=*/0); };
  if (mayBeEmpty && failed(call(
                        op.getLoc(), "kept_cache", op.getResult(),
                        [&](PipelineBuilder &p) { return lowerKeptCache(p, op, cpu); }, isEmpty)))
    return failure();
  return call(
      op.getLoc(), "append_cache", op.getResult(),
      [&](PipelineBuilder &p) { return lowerAppendCache(p, op, cpu); },
      mayBeEmpty ? function_ref<Value()>(isServed) : function_ref<Value()>());
}

namespace {
struct OpenDim {
  Value tensor;
  int64_t dim;
  bool operator==(const OpenDim &other) const { return tensor == other.tensor && dim == other.dim; }
};
} // namespace

/// The dimension of a caller's tensor that the region reads at places of its own choice and that
/// may have no elements, as a cache has none at first; none where there are several.
static std::optional<OpenDim> findOpenDim(tensor::GenerateOp op) {
  std::optional<OpenDim> found;
  for (auto extract : op.getBody().getOps<tensor::ExtractOp>()) {
    auto argument = dyn_cast<BlockArgument>(extract.getTensor());
    for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
      if (!argument || !extract.getTensor().getType().isDynamicDim(dim) ||
          isa<BlockArgument>(index))
        continue;
      OpenDim open{argument, int64_t(dim)};
      if (found && !(*found == open))
        return std::nullopt;
      found = open;
    }
  }
  return found;
}

/// The same where nothing is read of `tensor`, which has no elements.
static tensor::GenerateOp cloneWithout(tensor::GenerateOp op, Value tensor) {
  tensor::GenerateOp clone = op.clone();
  for (auto extract : llvm::make_early_inc_range(clone.getBody().getOps<tensor::ExtractOp>())) {
    if (extract.getTensor() != tensor)
      continue;
    OpBuilder builder(extract);
    Value zero = arith::ConstantOp::create(builder, extract.getLoc(),
                                           builder.getZeroAttr(extract.getType()));
    extract.replaceAllUsesWith(zero);
    extract.erase();
  }
  return clone;
}

LogicalResult FunctionConverter::convertGenerate(tensor::GenerateOp op) {
  auto callFor = [&](tensor::GenerateOp generate, function_ref<Value()> condition) {
    return call(
        op.getLoc(), "generate", op.getResult(),
        [&](PipelineBuilder &p) { return lowerGenerate(p, generate, cpu); }, condition);
  };
  std::optional<OpenDim> open = findOpenDim(op);
  if (!open)
    return callFor(op, {});
  OwningOpRef<tensor::GenerateOp> without = cloneWithout(op, open->tensor);
  if (failed(callFor(*without, [&] { return host.isEmpty(open->tensor, open->dim); })))
    return failure();
  return callFor(op,
                 [&] { return host.isWithin(open->tensor, open->dim, /*above=*/0, /*limit=*/0); });
}

/// Six rows fill the registers; a single one is quicker without five in vain. Where weights
/// are packed in the call, that costs more than the product of a few rows.
static SmallVector<LinearKernel> selectKernels(LinearOp op, bool isPacked) {
  constexpr LinearKernel few{1, 1}, many{6, 0};
  auto type = cast<RankedTensorType>(op.getInput().getType());
  if (!isPacked || type.getRank() < 2)
    return {many};
  int64_t rows = type.getDimSize(type.getRank() - 2);
  if (ShapedType::isDynamic(rows))
    return {few, many};
  return {rows <= few.maxRows ? few : many};
}

/// A product with an epilogue is computed where that ends: what the maps read stands before.
LogicalResult FunctionConverter::convertLinear(LinearOp op) {
  return epilogues[op].empty() ? callLinear(op, op.getResult()) : success();
}

LogicalResult FunctionConverter::convertMap(MapOp op) {
  LinearOp linear = linearBefore.lookup(op);
  if (!linear)
    return call(op.getLoc(), "map", op.getResult(),
                [&](PipelineBuilder &p) { return lowerMap(p, op, cpu); });
  bool isLast = epilogues[linear].back() == op;
  return isLast ? callLinear(linear, op.getResult()) : success();
}

/// Constant weights are packed once for all kernels; a call runs the first that serves its
/// number of rows.
LogicalResult FunctionConverter::callLinear(LinearOp op, Value result) {
  OpBuilder before(op);
  Value panels = packPanels(before, op.getWeight(), getPanelColumns(op, cpu));
  SmallVector<LinearKernel> kernels = selectKernels(op, bool(panels));
  int64_t rowsDim = cast<RankedTensorType>(op.getInput().getType()).getRank() - 2, above = 0;
  bool isAlways = kernels.size() == 1 && !mayLackRows(tensorType(op.getInput()));
  for (LinearKernel kernel : kernels) {
    auto isServed = [&] { return host.isWithin(op.getInput(), rowsDim, above, kernel.maxRows); };
    bool isTiled = onGpu && kernel.tileRows > 1 && hasGpuTiles(op);
    if (failed(call(
            op.getLoc(), "linear", result,
            [&](PipelineBuilder &p) {
              return isTiled ? lowerLinearOnGpu(p, op, epilogues[op], panels)
                             : lowerLinear(p, op, epilogues[op], panels, kernel, cpu);
            },
            isAlways ? function_ref<Value()>() : isServed)))
      return failure();
    above = kernel.maxRows;
  }
  return success();
}

/// The kernel that the schedule describes, by whom builds such ones.
static FailureOr<BuiltKernel> buildKernel(OpBuilder &builder, StringRef name, AttentionOp op,
                                          Attribute schedule) {
  auto kernelBuilder = dyn_cast<KernelBuilderAttrInterface>(schedule);
  if (!kernelBuilder)
    return op.emitOpError("expected a schedule that this build of attnc has kernels for, found ")
           << schedule;
  FailureOr<BuiltKernel> built = kernelBuilder.buildKernel(builder, name, op);
  if (succeeded(built))
    built->kernel->setAttr(kScheduleAttr, schedule);
  return built;
}

/// One kernel for each schedule; a call runs the first that serves its q_len.
LogicalResult FunctionConverter::convertAttention(AttentionOp op) {
  if (StringRef obstacle = findObstacle(op); !obstacle.empty())
    return op.emitOpError("expected no schedule, as ") << obstacle;
  SmallVector<Value> destinations = llvm::map_to_vector(
      op->getResults(), [&](Value result) { return host.getDestination(result); });
  int64_t above = -1;
  for (auto schedule : op.getScheduleAttr().getAsRange<ScheduleAttrInterface>()) {
    int64_t limit = schedule.getMaxQLen();
    auto isServed = [&] { return host.isWithin(op.getQuery(), 2, above, limit); };
    auto build = [&](OpBuilder &builder, StringRef name) {
      return buildKernel(builder, name, op, schedule);
    };
    bool isOnly = op.getSchedule()->size() == 1;
    if (failed(callKernel(destinations, op.getLoc(), "attention", build,
                          isOnly ? function_ref<Value()>() : isServed)))
      return failure();
    above = limit;
  }
  return success();
}

/// An equal kernel built before takes the place of this one: layers of one shape are
/// compiled once.
KernelOpInterface FunctionConverter::share(KernelOpInterface kernel) {
  StringAttr name = kernel.getNameAttr();
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel.setName(StringAttr::get(name.getContext(), ""));
  kernel->print(os, OpPrintingFlags().useLocalScope());
  kernel.setName(name);
  auto [known, isNew] = kernels.try_emplace(text, kernel);
  if (!isNew) {
    kernel->erase();
    --numKernels;
  }
  return known->second;
}

/// A view of the input.
LogicalResult FunctionConverter::convertSplitHeads(SplitHeadsOp op) {
  OpFoldResult heads = host.getMixedSize(op.getResult(), 1);
  host.requireProduct(op.getLoc(), op.getInput(), 2, {heads, host.getMixedSize(op.getResult(), 3)},
                      "expected num_heads of attn.split_heads to divide the width");
  host.setBuffer(op.getResult(),
                 host.viewAsHeads(host.getBuffer(op.getInput()), heads, op.getLayout()));
  return success();
}

/// The heads were computed in place when the op that computes them could be given the
/// merged buffer; else they are copied there.
LogicalResult FunctionConverter::convertMergeHeads(MergeHeadsOp op) {
  if (host.hasBuffer(op.getResult()))
    return success();
  if (op.getInput().getType().getDimSize(1) == 0) { // then there is nothing to copy
    (void)host.getDestination(op.getResult());
    return success();
  }
  Value merged = host.getDestination(op.getResult());
  OpFoldResult heads = host.getMixedSize(op.getInput(), 1);
  host.requireProduct(op.getLoc(), op.getResult(), 2, {heads, host.getMixedSize(op.getInput(), 3)},
                      "expected heads of attn.merge_heads to make up the width");
  return copy(op.getLoc(), op.getInput(), host.viewAsHeads(merged, heads, op.getLayout()));
}

/// Each operand is copied to its place.
LogicalResult FunctionConverter::convertConcat(tensor::ConcatOp op) {
  for (Value input : op.getInputs().drop_front())
    for (int64_t dim = 0; dim < op.getRank(); ++dim)
      if (dim != int64_t(op.getDim()))
        host.requireSame(op.getLoc(), op.getInputs().front(), dim, input, dim,
                         "expected operands of tensor.concat to match but along its dimension");
  Value all = host.getDestination(op.getResult());
  SmallVector<Value> parts = host.viewParts(op, all);
  for (auto [input, part] : llvm::zip_equal(op.getInputs(), parts))
    if (part && failed(copy(op.getLoc(), input, part)))
      return failure();
  return success();
}

LogicalResult FunctionConverter::convertInsertSlice(tensor::InsertSliceOp op) {
  if (!op.hasUnitStride())
    return op.emitOpError("expected strides of 1, found others");
  Value all = host.getDestination(op.getResult());
  if (failed(copy(op.getLoc(), op.getDest(), all)))
    return failure();
  return copy(op.getLoc(), op.getSource(), host.viewPlace(op, all));
}

FailureOr<Value> FunctionConverter::getCompact(Value tensor) {
  if (host.isCompact(tensor))
    return host.getBuffer(tensor);
  Value compact = host.allocate(tensor);
  if (failed(copy(tensor.getLoc(), tensor, compact)))
    return failure();
  return compact;
}

LogicalResult FunctionConverter::convertReturn(func::ReturnOp op) {
  for (auto [n, tensor] : llvm::enumerate(op.getOperands()))
    if (host.getBuffer(tensor) != host.getResultBuffer(n) &&
        failed(copy(op.getLoc(), tensor, host.getResultBuffer(n))))
      return failure();
  return success();
}

namespace {
struct ConvertAttnToHalidePass : impl::ConvertAttnToHalideBase<ConvertAttnToHalidePass> {
  using Base::Base;
  void runOnOperation() override {
    CpuInfo cpu = CpuInfo::fromTarget(target);
    bool onGpu = GpuInfo::fromTarget(target).has_value();
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      if (function.isExternal() || host::isHostFunction(function))
        continue;
      if (failed(verifyDims(function)))
        return signalPassFailure();
      if (failed(FunctionConverter(function, cpu, onGpu).convert()))
        return signalPassFailure();
    }
  }
};
} // namespace
