//===- Cases.h - cases for verifying a kernel --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_VERIFICATION_CASES_H
#define ATTNC_VERIFICATION_CASES_H

#include "attnc/Verification/TestSizes.h"

#include "attnc/Execution/Tensor.h"

namespace attnc {

/// One kind of inputs. A special value goes into one input at a time.
struct InputKind {
  enum { Normal, Large, Empty, Special } kind;
  /// The input with NaN and infinities, if Special.
  size_t input = 0;

  /// "normal", "NaN and inf in query"
  std::string describe(const Signature &signature) const;
  /// Turns a normal tensor, input number `index`, into one of this kind.
  void apply(size_t index, Tensor &tensor) const;
};

/// The kinds that apply to inputs that are not given.
llvm::SmallVector<InputKind> getInputKinds(const Signature &signature,
                                           llvm::ArrayRef<bool> isGiven);

struct PlannedCase {
  Dims dims;
  InputKind kind;
  bool runs = true;
};

/// All kinds at all sizes.
std::vector<PlannedCase> listCases(llvm::ArrayRef<Dims> sizes, llvm::ArrayRef<InputKind> kinds);

/// Whether one size fits into its share of the budget, beside other sizes and kinds of inputs.
bool isAffordable(const WorkEstimate &work, const Dims &dims);

/// Drops cases of large graphs, and returns their number: every size runs with normal inputs; other
/// kinds run in order, small sizes first, within a budget of some seconds.
size_t dropCases(std::vector<PlannedCase> &cases, const WorkEstimate &work);

} // namespace attnc

#endif // ATTNC_VERIFICATION_CASES_H
