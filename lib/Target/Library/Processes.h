//===- Processes.h - compile kernels on all cores ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_LIBRARY_PROCESSES_H
#define ATTNC_LIB_TARGET_LIBRARY_PROCESSES_H

#include "attnc/Interfaces/KernelOpInterface.h"

namespace mlir::attn {

/// A kernel to be compiled for `target` to a file.
struct KernelJob {
  KernelOpInterface kernel;
  StringRef target;
  Artefact artefact;
  std::string key, path;
};

/// Compiles each kernel in a child process, as many at a time as there are cores. Diagnostics are
/// discarded: the file of a kernel that had one is missing, and the caller compiles it again.
void compileInProcesses(ArrayRef<KernelJob> jobs);

} // namespace mlir::attn

#endif // ATTNC_LIB_TARGET_LIBRARY_PROCESSES_H
