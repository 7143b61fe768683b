//===- Inputs.h - what a kernel is run on -----------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TOOLS_ATTNC_INPUTS_H
#define ATTNC_TOOLS_ATTNC_INPUTS_H

#include "Spec.h"
#include "Tensor.h"

#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace attnc {

/// One `--input NAME=SOURCE`.
struct InputOption {
  enum Kind { File, Random, Zeros, Ones };
  std::string name;
  Kind kind;
  std::string path;
  llvm::SmallVector<int64_t> shape;
  /// Whether `shape` was given; else it follows from the spec.
  bool hasShape = false;
};

/// One `--output NAME=@FILE`.
struct OutputOption {
  std::string name, path;
};

/// What does not read as `NAME=SOURCE`, or names something twice, is a wrong
/// command line.
mlir::FailureOr<std::vector<InputOption>> parseInputs(llvm::ArrayRef<std::string> texts);
mlir::FailureOr<std::vector<OutputOption>> parseOutputs(llvm::ArrayRef<std::string> texts);

/// The parameter of that name, or an error that lists the names there are.
mlir::FailureOr<size_t> findParameter(llvm::ArrayRef<Parameter> parameters, llvm::StringRef name,
                                      llvm::StringRef option);

/// The sizes of the symbols, from the shapes of what is given.
class Sizes {
public:
  /// Says a size beforehand; `source` is who says so.
  void set(llvm::StringRef symbol, int64_t size, llvm::StringRef source);
  /// Fails where the shape contradicts the parameter or an earlier one.
  llvm::LogicalResult bind(const Parameter &parameter, llvm::ArrayRef<int64_t> shape,
                           llvm::StringRef option);
  /// The parameter's shape; an error names the first size that is not known.
  std::optional<llvm::SmallVector<int64_t>> getShape(const Parameter &parameter) const;
  std::optional<int64_t> get(llvm::StringRef symbol) const;

private:
  struct Size {
    int64_t size;
    std::string source;
  };
  llvm::StringMap<Size> sizes;
};

/// Integers are lengths, positions or ids: below every size of the float inputs they stay
/// in range wherever they are used.
int64_t getIntegerBound(const Signature &signature, const Sizes &sizes);

/// Adds the sizes of the inputs whose shapes are given.
llvm::LogicalResult bindInputs(const Signature &signature, llvm::ArrayRef<InputOption> options,
                               Sizes &sizes);

/// One tensor for each input, in order. What is not given is random where its
/// shape is known.
mlir::FailureOr<std::vector<Tensor>> makeInputs(const Signature &signature,
                                                llvm::ArrayRef<InputOption> options, uint64_t seed,
                                                Sizes &sizes);

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_INPUTS_H
