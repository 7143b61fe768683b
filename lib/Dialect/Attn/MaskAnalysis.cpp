//===- MaskAnalysis.cpp - bounds of a mask as data ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A comparison of k with an expression linear in q bounds the keys of a query block: the bound of
// its first or last row is the widest. "And" intersects bounds, "or" unites them; other conditions
// bound nothing, which is conservative, and make the bounds incomplete.
//
//===----------------------------------------------------------------------===//

#include "MaskReader.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/CheckedArithmetic.h"

#include <numeric>

using namespace mlir;
using namespace mlir::attn;
using P = arith::CmpIPredicate;
using Kind = MaskCondition::Kind;

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

bool LinearBound::isLower() const {
  return predicate == P::sge || predicate == P::sgt || predicate == P::eq;
}

bool LinearBound::isUpper() const {
  return predicate == P::sle || predicate == P::slt || predicate == P::eq;
}

bool LinearBound::isStrict() const { return predicate == P::slt || predicate == P::sgt; }

/// The predicate that holds of (b, a) when the given one holds of (a, b).
static P swapped(P predicate) {
  switch (predicate) {
  case P::slt:
    return P::sgt;
  case P::sle:
    return P::sge;
  case P::sgt:
    return P::slt;
  case P::sge:
    return P::sle;
  default:
    return predicate;
  }
}

/// The bound of a coordinate with coefficient `factor`.
static std::optional<LinearBound> getBound(const MaskCondition &condition, int64_t factor,
                                           int64_t otherFactor) {
  if (condition.kind != Kind::comparison || std::abs(factor) != 1)
    return std::nullopt;
  arith::CmpIOp compare = condition.compare;
  LinearBound bound{compare.getPredicate(), compare.getLhs(), compare.getRhs(), otherFactor};
  if (factor == -1)
    bound = {swapped(bound.predicate), bound.rhs, bound.lhs, -otherFactor};
  return bound.isLower() || bound.isUpper() ? std::optional(bound) : std::nullopt;
}

std::optional<LinearBound> MaskCondition::boundKey() const {
  return getBound(*this, keyFactor, rowFactor);
}

std::optional<LinearBound> MaskCondition::boundRow() const {
  return getBound(*this, rowFactor, keyFactor);
}

namespace {
/// Evaluates a property bottom-up over a condition's operands, memoised to stay linear in shared
/// operands.
struct Facts {
  bool hasLowestKey = false, hasHighestKey = false, isComplete = false, hasTwoRanges = false;
};
} // namespace

static Facts getFacts(const MaskCondition &condition,
                      llvm::DenseMap<const MaskCondition *, Facts> &known) {
  if (auto found = known.find(&condition); found != known.end())
    return found->second;
  Facts facts;
  if (auto bound = condition.boundKey()) {
    facts = {bound->isLower(), bound->isUpper(), true, false};
  } else if (condition.left) {
    Facts l = getFacts(*condition.left, known), r = getFacts(*condition.right, known);
    bool both = condition.kind == Kind::both;
    facts = {both ? l.hasLowestKey || r.hasLowestKey : l.hasLowestKey && r.hasLowestKey,
             both ? l.hasHighestKey || r.hasHighestKey : l.hasHighestKey && r.hasHighestKey,
             l.isComplete && r.isComplete,
             both ? l.hasTwoRanges || r.hasTwoRanges
                  : (l.hasHighestKey && r.hasLowestKey) || (l.hasLowestKey && r.hasHighestKey)};
  }
  return known[&condition] = facts;
}

static Facts getFacts(const MaskCondition &condition) {
  llvm::DenseMap<const MaskCondition *, Facts> known;
  return getFacts(condition, known);
}

bool MaskCondition::hasLowestKey() const { return getFacts(*this).hasLowestKey; }
bool MaskCondition::hasHighestKey() const { return getFacts(*this).hasHighestKey; }
bool MaskCondition::hasTwoRanges() const { return getFacts(*this).hasTwoRanges; }
bool MaskCondition::isComplete() const { return getFacts(*this).isComplete; }

//===----------------------------------------------------------------------===//
// Reading a mask
//===----------------------------------------------------------------------===//

/// The coefficient of `coordinate`, if the value is linear in it.
std::optional<int64_t> MaskAnalysis::Reader::getFactor(Value value, Value coordinate) {
  if (auto known = factors.find({value, coordinate}); known != factors.end())
    return known->second;
  auto result = computeFactor(value, coordinate);
  factors[{value, coordinate}] = result;
  return result;
}

std::optional<int64_t> MaskAnalysis::Reader::computeFactor(Value value, Value coordinate) {
  if (value == coordinate)
    return 1;
  Operation *op = value.getDefiningOp();
  if (!op)
    return 0;
  SmallVector<std::optional<int64_t>> parts;
  for (Value operand : op->getOperands())
    parts.push_back(getFactor(operand, coordinate));
  if (llvm::all_of(parts, [](auto c) { return c && *c == 0; }))
    return 0;
  if (llvm::is_contained(parts, std::nullopt))
    return std::nullopt;
  Type type = op->getResult(0).getType();
  if (isa<arith::IndexCastOp>(op) && (type.isIndex() || type.getIntOrFloatBitWidth() >= 32))
    return parts[0];
  if (isa<arith::AddIOp>(op))
    return llvm::checkedAdd(*parts[0], *parts[1]);
  if (isa<arith::SubIOp>(op))
    return llvm::checkedSub(*parts[0], *parts[1]);
  return std::nullopt;
}

/// Collects numbers from tensors that are added in 32 or 64 bits, where large ones may wrap around.
static void collectSummed(Value value, bool isSummed, IndexRanges &ranges, SetVector<Value> &summed,
                          llvm::SmallDenseSet<std::pair<Value, unsigned>> &seen) {
  if (!seen.insert({value, isSummed}).second)
    return;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
    for (Value operand : op->getOperands())
      collectSummed(operand, !value.getType().isIndex(), ranges, summed, seen);
    return;
  }
  if (auto cast = dyn_cast_or_null<arith::IndexCastOp>(op))
    collectSummed(cast.getIn(), /*isSummed=*/false, ranges, summed, seen);
  bool isConstant = op && op->hasTrait<OpTrait::ConstantLike>();
  if (isSummed && !isConstant &&
      !IntegerRange::getSmall(value.getType()).contains(ranges.get(value)))
    summed.insert(value);
}

/// A comparison linear in both coordinates; otherwise opaque.
void MaskAnalysis::Reader::readComparison(arith::CmpIOp op, MaskCondition &condition) {
  Value q = mask.getArgument(2), k = mask.getArgument(3), lhs = op.getLhs(), rhs = op.getRhs();
  auto lk = getFactor(lhs, k), rk = getFactor(rhs, k);
  auto lq = getFactor(lhs, q), rq = getFactor(rhs, q);
  if (!lk || !rk || !lq || !rq || smallRanges.mayWrap(lhs) || smallRanges.mayWrap(rhs))
    return;
  auto keyFactor = llvm::checkedSub(*lk, *rk), rowFactor = llvm::checkedSub(*lq, *rq);
  if (!keyFactor || !rowFactor)
    return;
  SetVector<Value> summed;
  llvm::SmallDenseSet<std::pair<Value, unsigned>> seen;
  for (Value side : {lhs, rhs})
    collectSummed(side, /*isSummed=*/false, ranges, summed, seen);
  condition.kind = Kind::comparison;
  condition.compare = op;
  condition.keyFactor = *keyFactor;
  condition.rowFactor = *rowFactor;
  condition.summed = summed.takeVector();
  condition.fits = IntegerRange::differenceFits(ranges.get(lhs), ranges.get(rhs), 32);
}

const MaskCondition *MaskAnalysis::Reader::read(Value value) {
  if (auto known = conditions.find(value); known != conditions.end())
    return known->second.get();
  auto condition = std::make_unique<MaskCondition>();
  Operation *op = value.getDefiningOp();
  if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op)) {
    readComparison(compare, *condition);
  } else if (isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op)) {
    condition->kind = isa<arith::AndIOp>(op) ? Kind::both : Kind::either;
    condition->left = read(op->getOperand(0));
    condition->right = read(op->getOperand(1));
  }
  return (conditions[value] = std::move(condition)).get();
}

void MaskAnalysis::Reader::collectOpenTerms(Value condition, SmallVectorImpl<Value> &terms) {
  const MaskCondition *known = read(condition);
  if (known->isComplete())
    return;
  if (known->kind != Kind::both)
    return terms.push_back(condition);
  for (Value operand : condition.getDefiningOp()->getOperands())
    collectOpenTerms(operand, terms);
}

/// The constant by which an op divides the coordinate, to which something may be added.
std::optional<int64_t> MaskAnalysis::Reader::getDivisor(Operation *op, Value coordinate) {
  llvm::APInt divisor;
  if (!isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
           arith::CeilDivUIOp>(op) ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) || !divisor.isStrictlyPositive() ||
      smallRanges.mayWrap(op->getOperand(0)))
    return std::nullopt;
  std::optional<int64_t> factor = getFactor(op->getOperand(0), coordinate);
  return factor && std::abs(*factor) == 1 ? std::optional(divisor.getSExtValue()) : std::nullopt;
}

int64_t MaskAnalysis::Reader::getPeriod(ArrayRef<Value> terms, Value coordinate) {
  int64_t period = 0;
  SetVector<Value> values(terms.begin(), terms.end());
  for (size_t i = 0; i < values.size(); ++i) {
    Operation *op = values[i].getDefiningOp();
    if (values[i] == coordinate)
      return 1;
    if (std::optional<int64_t> divisor = op ? getDivisor(op, coordinate) : std::nullopt)
      period = std::gcd(period, *divisor);
    else if (op && op->getParentRegion() == &mask)
      values.insert_range(op->getOperands());
  }
  return period;
}

MaskAnalysis::MaskAnalysis(Region &mask) : mask(mask), reader(std::make_unique<Reader>(mask)) {
  if (mask.empty())
    return;
  root = reader->read(cast<YieldOp>(mask.front().getTerminator()).getValue());
  conjunction = llvm::none_of(mask.getOps(), [](Operation &each) {
    return isa<arith::OrIOp, arith::XOrIOp, arith::SelectOp>(each) &&
           each.getResult(0).getType().isInteger(1);
  });
}

MaskAnalysis::~MaskAnalysis() = default;
MaskAnalysis::MaskAnalysis(MaskAnalysis &&) = default;

SmallVector<Value> MaskAnalysis::getOpenTerms() const {
  SmallVector<Value> terms;
  if (root)
    reader->collectOpenTerms(cast<YieldOp>(mask.front().getTerminator()).getValue(), terms);
  return terms;
}

int64_t MaskAnalysis::getRowPeriod(ArrayRef<Value> terms) const {
  return reader->getPeriod(terms, mask.getArgument(2));
}

int64_t MaskAnalysis::getKeyPeriod(ArrayRef<Value> terms) const {
  return reader->getPeriod(terms, mask.getArgument(3));
}

const MaskCondition &MaskAnalysis::getCondition() const {
  static const MaskCondition opaque;
  return root ? *root : opaque;
}

std::optional<int64_t> MaskAnalysis::getWidth(int64_t rows) {
  return root ? reader->getWidth(rows) : std::nullopt;
}

MaskAnalysis::Reach MaskAnalysis::getReach() { return root ? reader->getReach() : Reach(); }

std::optional<int64_t> attn::getMaxKeys(AttentionOp op, MaskAnalysis &mask, int64_t rows) {
  std::optional<int64_t> width = mask.getWidth(rows);
  if (int64_t kvLen = op.getKvLen().getStatic(); !ShapedType::isDynamic(kvLen))
    width = std::min(width.value_or(INT64_MAX), kvLen);
  return width;
}
