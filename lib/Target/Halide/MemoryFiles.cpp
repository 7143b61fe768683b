//===- MemoryFiles.cpp - Halide's output files, in memory first -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryFiles.h"

#include "attnc/Files/TemporaryFolder.h"
#include "attnc/Files/WholeFile.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MemoryBuffer.h"

#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace mlir::halide;

MemoryFiles::MemoryFiles() {
  ::getrlimit(RLIMIT_FSIZE, &limit);
  struct rlimit raised = limit;
  raised.rlim_cur = raised.rlim_max;
  ::setrlimit(RLIMIT_FSIZE, &raised);
}

MemoryFiles::~MemoryFiles() {
  ::setrlimit(RLIMIT_FSIZE, &limit);
  for (const File &file : files)
    ::close(file.memory);
}

std::string MemoryFiles::add(StringRef path) {
  int memory = ::memfd_create("attnc", MFD_CLOEXEC);
  if (memory < 0)
    return path.str(); // a kernel without memory files
  files.push_back({path.str(), memory});
  return "/proc/self/fd/" + std::to_string(memory);
}

LogicalResult MemoryFiles::commit(Location loc) {
  ::setrlimit(RLIMIT_FSIZE, &limit);
  for (const File &file : files) {
    off_t size = ::lseek(file.memory, 0, SEEK_END);
    auto content = llvm::MemoryBuffer::getOpenFile(file.memory, file.path, size,
                                                   /*RequiresNullTerminator=*/false);
    std::error_code error = content.getError();
    if (static_cast<rlim_t>(size) >= limit.rlim_max) // Halide may have ignored it
      error = std::make_error_code(std::errc::file_too_large);
    if (!error)
      error = mlir::attn::writeWholeFile(file.path,
                                         [&](raw_ostream &os) { os << (*content)->getBuffer(); });
    if (error)
      return emitError(loc) << "could not write " << mlir::attn::getFinalPath(file.path) << ": "
                            << error.message();
  }
  return success();
}
