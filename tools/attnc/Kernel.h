//===- Kernel.h - a compiled library, loaded --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TOOLS_ATTNC_KERNEL_H
#define ATTNC_TOOLS_ATTNC_KERNEL_H

#include "Files.h"
#include "Inputs.h"
#include "Spec.h"

namespace attnc {

/// What is compiled must run here: an error where `target` is another machine.
llvm::LogicalResult checkRunsHere(llvm::StringRef target);

/// One tensor for each result, its shape from the sizes of the inputs: by the symbols of the
/// signature, else by what `graph` computes. That is null where there is none any more.
mlir::FailureOr<std::vector<Tensor>> makeOutputs(const Signature &signature, const Sizes &sizes,
                                                 mlir::func::FuncOp graph,
                                                 llvm::ArrayRef<Tensor> inputs);

/// How many threads compute, all cores where `threads` is 0. To be called before any kernel.
void limitThreads(unsigned threads);

/// A spec, compiled and loaded.
class Kernel {
public:
  /// Null after an error. Takes the spec to its last stage.
  static std::unique_ptr<Kernel> compile(Spec &spec, llvm::StringRef target);

  /// Calls it as a C program would: on DLTensors, inputs first. Its message is the error.
  llvm::LogicalResult call(llvm::ArrayRef<Tensor> inputs, llvm::ArrayRef<Tensor> outputs);

  /// The bytes of temporaries that such a call allocates.
  mlir::FailureOr<int64_t> getWorkspace(llvm::ArrayRef<Tensor> inputs,
                                        llvm::ArrayRef<Tensor> outputs);

private:
  llvm::LogicalResult load(llvm::StringRef path);

  std::string name;
  int (*function)(const void *options, const void *tensors) = nullptr;
  int64_t (*workspace)(const void *tensors) = nullptr;
  const char *(*lastError)() = nullptr;
};

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_KERNEL_H
