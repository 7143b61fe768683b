//===- Explanation.cpp - what fused, and into which kernels ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Explain/Explanation.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/MaskAnalysis.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Dialect/Host/Host.h"
#include "attnc/Spec/Place.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace attnc;
using mlir::attn::AttentionOp;
using mlir::attn::KernelOpInterface;
using mlir::attn::MaskAnalysis;

//===----------------------------------------------------------------------===//
// Groups of the fused graph
//===----------------------------------------------------------------------===//

/// The names of the arguments that a region reads.
static std::string listReads(Region &region, func::FuncOp function) {
  llvm::SetVector<StringRef> names;
  region.walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      auto argument = dyn_cast<BlockArgument>(operand);
      if (!argument || argument.getOwner()->getParentOp() != function)
        continue;
      auto name =
          function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), mlir::attn::kNameAttr);
      names.insert(name ? name.getValue() : StringRef("an argument"));
    }
  });
  return names.empty() ? "" : " reads " + llvm::join(names, ", ");
}

/// The sides on which the mask's comparisons bound a row's keys.
static std::string describeBounds(Region &region) {
  MaskAnalysis mask(region);
  const auto &condition = mask.getCondition();
  bool below = condition.hasLowestKey(), above = condition.hasHighestKey();
  if (!below && !above)
    return "keys not bounded by the mask";
  std::string text = below && above ? "keys bounded below and above"
                     : below        ? "keys bounded below"
                                    : "keys bounded above";
  if (std::optional<int64_t> width = mask.getWidth())
    text += llvm::formatv(", at most {0} for a row", *width);
  return mask.isComplete() ? text : text + " by a part of the mask";
}

static std::vector<std::string> listParts(AttentionOp attention, func::FuncOp function) {
  std::vector<std::string> parts;
  std::string scale;
  llvm::raw_string_ostream(scale) << llvm::format("%g", attention.getScale().convertToDouble());
  if (attention.getScale().convertToDouble() != 1)
    parts.push_back("scale " + scale);
  for (auto [name, region] : {std::pair<StringRef, Region &>{"score_mod", attention.getScoreMod()},
                              {"mask", attention.getMask()},
                              {"prob_mod", attention.getProbMod()}})
    if (!region.empty())
      parts.push_back(name.str() + listReads(region, function));
  if (!attention.getMask().empty())
    parts.push_back(describeBounds(attention.getMask()));
  if (attention.getSink())
    parts.push_back("sink");
  if (attention.getLse())
    parts.push_back("lse");
  return parts;
}

static std::string describeResults(Operation &op, CostModel &costs) {
  auto describe = [&](Value result) { return costs.describe(result); };
  return llvm::join(llvm::map_to_vector(op.getResults(), describe), ", ");
}

static Group describeGroup(Operation &op, func::FuncOp function, CostModel &costs,
                           StringRef target) {
  Group group{op.getLoc(),
              op.getName().getStringRef().str(),
              describePlace(op.getLoc()),
              describeResults(op, costs),
              {},
              costs.get(&op),
              {}};
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    group.parts = listParts(attention, function);
    StringRef reason = mlir::attn::getReasonForNoKernel(attention, target);
    if (!attention.getScheduleAttr() && !reason.empty())
      group.parts.push_back(("no fused kernel, but op by op: " + reason).str());
  }
  return group;
}

/// Ops that only rename elements compute nothing and have no kernel.
static bool isView(Operation &op) {
  return op.getName().getDialectNamespace() == "tensor" || op.hasTrait<OpTrait::ConstantLike>() ||
         isa<mlir::attn::SplitHeadsOp, mlir::attn::MergeHeadsOp>(op);
}

/// Gives each op a location of its own, as nodes of a model become several ops of one: lowering
/// passes locations on to all that it makes of an op, kernels' calls included.
static void separateLocations(func::FuncOp function) {
  Builder builder(function.getContext());
  for (auto [index, op] : llvm::enumerate(function.getBody().front()))
    op.setLoc(FusedLoc::get(builder.getContext(), {op.getLoc()}, builder.getIndexAttr(index)));
}

static std::vector<Group> describeGraph(func::FuncOp function, StringRef target) {
  separateLocations(function);
  CostModel costs(function);
  std::vector<Group> groups;
  for (Operation &op : function.getBody().front().without_terminator())
    if (op.getNumResults() > 0 && isa<RankedTensorType>(op.getResult(0).getType()) && !isView(op))
      groups.push_back(describeGroup(op, function, costs, target));
  return groups;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Gives each group its kernels, those that calls of its op's location call. Calls of no op's
/// location are groups of their own.
static void addKernels(Spec &spec, std::vector<Group> &groups) {
  spec.getFunction().walk([&](host::CallOp call) {
    KernelOpInterface kernel = call.getKernel();
    if (!kernel)
      return;
    auto group =
        llvm::find_if(groups, [&](const Group &group) { return group.loc == call.getLoc(); });
    if (group == groups.end())
      group = groups.insert(
          groups.end(),
          {call.getLoc(), "host.call", describePlace(call.getLoc()), "", {}, std::nullopt, {}});
    if (!llvm::is_contained(group->kernels, kernel))
      group->kernels.push_back(kernel);
  });
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

/// Fuses; the remarks are kept instead of printed.
static LogicalResult fuse(Spec &spec, Explanation &explanation) {
  ScopedDiagnosticHandler handler(&spec.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Remark)
      return failure();
    explanation.remarks.push_back({describePlace(diagnostic.getLocation()), diagnostic.str()});
    return success();
  });
  return spec.lower(Stage::Fused, explanation.target, /*remarks=*/true);
}

FailureOr<Explanation> attnc::explain(Spec &spec, StringRef target) {
  Explanation explanation{spec.getFunction().getName().str(),
                          target.str(),
                          spec.getStage() != Stage::Scheduled,
                          {},
                          {}};
  if (explanation.isGraph) {
    if (failed(fuse(spec, explanation)))
      return failure();
    explanation.groups = describeGraph(spec.getFunction(), target);
  }
  if (failed(spec.lower(Stage::Scheduled, target)))
    return failure();
  addKernels(spec, explanation.groups);
  return explanation;
}
