//===- InputMaker.h - inputs for given sizes --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_EXECUTION_INPUTMAKER_H
#define ATTNC_EXECUTION_INPUTMAKER_H

#include "attnc/Execution/Inputs.h"

namespace attnc {

/// Makes inputs for chosen sizes, with valid key lengths.
class InputMaker {
public:
  enum Lengths { RandomLengths, FullLengths };

  /// `graph` outlives this; null for a scheduled spec, which does not tell key lengths from other
  /// integers.
  InputMaker(mlir::func::FuncOp graph, Signature signature, std::vector<InputSource> given,
             uint64_t seed, Lengths lengths = RandomLengths);

  /// Inputs not given are random. Key lengths are random from 0 to the number of keys (or to the
  /// free rows of a cache), or all that maximum; page tables hold pages of their pools; offsets
  /// divide packed rows among sequences, evenly with full lengths, and pages so that rows which are
  /// appended have room; some rows of a part that is merged see no key. Sizes of given inputs are
  /// added to `sizes`.
  /// `read`, if given, tells which inputs the caller reads: others have no elements.
  mlir::FailureOr<std::vector<Tensor>> make(Sizes &sizes, const llvm::BitVector *read = nullptr);

  const Signature &getSignature() const { return signature; }
  /// For each input, whether it is given.
  llvm::ArrayRef<bool> getGiven() const { return isGiven; }

private:
  void fill(Tensor &tensor, unsigned index, const Sizes &sizes);

  mlir::func::FuncOp graph;
  Signature signature;
  std::vector<InputSource> given;
  llvm::SmallVector<bool> isGiven;
  uint64_t seed;
  Lengths lengths;
  std::optional<mlir::attn::SizeTracer> tracer;
};

} // namespace attnc

#endif // ATTNC_EXECUTION_INPUTMAKER_H
