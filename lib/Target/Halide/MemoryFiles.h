//===- MemoryFiles.h - Halide's output files, in memory first ---*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On a full disk Halide aborts or silently leaves a truncated file. So it writes to memory files,
// which are then copied to their paths.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_MEMORYFILES_H
#define ATTNC_LIB_TARGET_HALIDE_MEMORYFILES_H

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"

#include <string>
#include <sys/resource.h>
#include <vector>

namespace mlir::halide {

class MemoryFiles {
public:
  MemoryFiles();
  MemoryFiles(const MemoryFiles &) = delete;
  ~MemoryFiles();

  /// The path to write to in place of `path`.
  std::string add(StringRef path);

  /// Writes the files to their paths; errors are diagnostics at `loc`.
  LogicalResult commit(Location loc);

private:
  struct File {
    std::string path;
    int memory;
  };
  std::vector<File> files;
  /// The user's limit of file sizes, which applies to memory files too but is not meant for them.
  struct rlimit limit;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_MEMORYFILES_H
