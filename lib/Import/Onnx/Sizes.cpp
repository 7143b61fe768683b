//===- Sizes.cpp - sizes that are known only when called ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sizes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

//===----------------------------------------------------------------------===//
// Polynomials
//===----------------------------------------------------------------------===//

bool Polynomial::Earlier::operator()(Value a, Value b) const {
  auto argument = dyn_cast<BlockArgument>(a), other = dyn_cast<BlockArgument>(b);
  if (argument || other)
    return argument && (!other || argument.getArgNumber() < other.getArgNumber());
  Operation *op = a.getDefiningOp(), *otherOp = b.getDefiningOp();
  if (op != otherOp && op->getBlock() == otherOp->getBlock())
    return op->isBeforeInBlock(otherOp);
  return a.getAsOpaquePointer() < b.getAsOpaquePointer();
}

bool Polynomial::EarlierProduct::operator()(ArrayRef<Value> a, ArrayRef<Value> b) const {
  // By degree first: an order that multiplying both sides keeps, as a division needs it.
  if (a.size() != b.size())
    return a.size() < b.size();
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), Earlier());
}

Polynomial Polynomial::constant(int64_t value) {
  Polynomial result;
  if (value != 0)
    result.terms[{}] = value;
  return result;
}

Polynomial Polynomial::of(OpFoldResult size) {
  if (auto known = getStatic(size))
    return constant(*known);
  Known known;
  return ofValue(cast<Value>(size), known, /*depth=*/0);
}

Polynomial Polynomial::unknown(Value value) {
  Polynomial result;
  result.terms[{value}] = 1;
  return result;
}

bool Polynomial::isLarge() const {
  constexpr size_t mostTerms = 32, mostFactors = 16;
  constexpr int64_t most = int64_t(1) << 40;
  return terms.size() > mostTerms || llvm::any_of(terms, [](const auto &term) {
           return term.first.size() > mostFactors || term.second > most || term.second < -most;
         });
}

/// The result of `op`; without terms if it is an unknown.
Polynomial Polynomial::ofOp(Operation *op, Known &known, int depth) {
  auto operand = [&](int index) { return ofValue(op->getOperand(index), known, depth + 1); };
  if (isa<arith::IndexCastOp>(op))
    return operand(0);
  if (isa<arith::AddIOp>(op))
    return operand(0) + operand(1);
  if (isa<arith::SubIOp>(op))
    return operand(0) + constant(-1) * operand(1);
  if (isa<arith::MulIOp>(op))
    return operand(0) * operand(1);
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op))
    if (auto quotient = operand(0).divide(operand(1)))
      return *quotient;
  return unknown(op->getResult(0));
}

Polynomial Polynomial::ofValue(Value value, Known &known, int depth) {
  constexpr int mostDepth = 64;
  if (auto number = getConstantInt(value))
    return constant(*number);
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1 || depth > mostDepth)
    return unknown(value);
  // A size that is read twice is worked out once.
  if (auto before = known.find(value); before != known.end())
    return before->second;
  Polynomial result = ofOp(op, known, depth);
  if (result.isLarge())
    result = unknown(value);
  known[value] = result;
  return result;
}

Polynomial Polynomial::multiply(Body &body, ArrayRef<OpFoldResult> sizes) {
  Polynomial product = constant(1);
  for (OpFoldResult size : sizes) {
    product = product * of(size);
    if (product.isLarge())
      if (auto value = dyn_cast<Value>(product.build(body)))
        product = unknown(value);
  }
  return product;
}

/// The sum, or the greatest number where it does not fit.
static int64_t addSaturated(int64_t a, int64_t b) {
  int64_t sum;
  return llvm::AddOverflow(a, b, sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static int64_t multiplySaturated(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? ((a < 0) != (b < 0) ? INT64_MIN : INT64_MAX) : product;
}

Polynomial Polynomial::operator+(const Polynomial &other) const {
  Polynomial sum = *this;
  for (const auto &[product, factor] : other.terms) {
    int64_t &own = sum.terms[product];
    own = addSaturated(own, factor);
    if (own == 0)
      sum.terms.erase(product);
  }
  return sum;
}

Polynomial Polynomial::operator*(const Polynomial &other) const {
  Polynomial result;
  for (const auto &[product, factor] : terms)
    for (const auto &[otherProduct, otherFactor] : other.terms) {
      Product both(product);
      llvm::append_range(both, otherProduct);
      llvm::sort(both, Earlier());
      Polynomial term;
      term.terms[both] = multiplySaturated(factor, otherFactor);
      result = result + term;
    }
  return result;
}

std::optional<Polynomial> Polynomial::divideLast(const Polynomial &divisor) const {
  const auto &[product, factor] = *terms.rbegin();
  const auto &[below, divisorFactor] = *divisor.terms.rbegin();
  if (factor == INT64_MIN || factor % divisorFactor != 0)
    return std::nullopt;
  Product rest(product);
  for (Value size : below) {
    auto *it = llvm::find(rest, size);
    if (it == rest.end())
      return std::nullopt;
    rest.erase(it);
  }
  Polynomial result;
  result.terms[rest] = factor / divisorFactor;
  return result;
}

std::optional<Polynomial> Polynomial::divide(const Polynomial &divisor) const {
  if (divisor.terms.empty())
    return std::nullopt;
  // More steps than terms are no division of sizes.
  constexpr int mostSteps = 64;
  Polynomial result, rest = *this;
  for (int step = 0; !rest.terms.empty(); ++step) {
    if (step == mostSteps)
      return std::nullopt;
    auto term = rest.divideLast(divisor);
    if (!term)
      return std::nullopt;
    result = result + *term;
    rest = rest + constant(-1) * *term * divisor;
  }
  return result;
}

bool Polynomial::isNonNegative() const {
  return llvm::all_of(terms, [](const auto &term) {
    return term.second >= 0 && llvm::all_of(term.first, [](Value size) {
             return size.getDefiningOp<tensor::DimOp>() != nullptr;
           });
  });
}

static Value buildProduct(Body &body, ArrayRef<Value> sizes, int64_t factor) {
  Value result;
  for (Value size : sizes) {
    if (!size.getType().isIndex())
      size = body.make<arith::IndexCastOp>(body.b.getIndexType(), size);
    result = result ? body.make<arith::MulIOp>(result, size) : size;
  }
  if (!result)
    return body.index(factor);
  return factor == 1 ? result : body.make<arith::MulIOp>(result, body.index(factor));
}

OpFoldResult Polynomial::build(Body &body) const {
  if (terms.empty())
    return fixedSize(body.b.getContext(), 0);
  if (terms.size() == 1 && terms.begin()->first.empty())
    return fixedSize(body.b.getContext(), terms.begin()->second);
  Value sum;
  for (const auto &[product, factor] : terms) {
    Value term = buildProduct(body, product, factor);
    sum = sum ? body.make<arith::AddIOp>(sum, term) : term;
  }
  return sum;
}

OpFoldResult imports::atMostOne(Body &body, OpFoldResult size) {
  if (getStatic(size) || isAtMostOne(size))
    return size;
  return body.make<arith::MinSIOp>(toIndex(body, size), body.index(1));
}

bool imports::isAtMostOne(OpFoldResult size) {
  auto value = dyn_cast<Value>(size);
  auto least = value ? value.getDefiningOp<arith::MinSIOp>() : arith::MinSIOp();
  return least && llvm::any_of(least->getOperands(),
                               [](Value operand) { return getConstantInt(operand) == 1; });
}

//===----------------------------------------------------------------------===//
// Refinements
//===----------------------------------------------------------------------===//

SmallVector<int64_t> imports::getWideDims(ArrayRef<OpFoldResult> sizes) {
  SmallVector<int64_t> dims;
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (getStatic(size) != 1)
      dims.push_back(dim);
  return dims;
}

namespace {
/// One side of a refinement, taken apart from its first dimension on.
struct Side {
  explicit Side(ArrayRef<OpFoldResult> all) {
    for (int64_t dim : getWideDims(all))
      sizes.push_back(Polynomial::of(all[dim]));
  }

  /// Opens the next dimension where the last one is used up; false at the end.
  bool open() {
    if (!(rest == Polynomial::constant(1)))
      return true;
    if (groups.size() == sizes.size())
      return false;
    rest = sizes[groups.size()];
    groups.emplace_back();
    return true;
  }

  SmallVector<Polynomial> sizes;
  Polynomial rest = Polynomial::constant(1);
  SmallVector<ReassociationIndices> groups;
};
} // namespace

std::optional<Refinement> imports::refine(Body &body, ArrayRef<OpFoldResult> from,
                                          ArrayRef<OpFoldResult> to) {
  auto isEmpty = [](OpFoldResult size) { return getStatic(size) == 0; };
  if (llvm::any_of(from, isEmpty) || llvm::any_of(to, isEmpty))
    return std::nullopt;
  Refinement result;
  Side left(from), right(to);
  while (true) {
    bool hasLeft = left.open(), hasRight = right.open();
    if (!hasLeft && !hasRight)
      break;
    if (!hasLeft || !hasRight)
      return std::nullopt;
    Polynomial step = left.rest;
    auto restOfRight = right.rest.divide(left.rest), restOfLeft = left.rest.divide(right.rest);
    if (restOfRight) {
      left.rest = Polynomial::constant(1);
      right.rest = *restOfRight;
    } else if (restOfLeft) {
      step = right.rest;
      right.rest = Polynomial::constant(1);
      left.rest = *restOfLeft;
    } else {
      return std::nullopt;
    }
    left.groups.back().push_back(result.sizes.size());
    right.groups.back().push_back(result.sizes.size());
    result.sizes.push_back(step.build(body));
  }
  result.from = left.groups;
  result.to = right.groups;
  return result;
}
