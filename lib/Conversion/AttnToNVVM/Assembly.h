//===- Assembly.h - inline assembly of PTX ----------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTONVVM_ASSEMBLY_H
#define ATTNC_CONVERSION_ATTNTONVVM_ASSEMBLY_H

#include "KernelBuilder.h"

namespace mlir::attn::nvvm {

/// A statement of inline assembly with side effects, whose results are f32. Operands are `$` and
/// their number: results, then others in the order in which they are added.
class Assembly {
public:
  explicit Assembly(KernelBuilder &k) : k(k) {}

  void addResults(int64_t count);
  /// Results that begin as `values`.
  void addTied(ArrayRef<Reg> values);
  /// Returns the number of the first.
  int64_t add(ArrayRef<Reg> values, StringRef constraint);
  void addLine(const Twine &line) { text += ("\t" + line + "\n").str(); }
  Regs finish();

private:
  KernelBuilder &k;
  std::string text;
  int64_t results = 0;
  SmallVector<std::string> constraints;
  SmallVector<Value> operands;
};

} // namespace mlir::attn::nvvm

#endif // ATTNC_CONVERSION_ATTNTONVVM_ASSEMBLY_H
