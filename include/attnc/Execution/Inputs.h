//===- Inputs.h - tensors to run a kernel on ---------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_EXECUTION_INPUTS_H
#define ATTNC_EXECUTION_INPUTS_H

#include "attnc/Execution/Sizes.h"
#include "attnc/Execution/Tensor.h"

#include <string>
#include <vector>

namespace attnc {

/// What the input of that name holds.
struct InputSource {
  enum Kind { File, Random, Zeros, Ones };
  std::string name;
  Kind kind;
  /// A file .npy.
  std::string path;
  llvm::SmallVector<int64_t> shape;
  /// Whether `shape` is given; else it follows from the spec.
  bool hasShape = false;
};

/// The parameter of that name, or an error at `option` that lists the names there are.
mlir::FailureOr<size_t> findParameter(llvm::ArrayRef<Parameter> parameters, llvm::StringRef name,
                                      llvm::StringRef option);

/// Random integers are below it: below every size of the float inputs, so that lengths,
/// positions and ids stay in range wherever they are used. At least 1.
int64_t getIntegerBound(const Signature &signature, const Sizes &sizes);

/// Adds the sizes of the inputs whose shapes are given.
llvm::LogicalResult bindInputs(const Signature &signature, llvm::ArrayRef<InputSource> given,
                               Sizes &sizes);

/// One tensor for each input, in order; their sizes are added to `sizes`. An input that is not
/// given is random, if its shape is known: floats are normal, integers small, bools evenly true.
/// `seed` alone decides, on every machine the same. Errors are at `--input`.
mlir::FailureOr<std::vector<Tensor>> makeInputs(const Signature &signature,
                                                llvm::ArrayRef<InputSource> given, uint64_t seed,
                                                Sizes &sizes);

} // namespace attnc

#endif // ATTNC_EXECUTION_INPUTS_H
