//===- SymbolicCount.cpp - FLOPs and bytes in symbols ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Cost/SymbolicCount.h"

#include "attnc/Text/Escape.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace attnc;

void SymbolicCount::add(double coefficient, ArrayRef<Factor> factors) {
  double product = coefficient;
  std::vector<std::string> symbols;
  for (const Factor &factor : factors) {
    product *= factor.number;
    if (!factor.sum)
      continue;
    symbols.push_back(factor.sum->str());
    sums.try_emplace(symbols.back(), *factor.sum);
  }
  llvm::sort(symbols);
  terms[symbols] += product;
}

void SymbolicCount::add(const SymbolicCount &other) {
  for (const auto &[symbols, coefficient] : other.terms)
    terms[symbols] += coefficient;
  sums.insert(other.sums.begin(), other.sums.end());
}

std::optional<double>
SymbolicCount::evaluate(llvm::function_ref<std::optional<int64_t>(StringRef)> getSize) const {
  double sum = 0;
  for (const auto &[symbols, coefficient] : terms) {
    double product = coefficient;
    for (const std::string &symbol : symbols) {
      std::optional<int64_t> size = sums.at(symbol).evaluate(getSize);
      if (!size)
        return std::nullopt;
      product *= *size;
    }
    sum += product;
  }
  return sum;
}

std::optional<double> SymbolicCount::number() const {
  return evaluate([](StringRef) { return std::nullopt; });
}

std::string SymbolicCount::formula(StringRef times) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      terms, os,
      [&](const auto &term) {
        os << llvm::format("%.0f", term.second);
        for (StringRef symbol : term.first)
          os << times << symbol;
      },
      " + ");
  return text;
}

std::string SymbolicCount::str() const {
  std::optional<double> value = number();
  if (!value)
    return formula("·");
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

llvm::json::Value SymbolicCount::json() const {
  if (std::optional<double> value = number())
    return static_cast<int64_t>(*value);
  return mlir::attn::escapeJson(formula("*"));
}
