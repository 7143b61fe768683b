//===- Formulas.cpp - formulas of a graph ---------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In ASCII, for C headers.
//
//===----------------------------------------------------------------------===//

#include "attnc/Explain/Formulas.h"

#include "ArgumentName.h"
#include "Scalars.h"

#include "attnc/Cost/Cost.h"
#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::attn;
using namespace attnc;

namespace {

class Writer : public FormulaWriter {
public:
  explicit Writer(func::FuncOp graph)
      : graph(graph), costs(graph),
        scalars([this](Value tensor) { return nameOf(tensor); },
                [this](Value tensor, int64_t dim) { return sizeOf(tensor, dim); }) {}

  std::vector<std::string> write();

  std::string nameOf(Value value) final;
  std::string write(Region &body, ArrayRef<std::string> arguments) final {
    return scalars.write(body, arguments);
  }
  std::vector<std::string> writeConjuncts(Region &mask, ArrayRef<std::string> arguments) final {
    return scalars.writeConjuncts(mask, arguments);
  }
  void add(Value result, StringRef role, const std::string &formula) final;
  void addStage(const std::string &formula) final { lines.push_back("  " + formula); }

private:
  void nameResults();
  /// A result of attn ops is called `role`.
  std::string nameNew(Value value, StringRef role = "");
  std::string sizeOf(Value tensor, int64_t dim);
  void write(Operation &op);
  std::string formula(Operation &op);
  std::string list(ValueRange values);

  func::FuncOp graph;
  CostModel costs;
  ScalarWriter scalars;
  llvm::DenseMap<Value, std::string> names;
  llvm::StringMap<int> uses;
  std::vector<std::string> lines;
};

} // namespace

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Names results as the caller does.
void Writer::nameResults() {
  auto results = graph.getBody().front().getTerminator()->getOperands();
  for (auto [index, value] : llvm::enumerate(results))
    if (value.getDefiningOp() && !names.contains(value)) {
      names[value] = getResultName(graph, index);
      ++uses[names[value]];
    }
}

/// The default name of a result of an op of another dialect.
static StringRef getRole(Operation *op) {
  if (isa<tensor::ExtractSliceOp>(op))
    return "slice";
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return "view";
  return op->getName().stripDialect();
}

static std::string nameConstant(Attribute constant) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant))
    return resource.getRawHandle().getKey().str();
  auto dense = dyn_cast<DenseElementsAttr>(constant);
  if (!dense || !dense.isSplat())
    return "a constant";
  std::string text;
  llvm::raw_string_ostream os(text);
  Attribute value = dense.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(value))
    os << llvm::format("%g", number.getValueAsDouble());
  else
    value.print(os, /*elideType=*/true);
  return text;
}

std::string Writer::nameNew(Value value, StringRef role) {
  if (isa<BlockArgument>(value))
    return nameArgument(value);
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return nameConstant(constant);
  if (role.empty())
    role = getRole(value.getDefiningOp());
  int use = ++uses[role];
  return use == 1 ? role.str() : role.str() + std::to_string(use);
}

std::string Writer::nameOf(Value value) {
  auto found = names.find(value);
  if (found == names.end())
    found = names.try_emplace(value, nameNew(value)).first;
  return found->second;
}

std::string Writer::sizeOf(Value tensor, int64_t dim) {
  std::string size = costs.describeSize(tensor, dim);
  return size.front() == '?' ? "size(" + nameOf(tensor) + ", " + std::to_string(dim) + ")" : size;
}

std::string Writer::list(ValueRange values) {
  return llvm::join(llvm::map_range(values, [&](Value value) { return nameOf(value); }), ", ");
}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

void Writer::add(Value result, StringRef role, const std::string &formula) {
  if (!names.contains(result))
    names[result] = nameNew(result, role);
  lines.push_back(names[result] + " = " + formula);
}

/// The formula of an op of other dialects.
std::string Writer::formula(Operation &op) {
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ExtractSliceOp>(op))
    return (isa<tensor::ExtractSliceOp>(op) ? "a slice of " : "") + nameOf(op.getOperand(0)) +
           " as " + costs.describe(op.getResult(0));
  return op.getName().stripDialect().str() + "(" + list(op.getOperands()) + ")";
}

/// Constants, scalars and sizes are inlined at their uses.
static bool hasLine(Operation &op) {
  return op.getNumResults() > 0 && isa<RankedTensorType>(op.getResult(0).getType()) &&
         !op.hasTrait<OpTrait::ConstantLike>();
}

void Writer::write(Operation &op) {
  if (auto attnOp = dyn_cast<AttnOpInterface>(op))
    attnOp.writeFormula(*this);
  else if (hasLine(op))
    add(op.getResult(0), getRole(&op), formula(op));
}

std::vector<std::string> Writer::write() {
  nameResults();
  for (Operation &op : graph.getBody().front().without_terminator())
    write(op);
  return std::move(lines);
}

std::vector<std::string> attnc::writeFormulas(func::FuncOp graph) { return Writer(graph).write(); }

//===----------------------------------------------------------------------===//
// The summary
//===----------------------------------------------------------------------===//

std::string attnc::summarizeFusion(func::FuncOp graph) {
  // An attention without a schedule is computed op by op.
  auto isFused = [](AttentionOp attention) { return attention.getScheduleAttr() != nullptr; };
  auto attentions = graph.getOps<AttentionOp>();
  size_t fused = llvm::count_if(attentions, isFused);
  size_t stages =
      llvm::range_size(graph.getOps<ContextOp>()) + llvm::range_size(attentions) - fused;
  // Beside a fused attention, where its prob has other uses.
  bool storesProb = !stages && !graph.getOps<SoftmaxOp>().empty();
  std::string text;
  if (fused)
    text = fused == 1 ? "Attention is fused: it is one kernel"
                      : "Each attention is fused: it is one kernel";
  if (fused)
    text += storesProb ? "; prob is used beside it, and its scores are stored for that."
                       : " that stores no score.";
  if (stages)
    text += (fused ? " Some attention is" : "Attention is") +
            std::string(" computed op by op: its scores are stored.");
  return text;
}
