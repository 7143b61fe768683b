//===- Cost.cpp - operations and bytes of a group -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cost.h"

#include "Tensor.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "attnc/Target/Library/Escape.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;
using namespace attnc;

//===----------------------------------------------------------------------===//
// Polynomial
//===----------------------------------------------------------------------===//

void Polynomial::add(int64_t coefficient, ArrayRef<Factor> factors) {
  double product = coefficient;
  std::vector<std::string> symbols;
  for (const Factor &factor : factors) {
    product *= factor.number;
    if (!factor.symbol.empty())
      symbols.push_back(factor.symbol);
  }
  llvm::sort(symbols);
  terms[symbols] += product;
}

void Polynomial::add(const Polynomial &other) {
  for (const auto &[symbols, coefficient] : other.terms)
    terms[symbols] += coefficient;
}

std::optional<double>
Polynomial::evaluate(llvm::function_ref<std::optional<int64_t>(StringRef)> getSize) const {
  double sum = 0;
  for (const auto &[symbols, coefficient] : terms) {
    double product = coefficient;
    for (StringRef symbol : symbols) {
      std::optional<int64_t> size = getSize(symbol);
      if (!size)
        return std::nullopt;
      product *= *size;
    }
    sum += product;
  }
  return sum;
}

std::optional<double> Polynomial::number() const {
  return evaluate([](StringRef) { return std::nullopt; });
}

std::string Polynomial::formula() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      terms, os,
      [&](const auto &term) {
        os << llvm::format("%.0f", term.second);
        // Symbols are sorted: equal ones stand together.
        for (size_t at = 0, next; at < term.first.size(); at = next) {
          for (next = at + 1; next < term.first.size() && term.first[next] == term.first[at];)
            ++next;
          os << "·" << term.first[at];
          if (next - at > 1)
            os << '^' << next - at;
        }
      },
      " + ");
  return text;
}

std::string Polynomial::str() const {
  std::optional<double> value = number();
  if (!value)
    return formula();
  unsigned scale = 0;
  double scaled = *value;
  for (; scaled >= 1000 && scale < 5; scaled /= 1000)
    ++scale;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format("%.4g", scaled);
  if (scale > 0)
    os << ' ' << " kMGTP"[scale];
  return text;
}

llvm::json::Value Polynomial::json() const {
  if (std::optional<double> value = number())
    return static_cast<int64_t>(*value);
  return mlir::attn::escapeJson(formula());
}

//===----------------------------------------------------------------------===//
// CostModel
//===----------------------------------------------------------------------===//

Polynomial::Factor CostModel::getSize(Value tensor, int64_t dim) {
  std::optional<Size> size = tracer.trace(tensor, dim);
  if (size && size->isConstant())
    return {size->constant, ""};
  StringAttr symbol = size ? tracer.getSymbol(*size) : StringAttr();
  return {1, symbol ? symbol.str() : "?"};
}

SmallVector<Polynomial::Factor> CostModel::getSizes(Value tensor) {
  SmallVector<Polynomial::Factor> sizes;
  for (int64_t dim = 0; dim < cast<RankedTensorType>(tensor.getType()).getRank(); ++dim)
    sizes.push_back(getSize(tensor, dim));
  return sizes;
}

std::string CostModel::describeSize(Value tensor, int64_t dim) {
  Polynomial::Factor size = getSize(tensor, dim);
  return size.symbol.empty() ? std::to_string(size.number) : size.symbol;
}

std::string CostModel::describe(Value tensor) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << getElementTypeOrSelf(tensor.getType()) << '[';
  auto dims = llvm::seq(cast<RankedTensorType>(tensor.getType()).getRank());
  llvm::interleaveComma(dims, os, [&](int64_t dim) { os << describeSize(tensor, dim); });
  os << ']';
  return text;
}

Cost CostModel::get(Operation *op) {
  Cost cost;
  auto addProduct = [&](Value result, Value reducedIn, int64_t reducedDim) {
    SmallVector<Polynomial::Factor> sizes = getSizes(result);
    sizes.push_back(getSize(reducedIn, reducedDim));
    cost.flops.add(2, sizes);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ScoreOp score) { addProduct(score.getScore(), score.getQuery(), 3); })
      .Case([&](ContextOp context) { addProduct(context.getResult(), context.getProb(), 3); })
      .Case([&](LinearOp linear) { addProduct(linear.getResult(), linear.getWeight(), 1); })
      .Case([&](AttentionOp attention) {
        addProduct(attention.getResult(), attention.getKey(), 2);
        SmallVector<Polynomial::Factor> sizes = getSizes(attention.getQuery());
        sizes.push_back(getSize(attention.getKey(), 2));
        cost.flops.add(2, sizes);
      });
  for (Value tensor : llvm::concat<Value>(op->getOperands(), op->getResults()))
    if (auto type = dyn_cast<RankedTensorType>(tensor.getType()))
      cost.bytes.add(getElementSize(type.getElementType()), getSizes(tensor));
  return cost;
}

Polynomial attnc::countFlops(func::FuncOp function) {
  CostModel costs(function);
  Polynomial flops;
  function.walk([&](Operation *op) { flops.add(costs.get(op).flops); });
  return flops;
}
