//===- Scalars.cpp - a region's arithmetic as a formula -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scalars.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace attnc;

/// Operator precedence, as in C.
enum Binding { choice, disjunction, conjunction, equality, order, sum, product, negation, atom };

/// Longer expressions are abbreviated.
static constexpr int kMaxOps = 40;

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

static std::string print(Attribute constant) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto number = dyn_cast<FloatAttr>(constant))
    os << llvm::format("%g", number.getValueAsDouble());
  else if (auto truth = dyn_cast<BoolAttr>(constant))
    os << (truth.getValue() ? "true" : "false");
  else if (auto number = dyn_cast<IntegerAttr>(constant))
    os << number.getValue();
  else
    constant.print(os);
  return text;
}

std::string ScalarWriter::extract(Value tensor, ValueRange indices) {
  std::string text = nameOf(tensor);
  if (indices.empty())
    return text;
  auto write = [&](Value index) { return this->write(index, choice); };
  return text + "[" + llvm::join(llvm::map_range(indices, write), ", ") + "]";
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

ScalarWriter::Text ScalarWriter::infix(Operation *op, StringRef symbol, int binding) {
  // Of equal operators the left one comes first; a - (b - c) keeps its parentheses.
  std::string left = write(op->getOperand(0), binding);
  return {left + " " + symbol.str() + " " + write(op->getOperand(1), binding + 1), binding};
}

std::string ScalarWriter::call(StringRef function, ValueRange operands) {
  auto write = [&](Value operand) { return this->write(operand, choice); };
  return (function + "(").str() + llvm::join(llvm::map_range(operands, write), ", ") + ")";
}

static StringRef getSymbol(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return "==";
  case P::ne:
    return "!=";
  case P::slt:
  case P::ult:
    return "<";
  case P::sle:
  case P::ule:
    return "<=";
  case P::sgt:
  case P::ugt:
    return ">";
  case P::sge:
  case P::uge:
    return ">=";
  }
  llvm_unreachable("all predicates are above");
}

/// Empty for comparisons without a symbol.
static StringRef getSymbol(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OEQ:
  case P::UEQ:
    return "==";
  case P::ONE:
  case P::UNE:
    return "!=";
  case P::OLT:
  case P::ULT:
    return "<";
  case P::OLE:
  case P::ULE:
    return "<=";
  case P::OGT:
  case P::UGT:
    return ">";
  case P::OGE:
  case P::UGE:
    return ">=";
  default:
    return "";
  }
}

/// An operator of two operands, or an empty symbol.
static std::pair<StringRef, int> getOperator(Operation *op) {
  bool isTruth = op->getNumResults() == 1 && op->getResult(0).getType().isInteger(1);
  return llvm::TypeSwitch<Operation *, std::pair<StringRef, int>>(op)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return std::pair("+", sum); })
      .Case<arith::SubFOp, arith::SubIOp>([](auto) { return std::pair("-", sum); })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return std::pair("*", product); })
      .Case<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(
          [](auto) { return std::pair("/", product); })
      .Case<arith::RemFOp, arith::RemSIOp, arith::RemUIOp>(
          [](auto) { return std::pair("%", product); })
      .Case([&](arith::AndIOp) { return std::pair(isTruth ? "and" : "&", conjunction); })
      .Case([&](arith::OrIOp) { return std::pair(isTruth ? "or" : "|", disjunction); })
      .Case([&](arith::XOrIOp) { return std::pair(isTruth ? "!=" : "^", equality); })
      .Case([](arith::CmpIOp cmp) {
        StringRef symbol = getSymbol(cmp.getPredicate());
        return std::pair(symbol, symbol == "==" || symbol == "!=" ? equality : order);
      })
      .Case([](arith::CmpFOp cmp) { return std::pair(getSymbol(cmp.getPredicate()), order); })
      .Default([](Operation *) { return std::pair<StringRef, int>("", atom); });
}

/// The function's name, max, min, tanh, …: the op's name without dialect and type suffix.
static StringRef getFunction(Operation *op) {
  StringRef name = op->getName().stripDialect();
  return llvm::StringSwitch<StringRef>(op->getName().getStringRef())
      .Cases({"arith.maximumf", "arith.maxnumf", "arith.maxsi", "arith.maxui"}, "max")
      .Cases({"arith.minimumf", "arith.minnumf", "arith.minsi", "arith.minui"}, "min")
      .Cases({"arith.fptosi", "arith.fptoui"}, "int")
      .Cases({"math.absf", "math.absi"}, "abs")
      .Cases({"math.powf", "math.fpowi", "math.ipowi"}, "pow")
      .Default(name);
}

/// A conversion that formulas omit.
static bool isConversion(Operation *op) {
  return isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::SIToFPOp, arith::UIToFPOp,
             arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op);
}

ScalarWriter::Text ScalarWriter::write(Operation *op) {
  if (auto [symbol, binding] = getOperator(op); !symbol.empty())
    return infix(op, symbol, binding);
  if (isConversion(op))
    return write(op->getOperand(0));
  if (auto extracted = dyn_cast<tensor::ExtractOp>(op))
    return {extract(extracted.getTensor(), extracted.getIndices()), atom};
  if (auto dim = dyn_cast<tensor::DimOp>(op))
    if (std::optional<int64_t> index = dim.getConstantIndex())
      return {sizeOf(dim.getSource(), *index), atom};
  if (auto negated = dyn_cast<arith::NegFOp>(op))
    return {"-" + write(negated.getOperand(), negation), negation};
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return {write(select.getCondition(), disjunction) + " ? " +
                write(select.getTrueValue(), disjunction) + " : " +
                write(select.getFalseValue(), choice),
            choice};
  return {call(getFunction(op), op->getOperands()), atom};
}

ScalarWriter::Text ScalarWriter::write(Value value) {
  if (auto name = names.find(value); name != names.end())
    return {name->second, atom};
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return {print(constant), atom};
  Operation *op = value.getDefiningOp();
  if (!op || !isa<FloatType, IntegerType, IndexType>(value.getType()))
    return {nameOf(value), atom};
  return --budget < 0 ? Text{"…", atom} : write(op);
}

std::string ScalarWriter::write(Value value, int outer) {
  auto [text, binding] = write(value);
  return binding < outer ? "(" + text + ")" : text;
}

//===----------------------------------------------------------------------===//
// Whole formulas
//===----------------------------------------------------------------------===//

void ScalarWriter::start(Region &body, ArrayRef<std::string> arguments) {
  names.clear();
  for (auto [argument, name] : llvm::zip(body.getArguments(), arguments))
    names[argument] = name;
}

/// The region's arguments and the tensors that `value` comes from.
std::string ScalarWriter::listLeaves(Value value) {
  llvm::SetVector<Value> values;
  std::vector<std::string> texts;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i) {
    Operation *op = values[i].getDefiningOp();
    bool isLeaf = names.contains(values[i]) || isa<TensorType>(values[i].getType());
    if (isLeaf)
      texts.push_back(write(values[i], choice));
    else if (op)
      values.insert_range(op->getOperands());
  }
  return "some function of " + llvm::join(texts, ", ");
}

std::string ScalarWriter::writeWhole(Value value) {
  budget = kMaxOps;
  std::string text = write(value, choice);
  return budget < 0 ? listLeaves(value) : text;
}

std::string ScalarWriter::write(Region &body, ArrayRef<std::string> arguments) {
  start(body, arguments);
  return writeWhole(body.front().getTerminator()->getOperand(0));
}

/// The common name of a condition, by its text.
static std::string recognise(StringRef text) {
  SmallVector<StringRef> words;
  auto is = [&](StringRef pattern) { return llvm::Regex(pattern).match(text, &words); };
  if (is("^k <= q$"))
    return "causal, top-left aligned";
  if (is("^k <= q \\+ \\([a-z_0-9]+ - [a-z_0-9]+\\)$"))
    return "causal, bottom-right aligned";
  if (is("^k < ([A-Za-z_0-9]+)\\[batch\\]$"))
    return "the first " + words[1].str() + " keys of each batch";
  if (is("^[A-Za-z_0-9]+\\[batch, q\\] == [A-Za-z_0-9]+\\[batch, k\\]$"))
    return "same document";
  if (is("^k >= q - ([0-9]+)$"))
    return "at most " + words[1].str() + " keys back";
  if (is("^k <= q \\+ ([0-9]+)$"))
    return "at most " + words[1].str() + " keys ahead";
  return "";
}

static void addConjuncts(Value condition, SmallVectorImpl<Value> &conjuncts) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    addConjuncts(both.getLhs(), conjuncts);
    addConjuncts(both.getRhs(), conjuncts);
  } else {
    conjuncts.push_back(condition);
  }
}

std::vector<std::string> ScalarWriter::writeConjuncts(Region &mask,
                                                      ArrayRef<std::string> arguments) {
  start(mask, arguments);
  SmallVector<Value> conjuncts;
  addConjuncts(mask.front().getTerminator()->getOperand(0), conjuncts);
  std::vector<std::string> texts;
  for (Value conjunct : conjuncts) {
    std::string text = writeWhole(conjunct), word = recognise(text);
    texts.push_back(word.empty() ? text : text + " (" + word + ")");
  }
  return texts;
}
