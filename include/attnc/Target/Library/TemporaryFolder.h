//===- TemporaryFolder.h - files that do not outlive a scope ----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TARGET_LIBRARY_TEMPORARYFOLDER_H
#define ATTNC_TARGET_LIBRARY_TEMPORARYFOLDER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorOr.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir::attn {

/// A folder that nobody else may enter. It is removed, with the files in it, at the end of the
/// scope and where a signal ends a program that asked for that.
class TemporaryFolder {
public:
  /// Where the system has such folders.
  static llvm::ErrorOr<std::unique_ptr<TemporaryFolder>> create();
  /// Hidden in another one.
  static llvm::ErrorOr<std::unique_ptr<TemporaryFolder>> create(llvm::StringRef parent);
  TemporaryFolder(const TemporaryFolder &) = delete;
  ~TemporaryFolder();

  /// The path of the file `name` within.
  std::string file(llvm::StringRef name);

private:
  explicit TemporaryFolder(llvm::StringRef path);

  std::string path;
  std::vector<std::string> files;
};

/// Called before anything else handles signals: what is raised then, or handed on by LLVM's
/// handler, removes the folders that there are, and ends the program as it would have.
void removeTemporaryFoldersOnSignal();

} // namespace mlir::attn

#endif // ATTNC_TARGET_LIBRARY_TEMPORARYFOLDER_H
