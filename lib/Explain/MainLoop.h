//===- MainLoop.h - what the main loop of a CUDA kernel costs ---*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing here needs a GPU: ptxas and nvdisasm, of NVIDIA's CUDA toolkit or its wheels, say which
// instructions a GPU would run.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_EXPLAIN_MAINLOOP_H
#define ATTNC_LIB_EXPLAIN_MAINLOOP_H

#include "attnc/Explain/Explanation.h"

namespace attnc {

/// NVIDIA's assembler and disassembler.
struct CudaTools {
  std::string ptxas, nvdisasm;

  /// Those that PTXAS and NVDISASM name, or on the PATH. None unless both are found.
  static std::optional<CudaTools> find();
};

/// Counts the main loop of `kernel`, for tensor cores, in its machine code for GPUs that run
/// `target`. Empty for a kernel without such a loop, and with a warning if a tool fails. Fails,
/// with a diagnostic, if the kernel does not compile.
mlir::FailureOr<std::vector<MainLoop>> countMainLoops(mlir::attn::KernelOpInterface kernel,
                                                      llvm::StringRef target,
                                                      const CudaTools &tools);

} // namespace attnc

#endif // ATTNC_LIB_EXPLAIN_MAINLOOP_H
