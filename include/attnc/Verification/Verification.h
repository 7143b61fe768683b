//===- Verification.h - compare kernels with the reference -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_VERIFICATION_VERIFICATION_H
#define ATTNC_VERIFICATION_VERIFICATION_H

#include "attnc/Execution/InputMaker.h"
#include "attnc/Execution/Kernel.h"
#include "attnc/Verification/Cases.h"
#include "attnc/Verification/Comparison.h"

namespace attnc {

struct VerifyOptions {
  std::vector<InputSource> given;
  /// All combinations run; symbols not listed get the usual sizes.
  std::vector<SizeList> sizes;
  uint64_t seed = 0;
  /// Whether every case runs, however long a large graph takes.
  bool allCases = false;
};

/// One case that was run.
struct Case {
  Dims dims;
  /// The kind of inputs, in words.
  std::string inputs;
  /// One for each result.
  llvm::SmallVector<Comparison> results;

  bool isGood() const;
};

/// Compares a kernel with the reference.
class Verification {
public:
  /// `graph` is the spec before any pass, `fused` the spec after fusion. Where an input holds NaN
  /// or infinities, a kernel may also agree with `fused`: a sum with -inf, once it has become a
  /// mask, hides them. `named`: whether the spec itself names sizes (hasDims). Graphs and kernel
  /// outlive it.
  Verification(Graph &graph, Graph &fused, const Signature &signature, bool named, Kernel &kernel,
               VerifyOptions options);

  /// Runs all cases, passing each to `seen` when done. Fails if a call fails; a wrong result is no
  /// failure.
  mlir::FailureOr<std::vector<Case>> run(llvm::function_ref<void(const Case &)> seen);

  /// Number of cases of a large graph that were left out.
  size_t getLeftOut() const { return leftOut; }

private:
  mlir::FailureOr<std::vector<Dims>> chooseSizes();
  mlir::FailureOr<Case> verify(const PlannedCase &planned);
  mlir::LogicalResult acceptHidden(llvm::ArrayRef<Tensor> inputs, llvm::ArrayRef<Tensor> outputs,
                                   Case &tested);

  Graph &graph, &fused;
  const Signature &signature;
  bool named;
  Kernel &kernel;
  VerifyOptions options;
  InputMaker maker;
  WorkEstimate work;
  size_t leftOut = 0;
};

} // namespace attnc

#endif // ATTNC_VERIFICATION_VERIFICATION_H
