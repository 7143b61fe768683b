//===- Formulas.cpp - what a graph computes, for people -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In ASCII: the formulas stand in C headers.
//
//===----------------------------------------------------------------------===//

#include "attnc/Explain/Formulas.h"

#include "Scalars.h"

#include "attnc/Cost/Cost.h"
#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::attn;
using namespace attnc;

namespace {

class Writer {
public:
  explicit Writer(func::FuncOp graph)
      : graph(graph), costs(graph),
        scalars([this](Value tensor) { return nameOf(tensor); },
                [this](Value tensor, int64_t dim) { return sizeOf(tensor, dim); }) {}

  std::vector<std::string> write();

private:
  void nameResults();
  std::string nameOf(Value value);
  std::string nameNew(Value value);
  std::string sizeOf(Value tensor, int64_t dim);
  void add(Value result, const std::string &formula);
  void addPart(const std::string &formula);
  void write(Operation &op);
  void write(AttentionOp attention);
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

/// What the caller calls them.
void Writer::nameResults() {
  auto results = graph.getBody().front().getTerminator()->getOperands();
  for (auto [index, value] : llvm::enumerate(results))
    if (value.getDefiningOp() && !names.contains(value)) {
      auto name = graph.getResultAttrOfType<StringAttr>(index, kNameAttr);
      names[value] = name ? name.str() : "out" + std::to_string(index);
      ++uses[names[value]];
    }
}

/// What an op's result is called where the spec has no name for it.
static StringRef getRole(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<AttentionOp, ContextOp>([](auto) { return "context"; })
      .Case<ScoreOp, AdditiveScoreOp, ModifyScoreOp, MaskOp>([](auto) { return "score"; })
      .Case<SoftmaxOp, ModifyProbOp>([](auto) { return "prob"; })
      .Case([](LayerNormOp) { return "normed"; })
      .Case([](EmbeddingOp) { return "embedded"; })
      .Case([](MapOp) { return "mapped"; })
      .Case([](SplitHeadsOp) { return "heads"; })
      .Case([](MergeHeadsOp) { return "merged"; })
      .Case([](AppendCacheOp) { return "cache"; })
      .Case<tensor::ExtractSliceOp>([](auto) { return "slice"; })
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp>([](auto) { return "view"; })
      .Default([](Operation *op) { return op->getName().stripDialect(); });
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

std::string Writer::nameNew(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto name = graph.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr);
    return name ? name.str() : "arg" + std::to_string(argument.getArgNumber());
  }
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return nameConstant(constant);
  StringRef role = getRole(value.getDefiningOp());
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
  return size == "?" ? "size(" + nameOf(tensor) + ", " + std::to_string(dim) + ")" : size;
}

std::string Writer::list(ValueRange values) {
  return llvm::join(llvm::map_range(values, [&](Value value) { return nameOf(value); }), ", ");
}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

void Writer::add(Value result, const std::string &formula) {
  lines.push_back(nameOf(result) + " = " + formula);
}

void Writer::addPart(const std::string &formula) { lines.push_back("  " + formula); }

static std::string print(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

static std::string print(ArrayRef<int64_t> numbers) {
  auto text = [](int64_t number) { return std::to_string(number); };
  return llvm::join(llvm::map_range(numbers, text), ", ");
}

static std::string scaled(double scale) { return scale == 1 ? "" : print(scale) + " * "; }

/// The names of a region's arguments.
static std::vector<std::string> placesAfter(StringRef first) {
  return {first.str(), "batch", "head", "q", "k"};
}
static const std::vector<std::string> places{"batch", "head", "q", "k"};

/// The part of a fused op that stores nothing stands under it.
void Writer::write(AttentionOp attention) {
  std::string sink = attention.getSink() ? " beside " + nameOf(attention.getSink()) : "";
  add(attention.getResult(), "softmax(score" + sink + ") @ " + nameOf(attention.getValue()));
  addPart("score = " + scaled(attention.getScale().convertToDouble()) +
          nameOf(attention.getQuery()) + " @ " + nameOf(attention.getKey()) + "^T");
  int64_t heads = attention.getQuery().getType().getDimSize(1);
  int64_t shared = attention.getKey().getType().getDimSize(1);
  if (!ShapedType::isDynamic(heads) && !ShapedType::isDynamic(shared) && heads != shared)
    addPart("each head of " + nameOf(attention.getKey()) + " and " + nameOf(attention.getValue()) +
            " serves " + std::to_string(heads / shared) + " of " + nameOf(attention.getQuery()));
  if (!attention.getScoreMod().empty())
    addPart("score = " + scalars.write(attention.getScoreMod(), placesAfter("score")));
  if (!attention.getMask().empty())
    for (auto [index, condition] :
         llvm::enumerate(scalars.writeConjuncts(attention.getMask(), places)))
      addPart((index ? "  and " : "of the keys with ") + condition);
  if (!attention.getProbMod().empty())
    addPart("prob = " + scalars.write(attention.getProbMod(), placesAfter("prob")));
  if (attention.getLse())
    add(attention.getLse(), "log(sum(exp(score))) of each row");
}

/// `x, scaled by s, plus b`.
static std::string withAffine(std::string text, StringRef scale, StringRef bias) {
  if (!scale.empty())
    text += (" * " + scale).str();
  return bias.empty() ? text : text + (" + " + bias).str();
}

std::string Writer::formula(Operation &op) {
  auto name = [&](Value value) { return value ? nameOf(value) : std::string(); };
  return llvm::TypeSwitch<Operation *, std::string>(&op)
      .Case([&](ScoreOp score) {
        return scaled(score.getScale().convertToDouble()) + name(score.getQuery()) + " @ " +
               name(score.getKey()) + "^T";
      })
      .Case([&](AdditiveScoreOp score) {
        return "sum(" + name(score.getWeight()) + " * tanh(" + name(score.getQuery()) + "[q] + " +
               name(score.getKey()) + "[k]))";
      })
      .Case([&](ModifyScoreOp modify) {
        return scalars.write(modify.getBody(), placesAfter(name(modify.getScore())));
      })
      .Case([&](MaskOp mask) {
        return name(mask.getScore()) + " of the keys with " +
               llvm::join(scalars.writeConjuncts(mask.getBody(), places), " and ") + ", else -inf";
      })
      .Case([&](SoftmaxOp softmax) {
        int64_t axis = softmax.getAxis();
        return "softmax(" + name(softmax.getScore()) +
               (softmax.getSink() ? " beside " + name(softmax.getSink()) : "") +
               (axis == -1 ? "" : ", axis " + std::to_string(axis)) + ")";
      })
      .Case([&](ModifyProbOp modify) {
        return scalars.write(modify.getBody(), placesAfter(name(modify.getProb())));
      })
      .Case([&](ContextOp context) {
        return name(context.getProb()) + " @ " + name(context.getValue());
      })
      .Case([&](LinearOp linear) {
        return withAffine(name(linear.getInput()) + " @ " + name(linear.getWeight()) + "^T", "",
                          name(linear.getBias()));
      })
      .Case(
          [&](MatmulOp matmul) { return name(matmul.getLeft()) + " @ " + name(matmul.getRight()); })
      .Case([&](SplitHeadsOp split) {
        return name(split.getInput()) + " as " + std::to_string(split.getNumHeads()) + " heads";
      })
      .Case([&](MergeHeadsOp merge) { return name(merge.getInput()) + ", heads side by side"; })
      .Case([&](LseOp lse) { return "log(sum(exp(" + name(lse.getScore()) + "))) of each row"; })
      .Case([&](MapOp map) {
        std::vector<std::string> inputs;
        for (Value input : map.getInputs())
          inputs.push_back(name(input));
        return scalars.write(map.getBody(), inputs);
      })
      .Case([&](ReduceOp reduce) {
        return stringifyReduceKind(reduce.getKind()).str() + "(" + name(reduce.getInput()) +
               ", axes " + print(reduce.getAxes()) + ")";
      })
      .Case([&](TransposeOp transpose) {
        return name(transpose.getInput()) + " with dims " + print(transpose.getPermutation());
      })
      .Case([&](LayerNormOp norm) {
        return withAffine(stringifyNormMode(norm.getMode()).str() + "_norm(" +
                              name(norm.getInput()) + ", epsilon " +
                              print(norm.getEpsilon().convertToDouble()) + ")",
                          name(norm.getScale()), name(norm.getBias()));
      })
      .Case([&](EmbeddingOp embedding) {
        return name(embedding.getTable()) + "[" + name(embedding.getIds()) + "]";
      })
      .Case([&](PositionsOp positions) {
        return name(positions.getInput()) + " with positions (" +
               stringifyPositionKind(positions.getKind()).str() + ")" +
               (positions.getOffset() ? " from " + name(positions.getOffset()) : "");
      })
      .Case([&](AppendCacheOp append) {
        return name(append.getCache()) + ", from row " + name(append.getLength()) + "[batch] on " +
               name(append.getRows());
      })
      .Case([&](DropoutOp dropout) {
        return name(dropout.getInput()) + ", of which " +
               print(dropout.getRate().convertToDouble()) + " is dropped" +
               (dropout.getSeed() ? " by " + name(dropout.getSeed()) : "");
      })
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ExtractSliceOp>([&](auto view) {
        return (isa<tensor::ExtractSliceOp>(op) ? "a part of " : "") + name(view->getOperand(0)) +
               " as " + costs.describe(view.getResult());
      })
      .Default([&](Operation *other) {
        return other->getName().stripDialect().str() + "(" + list(other->getOperands()) + ")";
      });
}

/// Constants, scalars and sizes stand where they are used.
static bool hasLine(Operation &op) {
  return op.getNumResults() > 0 && isa<RankedTensorType>(op.getResult(0).getType()) &&
         !op.hasTrait<OpTrait::ConstantLike>();
}

void Writer::write(Operation &op) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return write(attention);
  if (!hasLine(op))
    return;
  std::string text = formula(op); // which names operands first
  add(op.getResult(0), text);
}

std::vector<std::string> Writer::write() {
  nameResults();
  for (Operation &op : graph.getBody().front().without_terminator())
    write(op);
  return std::move(lines);
}

std::vector<std::string> attnc::writeFormulas(func::FuncOp graph) { return Writer(graph).write(); }

//===----------------------------------------------------------------------===//
// The sentence
//===----------------------------------------------------------------------===//

std::string attnc::summarizeFusion(func::FuncOp graph) {
  // Of an attention without a schedule the kernels are those of its parts.
  auto isFused = [](AttentionOp attention) { return attention.getScheduleAttr() != nullptr; };
  auto attentions = graph.getOps<AttentionOp>();
  size_t fused = llvm::count_if(attentions, isFused);
  size_t stages =
      llvm::range_size(graph.getOps<ContextOp>()) + llvm::range_size(attentions) - fused;
  std::string text;
  if (fused)
    text = (fused == 1 ? "Attention is fused: it is" : "Each attention is fused: it is") +
           std::string(" one kernel that stores no score.");
  if (stages)
    text += (fused ? " Some attention is" : "Attention is") +
            std::string(" computed op by op: its scores are stored.");
  return text;
}
