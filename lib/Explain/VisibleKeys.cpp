//===- VisibleKeys.cpp - which keys a mask shows --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mask as a union of ranges, each of which has lower and upper bounds, and maybe conditions that
// bound nothing.
//
//===----------------------------------------------------------------------===//

#include "VisibleKeys.h"

#include "ArgumentName.h"

#include "attnc/Dialect/Attn/Elements.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace attnc;
using mlir::attn::AttentionOp;
using mlir::attn::LinearBound;
using mlir::attn::MaskAnalysis;
using mlir::attn::MaskCondition;

namespace {
/// Terms with their coefficients, in the order of their first use, and a constant, in arithmetic
/// that wraps around.
struct Sum {
  llvm::MapVector<std::string, uint64_t, std::map<std::string, unsigned>> terms;
  uint64_t constant = 0;
};

/// A bound, and whether it is one of the visible keys itself.
struct Bound {
  Sum sum;
  bool isVisible;
};

struct KeyRange {
  SmallVector<Bound> lower, upper;
  /// Whether some of its keys may be hidden by conditions that bound nothing.
  bool isOpen = false;
};

/// Writes the values of a mask as sums.
class BoundWriter {
public:
  BoundWriter(AttentionOp op, CostModel &costs) : op(op), costs(costs) {}

  /// Empty if there are too many.
  SmallVector<KeyRange> getRanges(const MaskCondition &condition);
  std::string describe(const KeyRange &range);

private:
  SmallVector<KeyRange> intersect(ArrayRef<KeyRange> left, ArrayRef<KeyRange> right);
  KeyRange getRange(const MaskCondition &condition);
  void add(Sum &sum, Value value, uint64_t factor);
  void addElement(Sum &sum, Value tensor, ArrayRef<Sum> places, uint64_t factor);
  std::string nameTerm(Value value);
  std::string nameElement(Value tensor, ArrayRef<Sum> places);
  std::string write(Value value);
  std::string writeFactor(Value value);

  static constexpr size_t kMostRanges = 4;
  AttentionOp op;
  CostModel &costs;
  /// What the arguments of the regions of maps stand for.
  llvm::DenseMap<Value, std::pair<Value, SmallVector<Sum>>> elements;
};
} // namespace

static std::string write(const Sum &sum) {
  std::string text;
  auto append = [&](uint64_t factor, StringRef term) {
    if (factor == 0)
      return;
    bool isNegative = static_cast<int64_t>(factor) < 0;
    uint64_t size = isNegative ? -factor : factor;
    text += text.empty() ? (isNegative ? "-" : "") : (isNegative ? " - " : " + ");
    if (size != 1 || term.empty())
      text += std::to_string(size) + (term.empty() ? "" : "·");
    text += term;
  };
  if (auto q = sum.terms.find("q"); q != sum.terms.end())
    append(q->second, "q");
  for (const auto &[term, factor] : sum.terms)
    if (term != "q")
      append(factor, term);
  append(sum.constant, "");
  return text.empty() ? "0" : text;
}

std::string BoundWriter::write(Value value) {
  Sum sum;
  add(sum, value, 1);
  return ::write(sum);
}

/// In brackets if it is a sum of several terms.
std::string BoundWriter::writeFactor(Value value) {
  std::string text = write(value);
  return StringRef(text).contains(' ') ? "(" + text + ")" : text;
}

/// `kv_len[b]`, or `page_lengths[b]` of what an op computes.
std::string BoundWriter::nameElement(Value tensor, ArrayRef<Sum> places) {
  while (mlir::attn::isMove(tensor.getDefiningOp()))
    tensor = tensor.getDefiningOp()->getOperand(0);
  std::string name = nameArgument(tensor);
  if (Operation *producer = tensor.getDefiningOp())
    name = isa<arith::ConstantOp>(producer) ? "constant" : producer->getName().stripDialect().str();
  auto indices = llvm::map_to_vector(places, [](const Sum &place) { return ::write(place); });
  return name + "[" + llvm::join(indices, ", ") + "]";
}

/// What a tensor is computed from, element by element, are terms of their own.
void BoundWriter::addElement(Sum &sum, Value tensor, ArrayRef<Sum> places, uint64_t factor) {
  Operation *producer = tensor.getDefiningOp();
  if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp, tensor::CastOp>(producer))
    return addElement(sum, producer->getOperand(0), places, factor);
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(producer)) {
    addElement(sum, producer->getOperand(0), places, factor);
    return addElement(sum, producer->getOperand(1), places,
                      isa<arith::AddIOp>(producer) ? factor : -factor);
  }
  if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(producer)) {
    SmallVector<Sum> moved(places);
    for (auto [place, offset] : llvm::zip(moved, slice.getStaticOffsets()))
      place.constant += offset;
    bool isKnown = !llvm::is_contained(slice.getStaticOffsets(), mlir::ShapedType::kDynamic) &&
                   llvm::all_of(slice.getStaticStrides(), [](int64_t step) { return step == 1; }) &&
                   slice.getSourceType().getRank() == slice.getType().getRank();
    if (isKnown)
      return addElement(sum, slice.getSource(), moved, factor);
  }
  if (auto map = dyn_cast_or_null<mlir::attn::MapOp>(producer)) {
    Block &body = map.getBody().front();
    for (auto [argument, input] : llvm::zip(body.getArguments(), map.getInputs()))
      elements[argument] = {input, SmallVector<Sum>(places)};
    return add(sum, body.getTerminator()->getOperand(0), factor);
  }
  sum.terms[nameElement(tensor, places)] += factor;
}

/// Of a value that is no sum.
std::string BoundWriter::nameTerm(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    static constexpr StringLiteral names[] = {"b", "h", "q", "k"};
    return argument.getArgNumber() < 4 ? names[argument.getArgNumber()].str() : "?";
  }
  Operation *producer = value.getDefiningOp();
  if (auto dim = dyn_cast<tensor::DimOp>(producer))
    if (std::optional<int64_t> index = dim.getConstantIndex())
      return costs.describeSize(dim.getSource(), *index);
  StringRef name = isa<arith::MinSIOp, arith::MinUIOp>(producer)   ? "min"
                   : isa<arith::MaxSIOp, arith::MaxUIOp>(producer) ? "max"
                                                                   : "";
  if (!name.empty())
    return (name + "(" + write(producer->getOperand(0)) + ", " + write(producer->getOperand(1)) +
            ")")
        .str();
  return isa<arith::MulIOp>(producer)
             ? writeFactor(producer->getOperand(0)) + "·" + writeFactor(producer->getOperand(1))
             : ("(" + producer->getName().stripDialect() + ")").str();
}

/// Adds `factor` times the value, k left out.
void BoundWriter::add(Sum &sum, Value value, uint64_t factor) {
  llvm::APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    sum.constant += factor * constant.getSExtValue();
    return;
  }
  Operation *producer = value.getDefiningOp();
  if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(producer))
    return add(sum, producer->getOperand(0), factor);
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(producer)) {
    add(sum, producer->getOperand(0), factor);
    return add(sum, producer->getOperand(1), isa<arith::AddIOp>(producer) ? factor : -factor);
  }
  if (isa_and_nonnull<arith::MulIOp>(producer) &&
      matchPattern(producer->getOperand(1), m_ConstantInt(&constant)))
    return add(sum, producer->getOperand(0), factor * constant.getSExtValue());
  if (value == op.getMask().getArgument(3))
    return;
  if (auto extract = value.getDefiningOp<tensor::ExtractOp>()) {
    SmallVector<Sum> places(extract.getIndices().size());
    for (auto [place, index] : llvm::zip(places, extract.getIndices()))
      add(place, index, 1);
    return addElement(sum, extract.getTensor(), places, factor);
  }
  if (auto element = elements.find(value); element != elements.end()) {
    auto [tensor, places] = element->second;
    return addElement(sum, tensor, places, factor);
  }
  std::string term = nameTerm(value);
  int64_t number;
  if (!StringRef(term).getAsInteger(10, number))
    sum.constant += factor * number; // a static size
  else
    sum.terms[term] += factor;
}

KeyRange BoundWriter::getRange(const MaskCondition &condition) {
  std::optional<LinearBound> bound = condition.boundKey();
  KeyRange range;
  if (!bound) {
    range.isOpen = true;
    return range;
  }
  Bound found{{}, !bound->isStrict()};
  add(found.sum, bound->rhs, 1);
  add(found.sum, bound->lhs, -1);
  if (bound->isLower())
    range.lower.push_back(found);
  if (bound->isUpper())
    range.upper.push_back(found);
  return range;
}

SmallVector<KeyRange> BoundWriter::intersect(ArrayRef<KeyRange> left, ArrayRef<KeyRange> right) {
  SmallVector<KeyRange> ranges;
  for (const KeyRange &l : left)
    for (const KeyRange &r : right) {
      KeyRange both = l;
      both.lower.append(r.lower);
      both.upper.append(r.upper);
      both.isOpen |= r.isOpen;
      ranges.push_back(both);
    }
  return ranges;
}

SmallVector<KeyRange> BoundWriter::getRanges(const MaskCondition &condition) {
  if (!condition.left)
    return {getRange(condition)};
  SmallVector<KeyRange> left = getRanges(*condition.left), right = getRanges(*condition.right);
  if (left.empty() || right.empty())
    return {};
  if (condition.kind == MaskCondition::Kind::both)
    left = intersect(left, right);
  else
    left.append(right);
  return left.size() <= kMostRanges ? left : SmallVector<KeyRange>();
}

/// Several bounds hold at once: the tightest one counts. `step` leads from one that is no visible
/// key to the next one that may be.
static std::string combine(StringRef function, ArrayRef<Bound> bounds, int64_t step) {
  SmallVector<std::string> texts;
  for (const Bound &bound : bounds) {
    Sum visible = bound.sum;
    visible.constant += bound.isVisible ? 0 : step;
    if (std::string text = ::write(visible); !llvm::is_contained(texts, text))
      texts.push_back(text);
  }
  return texts.size() == 1 ? texts.front() : (function + "(" + llvm::join(texts, ", ") + ")").str();
}

/// `[q - 255, q]`, or `[0, 4)` of an upper bound that is no visible key.
std::string BoundWriter::describe(const KeyRange &range) {
  if (range.lower.empty() && range.upper.empty())
    return "";
  std::string text = "[" + (range.lower.empty() ? "0" : combine("max", range.lower, 1)) + ", ";
  if (range.upper.empty())
    text += (op.getPages() ? "kv_len" : costs.describeSize(op.getKey(), 2)) + ")";
  else if (range.upper.size() == 1 && !range.upper.front().isVisible)
    text += ::write(range.upper.front().sum) + ")";
  else
    text += combine("min", range.upper, -1) + "]";
  return text;
}

std::string attnc::describeVisibleKeys(AttentionOp op, const MaskAnalysis &mask, CostModel &costs) {
  BoundWriter writer(op, costs);
  SmallVector<KeyRange> ranges = writer.getRanges(mask.getCondition());
  if (ranges.empty())
    return "";
  SmallVector<std::string> texts;
  bool isOpen = false;
  for (const KeyRange &range : ranges) {
    std::string text = writer.describe(range);
    isOpen |= range.isOpen;
    if (text.empty())
      return "row q may see any key: the mask's conditions give no bounds for k";
    texts.push_back(text);
  }
  return "row q sees keys " + llvm::join(texts, " and ") +
         (isOpen ? ", by further conditions not all of them" : "");
}
