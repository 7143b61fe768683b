//===- Kernel.h - a compiled library, loaded ---------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_EXECUTION_KERNEL_H
#define ATTNC_EXECUTION_KERNEL_H

#include "attnc/Execution/Sizes.h"
#include "attnc/Execution/Tensor.h"
#include "attnc/Spec/Spec.h"

namespace attnc {

/// An error at `--target` where `target`, in full, is another machine.
llvm::LogicalResult checkRunsHere(llvm::StringRef target);

/// One tensor for each result, of zeros. Shapes follow from `sizes`, else from what `graph`
/// computes on the inputs; it is null where there is none any more. Errors are at `place`.
mlir::FailureOr<std::vector<Tensor>> makeOutputs(const Signature &signature, const Sizes &sizes,
                                                 mlir::func::FuncOp graph,
                                                 llvm::ArrayRef<Tensor> inputs,
                                                 llvm::StringRef place);

/// Limits the threads of all kernels of this process, to be called before the first one runs;
/// 0: as many as there are cores.
void limitThreads(unsigned threads);

/// A spec, compiled and loaded: the very object that `attnc compile` would archive, linked to a
/// shared library.
class Kernel {
public:
  /// Lowers the spec to its last stage. `target` in full; kernels are cached in `cacheDir`
  /// unless it is empty. Null after an error.
  static std::unique_ptr<Kernel> compile(Spec &spec, llvm::StringRef target,
                                         llvm::StringRef cacheDir);

  /// Calls it as a C program would, on DLTensors. An error is the library's message, at its name.
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

#endif // ATTNC_EXECUTION_KERNEL_H
