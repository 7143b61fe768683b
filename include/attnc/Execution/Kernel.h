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

/// Fails at `--target` if `target`, in full, is not this machine.
llvm::LogicalResult checkRunsHere(llvm::StringRef target);

/// One zero tensor per result. Shapes follow from `sizes`, else from evaluating `graph` (null for a
/// scheduled spec) on the inputs. Errors are at `place`.
mlir::FailureOr<std::vector<Tensor>> makeOutputs(const Signature &signature, const Sizes &sizes,
                                                 mlir::func::FuncOp graph,
                                                 llvm::ArrayRef<Tensor> inputs,
                                                 llvm::StringRef place);

/// Limits the threads of all kernels in this process; call it before the first kernel runs. 0: one
/// per core.
void limitThreads(unsigned threads);

/// What calls of a library spent in one of its kernels.
struct KernelTime {
  int64_t nanoseconds, calls;
};

/// A spec, compiled and loaded: the same object that `attnc compile` archives, linked to a shared
/// library.
class Kernel {
public:
  /// Lowers the spec to its last stage. `target` in full; kernels are cached in `cacheDir`
  /// unless it is empty. Null after an error.
  static std::unique_ptr<Kernel> compile(Spec &spec, llvm::StringRef target,
                                         llvm::StringRef cacheDir, bool isProfiled = false);
  /// The same of a function that is scheduled.
  static std::unique_ptr<Kernel> compile(mlir::func::FuncOp function, llvm::StringRef target,
                                         llvm::StringRef cacheDir, bool isProfiled = false);

  /// Calls it as a C program would, on DLTensors. Errors are the library's message, at its name.
  llvm::LogicalResult call(llvm::ArrayRef<Tensor> inputs, llvm::ArrayRef<Tensor> outputs);
  /// The same, but a cache or pool that rows are appended to is passed as the result, too, as
  /// programs that decode do; that result's own tensor is not written.
  llvm::LogicalResult callInPlace(llvm::ArrayRef<Tensor> inputs, llvm::ArrayRef<Tensor> outputs);
  /// Whether callInPlace passes an input for the output.
  bool isInPlace(unsigned output) const { return inPlaceOf[output].has_value(); }

  /// Bytes of temporaries that the call allocates.
  mlir::FailureOr<int64_t> getWorkspace(llvm::ArrayRef<Tensor> inputs,
                                        llvm::ArrayRef<Tensor> outputs);

  /// The times of the module's kernels, in order, summed up over all calls; to be set to 0 at will.
  /// Empty unless it is profiled.
  llvm::MutableArrayRef<KernelTime> getProfile() { return profile; }

private:
  /// `profiled`: how many kernels have a profile.
  llvm::LogicalResult load(llvm::StringRef path, size_t profiled);

  /// `tensors`: pointers to DLTensors.
  llvm::LogicalResult callWith(const void *tensors);

  std::string name;
  /// For each output the input whose memory it may share.
  llvm::SmallVector<std::optional<unsigned>> inPlaceOf;
  int (*function)(const void *options, const void *tensors) = nullptr;
  int64_t (*workspace)(const void *tensors) = nullptr;
  const char *(*lastError)() = nullptr;
  llvm::MutableArrayRef<KernelTime> profile;
};

} // namespace attnc

#endif // ATTNC_EXECUTION_KERNEL_H
