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

/// The source of an input's values.
struct InputSource {
  /// Nothing reads an Unread one, which gets no elements.
  enum Kind { File, Random, Zeros, Ones, Unread };
  std::string name;
  Kind kind;
  /// A file .npy or .safetensors.
  std::string path;
  llvm::SmallVector<int64_t> shape;
  /// If false, the shape follows from the spec.
  bool hasShape = false;
};

/// Whether a file of tensors is one of safetensors and not of numpy, by the end of its name.
bool isSafetensors(llvm::StringRef path);

/// Index of the parameter of that name, or an error at `option` that lists the valid names.
mlir::FailureOr<size_t> findParameter(llvm::ArrayRef<Parameter> parameters, llvm::StringRef name,
                                      llvm::StringRef option);

/// Fails unless `--size` or a given input fixes each size of a call.
llvm::LogicalResult checkAllKnown(llvm::ArrayRef<SizeList> lists, const Signature &signature,
                                  llvm::ArrayRef<InputSource> given);

/// Exclusive bound of random integers: at most the smallest size of the float inputs, so that
/// lengths, positions and ids are in range for every use. At least 1.
int64_t getIntegerBound(const Signature &signature, const Sizes &sizes);

/// Adds the sizes of the inputs whose shapes are given.
llvm::LogicalResult bindInputs(const Signature &signature, llvm::ArrayRef<InputSource> given,
                               Sizes &sizes);

/// One tensor for each input, in order; their sizes are added to `sizes`. An input that is not
/// given is random, if its shape is known: floats are normal, integers small, bools evenly true.
/// Values depend on `seed` alone, not on the machine. Errors are at `--input`.
mlir::FailureOr<std::vector<Tensor>> makeInputs(const Signature &signature,
                                                llvm::ArrayRef<InputSource> given, uint64_t seed,
                                                Sizes &sizes);

} // namespace attnc

#endif // ATTNC_EXECUTION_INPUTS_H
