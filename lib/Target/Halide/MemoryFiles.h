//===- MemoryFiles.h - what Halide writes, before it is a file --*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a disk is full, Halide ends the program, or says nothing and leaves half a file. So it
// writes to memory, and what is there then goes where it was meant to.
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
  /// The user's limit of file sizes, which holds for memory as well but is not meant for it.
  struct rlimit limit;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_MEMORYFILES_H
