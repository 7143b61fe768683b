//===- Explanation.cpp - fusion and kernels of a spec ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentName.h"
#include "MainLoop.h"
#include "MaskPicture.h"
#include "VisibleKeys.h"

#include "attnc/Diagnostics/Terminal.h"
#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/Elements.h"
#include "attnc/Dialect/Attn/MaskAnalysis.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Dialect/Cuda/Cuda.h"
#include "attnc/Dialect/Host/Host.h"
#include "attnc/Execution/Graph.h"
#include "attnc/Machine/Target.h"
#include "attnc/Spec/Place.h"
#include "attnc/Target/Halide/Export.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace attnc;
using mlir::attn::AttentionOp;
using mlir::attn::KernelOpInterface;
using mlir::attn::MaskAnalysis;

//===----------------------------------------------------------------------===//
// Ops of the fused graph
//===----------------------------------------------------------------------===//

/// The arguments whose elements or sizes a region reads.
static std::string listReads(Region &region) {
  SmallVector<std::string> names;
  region.walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      std::string name = nameArgument(operand);
      if (!name.empty() && isa<tensor::DimOp>(op))
        name = "sizes of " + name;
      if (!name.empty() && !llvm::is_contained(names, name))
        names.push_back(name);
    }
  });
  return names.empty() ? "" : " reads " + llvm::join(names, ", ");
}

/// For a mask that shows two ranges of keys: `skipped`, the KV blocks skipped outside of both, and
/// whether kernels skip those between them.
static std::string describeGap(AttentionOp attention, StringRef skipped) {
  auto skips = [](Attribute schedule) {
    if (auto prefill = dyn_cast<mlir::attn::PrefillAttr>(schedule))
      return prefill.getKvSplits() == 1;
    auto decode = dyn_cast<mlir::attn::DecodeAttr>(schedule);
    return decode && decode.getKvSplits() == 1;
  };
  ArrayAttr schedules = attention.getScheduleAttr();
  if (!schedules || llvm::none_of(schedules, skips))
    return skipped.empty() ? "no KV blocks skipped"
                           : (skipped + ", but not those between two ranges of them").str();
  std::string where = llvm::all_of(schedules, skips) ? "" : ", where keys are not split,";
  return skipped.empty() ? "skips KV blocks" + where + " between two ranges of visible keys"
                         : (skipped + " and" + where + " between two ranges of them").str();
}

/// Which KV blocks a query block skips, by the bounds that the mask gives for its keys, or because
/// a prefill kernel evaluates the mask before the scores.
static std::string describeBounds(AttentionOp attention, MaskAnalysis &mask) {
  const auto &condition = mask.getCondition();
  bool below = condition.hasLowestKey(), above = condition.hasHighestKey();
  std::string text = below && above ? "skips KV blocks outside the visible keys"
                     : below        ? "skips KV blocks before the first visible key"
                     : above        ? "skips KV blocks after the last visible key"
                                    : "";
  if (condition.hasTwoRanges())
    text = describeGap(attention, text);
  else if (text.empty())
    text = "no KV blocks skipped";
  if (!mask.isComplete() && (below || above))
    text += " by some of the mask's conditions";
  if (!mask.isComplete() && attention.getSchedule() &&
      llvm::any_of(*attention.getSchedule(), llvm::IsaPred<mlir::attn::PrefillAttr>))
    text += "; prefill skips those without a visible key, found by evaluating the mask first";
  if (std::optional<int64_t> width = mask.getWidth())
    text += llvm::formatv("; at most {0} visible keys per row", *width);
  return text;
}

/// A slip: causal(top_left) where a decode step wants causal(bottom_right).
static bool seesFirstKeyAlone(AttentionOp attention, MaskAnalysis &mask) {
  if (!mask.isConjunction() ||
      cast<ShapedType>(attention.getQuery().getType()).getDimSize(2) != 1 ||
      attention.getKvLen().getStatic() == 1)
    return false;
  auto isLowerTriangle = [](arith::CmpIOp compare) {
    Region *mask = compare->getParentRegion();
    bool isOfKey =
        compare.getLhs() == mask->getArgument(3) && compare.getRhs() == mask->getArgument(2);
    return isOfKey && compare.getPredicate() == arith::CmpIPredicate::sle;
  };
  return attention.getMask()
      .walk([&](arith::CmpIOp compare) {
        return isLowerTriangle(compare) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// How a kernel widens a key or value as it reads it; empty if it does not.
static std::string describeWidened(AttentionOp attention, Value stored, Value scales) {
  auto type = cast<RankedTensorType>(stored.getType());
  if (type.getElementType() == attention.getQuery().getType().getElementType())
    return "";
  std::string text = llvm::formatv(" widened from {0} as it is read", type.getElementType());
  if (!scales)
    return text;
  auto factors = cast<RankedTensorType>(scales.getType());
  int64_t count = factors.getDimSize(3), dims = type.getDimSize(3);
  std::string block = count == 1 || ShapedType::isDynamic(dims)
                          ? "row"
                          : llvm::formatv("{0} dims", dims / count).str();
  return text +
         llvm::formatv(", with a scale of {0} for each {1}", factors.getElementType(), block).str();
}

/// The op, beyond moves, that widens keys or values into a tensor of its own; null if none does.
static Operation *findWidening(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  while (mlir::attn::isMoveOrSlice(op) || isa_and_nonnull<mlir::attn::SplitHeadsOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto isNarrower = [&](Value operand) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    return type && type.getElementType().isIntOrFloat() &&
           type.getElementTypeBitWidth() < getElementTypeOrSelf(tensor).getIntOrFloatBitWidth();
  };
  bool computes = isa_and_nonnull<mlir::attn::DequantizeOp, mlir::attn::MapOp>(op) ||
                  (op && op->getDialect()->getNamespace() == "arith");
  return computes && llvm::any_of(op->getOperands(), isNarrower) ? op : nullptr;
}

/// Warns of keys or values that are stored once more, wider than they are.
static void warnOfWidening(Operation &op, std::vector<std::string> &features) {
  SmallVector<std::pair<StringRef, Value>> read;
  if (auto attention = dyn_cast<AttentionOp>(op))
    read = {{"key", attention.getKey()}, {"value", attention.getValue()}};
  if (auto score = dyn_cast<mlir::attn::ScoreOp>(op))
    read = {{"key", score.getKey()}};
  if (auto context = dyn_cast<mlir::attn::ContextOp>(op))
    read = {{"value", context.getValue()}};
  for (auto [name, tensor] : read)
    if (Operation *widening = findWidening(tensor))
      features.push_back(llvm::formatv("warning: reads a wide copy of {0}, which {1} stores", name,
                                       describePlace(widening->getLoc())));
}

static std::vector<std::string> listFeatures(AttentionOp attention, CostModel &costs) {
  MaskAnalysis mask(attention.getMask());
  std::vector<std::string> features;
  std::string scale;
  llvm::raw_string_ostream(scale) << llvm::format("%g", attention.getScale().convertToDouble());
  if (attention.getScale().convertToDouble() != 1)
    features.push_back("scale " + scale);
  for (auto [name, region] : {std::pair<StringRef, Region &>{"score_mod", attention.getScoreMod()},
                              {"mask", attention.getMask()},
                              {"prob_mod", attention.getProbMod()}})
    if (!region.empty())
      features.push_back(name.str() + listReads(region));
  if (!attention.getMask().empty()) {
    if (std::string keys = describeVisibleKeys(attention, mask, costs); !keys.empty())
      features.push_back(keys);
    features.push_back(describeBounds(attention, mask));
  }
  if (seesFirstKeyAlone(attention, mask))
    features.push_back(
        "its only query row sees key 0 alone: for the last row, causal(bottom_right)");
  if (attention.getSink())
    features.push_back("sink");
  if (attention.getPages())
    features.push_back("key and value read in their pages");
  if (mlir::attn::areValuesInKeys(attention))
    features.push_back(llvm::formatv("values are the first {0} of {1} dims of the keys, read once",
                                     attention.getValue().getType().getDimSize(3),
                                     attention.getKey().getType().getDimSize(3)));
  for (auto [name, stored, scales] :
       {std::tuple<StringRef, Value, Value>{"key", attention.getKey(), attention.getKeyScales()},
        {"value", attention.getValue(), attention.getValueScales()}})
    if (std::string widened = describeWidened(attention, stored, scales); !widened.empty())
      features.push_back(name.str() + widened);
  if (attention.getOffsets())
    features.push_back("rows of packed sequences alone: no padding is computed");
  if (attention.getKvOffsets())
    features.push_back("key and value read in packed rows");
  if (attention.getLse())
    features.push_back("lse");
  return features;
}

/// Whether an op writes the rows that it appends alone.
static std::string describeAppended(Operation &append) {
  if (mlir::attn::getArgumentInPlace(&append))
    return "in place if a caller passes one tensor for both; copies it otherwise";
  auto whole = dyn_cast<BlockArgument>(append.getOperand(0));
  bool isResult = llvm::any_of(append.getUsers(), llvm::IsaPred<func::ReturnOp>);
  StringRef reason = !whole      ? "is no argument"
                     : !isResult ? "has no result of the function for its rows"
                                 : "has other readers";
  return ("copies what it appends to, which " + reason).str();
}

/// Why rows are not read where they are packed.
static std::string describeUnpacked(Operation &unpack) {
  bool haveScales = llvm::any_of(unpack.getUsers(), [](Operation *user) {
    auto attention = dyn_cast<AttentionOp>(user);
    return attention && (attention.getKeyScales() || attention.getValueScales());
  });
  StringRef reason = "no fused attention reads them packed by the same offsets";
  if (haveScales)
    reason = "keys and values with scales are not read packed";
  else if (llvm::any_of(unpack.getUsers(), llvm::IsaPred<mlir::attn::AppendPagesOp>))
    reason = "counts of attn.append_pages are not those of the offsets";
  return ("each sequence padded to all rows, as " + reason).str();
}

/// Why pages are not read where they are.
static std::string describeGathered(Operation &gather) {
  SmallVector<Operation *> readers;
  for (Operation *user : gather.getUsers())
    if (isa<tensor::ExtractSliceOp>(user))
      llvm::append_range(readers, user->getUsers());
    else if (!isa<tensor::DimOp>(user))
      readers.push_back(user);
  if (llvm::any_of(readers, llvm::IsaPred<AttentionOp>))
    return "copies pages, as keys, values and scales are not all in pages of one size, with one "
           "table and its lengths";
  std::string reader =
      readers.empty() ? "nothing" : readers.front()->getName().getStringRef().str();
  return "copies pages, as " + reader + " reads them, not a fused attention";
}

static std::string describeResults(Operation &op, CostModel &costs) {
  auto describe = [&](Value result) { return costs.describe(result); };
  return llvm::join(llvm::map_to_vector(op.getResults(), describe), ", ");
}

static std::vector<Location> listScalars(Operation &op) {
  std::vector<Location> places;
  op.walk<WalkOrder::PreOrder>([&](Operation *scalar) {
    if (!scalar->hasTrait<OpTrait::IsTerminator>())
      places.push_back(scalar->getLoc());
  });
  return places;
}

static OpKernels describeOp(Operation &op, CostModel &costs) {
  OpKernels entry{op.getLoc(), op.getName().getStringRef().str(), describePlace(op.getLoc()),
                  describeResults(op, costs)};
  entry.scalars = listScalars(op);
  return entry;
}

static OpKernels describeComputation(Operation &op, CostModel &costs, StringRef target) {
  OpKernels entry = describeOp(op, costs);
  entry.cost = costs.get(&op);
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    entry.features = listFeatures(attention, costs);
    StringRef reason = mlir::attn::getReasonForNoKernel(attention, target);
    if (!attention.getScheduleAttr() && !reason.empty())
      entry.features.push_back(("no fused kernel, computed op by op: " + reason).str());
  }
  StringRef reason = mlir::attn::getReasonForNoTensorCores(&op, target);
  if (!reason.empty())
    entry.features.push_back(("no tensor cores: " + reason).str());
  reason = mlir::attn::getReasonForNoWarpgroups(&op, target);
  if (!reason.empty())
    entry.features.push_back(("no products of warpgroups: " + reason).str());
  if (auto lines = op.getAttrOfType<ArrayAttr>(mlir::attn::kEstimatesAttr))
    for (Attribute line : lines)
      entry.estimates.push_back(cast<StringAttr>(line).str());
  if (auto gather = dyn_cast<mlir::attn::AllGatherOp>(op))
    entry.isHalo = gather.getHalo().has_value();
  warnOfWidening(op, entry.features);
  if (isa<mlir::attn::UnpackRowsOp>(op))
    entry.features.push_back(describeUnpacked(op));
  if (isa<mlir::attn::GatherPagesOp>(op))
    entry.features.push_back(describeGathered(op));
  if (isa<mlir::attn::AppendCacheOp, mlir::attn::AppendPagesOp>(op))
    entry.features.push_back(describeAppended(op));
  return entry;
}

/// Ops that compute nothing: views, which have no kernel, or copies.
static bool isViewOrCopy(Operation &op) {
  return op.getName().getDialectNamespace() == "tensor" ||
         isa<mlir::attn::SplitHeadsOp, mlir::attn::MergeHeadsOp, mlir::attn::PlacesOp>(op);
}

/// Whether an op is one of the graph's: of the function, or of what each rank computes.
static bool isOfGraph(Operation *op) {
  return isa_and_nonnull<func::FuncOp, mlir::attn::RingOp, mlir::attn::AllReduceOp>(
      op->getParentOp());
}

/// Gives each op a unique location, as a node of a model becomes several ops with the same one.
/// Lowering keeps an op's location on its kernels' calls.
static void separateLocations(func::FuncOp function) {
  Builder builder(function.getContext());
  int64_t index = 0;
  function.walk([&](Operation *op) {
    if (isOfGraph(op))
      op->setLoc(
          FusedLoc::get(builder.getContext(), {op->getLoc()}, builder.getIndexAttr(index++)));
  });
}

static std::vector<OpKernels> describeGraph(func::FuncOp function, StringRef target) {
  separateLocations(function);
  CostModel costs(function);
  std::vector<OpKernels> ops;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isOfGraph(op) && op->getNumResults() > 0 &&
        isa<RankedTensorType>(op->getResult(0).getType()) && !op->hasTrait<OpTrait::ConstantLike>())
      ops.push_back(isViewOrCopy(*op) ? describeOp(*op, costs)
                                      : describeComputation(*op, costs, target));
  });
  // Copies into results are lowered at the terminator.
  ops.push_back(describeOp(*function.getBody().front().getTerminator(), costs));
  return ops;
}

//===----------------------------------------------------------------------===//
// Pictures
//===----------------------------------------------------------------------===//

/// Draws the masks of the fused graph for the call that `pictured` chooses, whose inputs `graph`,
/// the spec before any pass, tells the meaning of.
static LogicalResult drawMasks(Spec &spec, Graph &graph, const PictureInputs &pictured,
                               std::vector<OpKernels> &ops) {
  Signature signature = spec.getSignature();
  if (failed(checkSizes(pictured.sizes, getSymbols(signature))) ||
      failed(checkAllKnown(pictured.sizes, signature, pictured.given)))
    return failure();
  graph.nameDims(spec.getFunction());
  InputMaker maker(graph.getFunction(), signature, pictured.given, pictured.seed,
                   InputMaker::FullLengths);
  Sizes sizes = makeSizes(combine(pictured.sizes).front(), "--size");
  llvm::BitVector read(signature.inputs.size());
  spec.getFunction().walk([&](AttentionOp op) { read |= findMaskInputs(op); });
  FailureOr<std::vector<Tensor>> inputs = maker.make(sizes, &read);
  if (failed(inputs))
    return failure();
  std::vector<mlir::attn::reference::Array> arrays = makeArrays(*inputs);
  mlir::attn::SizeTracer tracer(spec.getFunction());
  auto getSize = [&](mlir::attn::TensorDim size) {
    return traceSize(size.tensor.value, size.dim, tracer, sizes).value_or(ShapedType::kDynamic);
  };
  auto draw = [&](AttentionOp op) -> WalkResult {
    int64_t qLen = getSize({{op.getQuery()}, 2}), kvLen = op.getKvLen().evaluate(getSize);
    bool isOfFunction = op->getParentOp() == spec.getFunction(); // not of a ring's step
    if (op.getMask().empty() || !isOfFunction || qLen <= 0 || kvLen <= 0)
      return WalkResult::advance();
    FailureOr<MaskPicture> picture = drawMask(op, arrays, qLen, kvLen);
    if (failed(picture))
      return WalkResult::interrupt();
    auto entry = llvm::find_if(ops, [&](const OpKernels &each) { return each.loc == op.getLoc(); });
    if (entry != ops.end())
      entry->picture = std::move(*picture);
    return WalkResult::advance();
  };
  return failure(spec.getFunction().walk(draw).wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Gives ops without kernels those that hold their scalar ops, whose places lowering keeps. Calls
/// of one function share kernels, so the place in the function counts, not that of the call.
static void findKernelsAround(std::vector<OpKernels> &ops) {
  std::map<std::string, llvm::SetVector<KernelOpInterface>> kernelsAt;
  for (const OpKernels &op : ops)
    for (KernelOpInterface kernel : op.kernels)
      kernel->walk(
          [&](Operation *scalar) { kernelsAt[describePlace(scalar->getLoc())].insert(kernel); });
  for (OpKernels &op : ops) {
    if (!op.kernels.empty())
      continue;
    llvm::SetVector<KernelOpInterface> found;
    for (Location place : op.scalars)
      if (auto known = kernelsAt.find(describePlace(place)); known != kernelsAt.end())
        found.insert_range(known->second);
    op.within.assign(found.begin(), found.end());
  }
}

/// Names the functions that a CPU kernel calls for each element.
static void describeLibmCalls(OpKernels &op) {
  llvm::SetVector<StringRef> names;
  for (KernelOpInterface kernel : op.kernels)
    kernel->walk([&](Operation *scalar) {
      if (mlir::halide::callsLibm(scalar))
        names.insert(scalar->getName().getStringRef());
    });
  if (!names.empty())
    op.features.push_back("a call of libm for each element: " +
                          llvm::join(names.getArrayRef(), ", "));
}

/// Gives each op the kernels called at its location. A call at no op's location gets an entry of
/// its own.
static void addKernels(Spec &spec, std::vector<OpKernels> &ops) {
  spec.getFunction().walk([&](host::CallOp call) {
    KernelOpInterface kernel = call.getKernel();
    if (!kernel)
      return;
    auto op =
        llvm::find_if(ops, [&](const OpKernels &entry) { return entry.loc == call.getLoc(); });
    if (op == ops.end())
      op = ops.insert(ops.end(),
                      {call.getLoc(), "host.call", describePlace(call.getLoc()), /*result=*/""});
    if (!llvm::is_contained(op->kernels, kernel))
      op->kernels.push_back(kernel);
  });
  findKernelsAround(ops);
  llvm::erase_if(ops, [](const OpKernels &op) { return !op.cost && op.kernels.empty(); });
}

//===----------------------------------------------------------------------===//
// Fusion and lowering
//===----------------------------------------------------------------------===//

/// Fuses and collects the remarks instead of printing them.
static LogicalResult fuse(Spec &spec, Explanation &explanation) {
  ScopedDiagnosticHandler handler(&spec.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Remark)
      return failure();
    std::string text = diagnostic.str();
    for (Diagnostic &note : diagnostic.getNotes())
      text += " (" + note.str() + ": " + describePlace(note.getLocation()) + ")";
    explanation.remarks.push_back({describePlace(diagnostic.getLocation()), text});
    return success();
  });
  return spec.lower(Stage::Fused, explanation.target, /*remarks=*/true);
}

/// Counts the main loops of kernels for tensor cores.
static LogicalResult addMainLoops(Explanation &explanation) {
  std::optional<CudaTools> tools = CudaTools::find();
  for (const OpKernels &op : explanation.ops)
    for (KernelOpInterface kernel : op.kernels) {
      if (!isa<mlir::cuda::KernelOp>(kernel) || explanation.mainLoops.count(kernel.getName().str()))
        continue;
      if (!tools) {
        explanation.lacksCudaTools = true;
        return success();
      }
      Progress progress("counting the main loop of " + kernel.getName());
      auto loops = countMainLoops(kernel, explanation.target, *tools);
      if (failed(loops))
        return failure();
      explanation.mainLoops[kernel.getName().str()] = std::move(*loops);
    }
  return success();
}

FailureOr<Explanation> attnc::explain(Spec &spec, StringRef target,
                                      const std::optional<PictureInputs> &pictured) {
  std::optional<Graph> graph;
  if (pictured) {
    FailureOr<Graph> copy = Graph::copy(spec);
    if (failed(copy))
      return failure();
    graph = std::move(*copy);
  }
  Explanation explanation{spec.getFunction().getName().str(),
                          target.str(),
                          spec.getStage() != Stage::Scheduled,
                          {},
                          {}};
  if (explanation.isGraph) {
    if (failed(fuse(spec, explanation)))
      return failure();
    explanation.ops = describeGraph(spec.getFunction(), target);
    if (graph && failed(drawMasks(spec, *graph, *pictured, explanation.ops)))
      return failure();
  }
  if (failed(spec.lower(Stage::Scheduled, target)))
    return failure();
  addKernels(spec, explanation.ops);
  if (!mlir::attn::Target(target).hasGpu())
    llvm::for_each(explanation.ops, describeLibmCalls);
  if (failed(addMainLoops(explanation)))
    return failure();
  return explanation;
}
