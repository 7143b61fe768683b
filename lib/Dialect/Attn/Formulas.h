//===- Formulas.h - helpers for the ops' formulas ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DIALECT_ATTN_FORMULAS_H
#define ATTNC_LIB_DIALECT_ATTN_FORMULAS_H

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/FormulaWriter.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

namespace mlir::attn {

inline std::string formatNumber(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

inline std::string formatNumbers(ArrayRef<int64_t> numbers) {
  auto format = [](int64_t number) { return std::to_string(number); };
  return llvm::join(llvm::map_range(numbers, format), ", ");
}

/// `scale * `, nothing for 1.
inline std::string formatScale(const APFloat &scale) {
  double number = scale.convertToDouble();
  return number == 1 ? "" : formatNumber(number) + " * ";
}

/// `prefix NAME suffix`, empty for an absent operand.
inline std::string formatOptional(FormulaWriter &writer, StringRef prefix, Value operand,
                                  StringRef suffix = "") {
  return operand ? (prefix + writer.nameOf(operand) + suffix).str() : "";
}

/// The page of key k: `table[batch, k / page_size]`.
std::string describePage(FormulaWriter &writer, const PagedTensors &paged);

/// `, one for each row` or `, one for every 32 columns`.
std::string formatBlocks(Value rows, Value scales);

} // namespace mlir::attn

#endif // ATTNC_LIB_DIALECT_ATTN_FORMULAS_H
