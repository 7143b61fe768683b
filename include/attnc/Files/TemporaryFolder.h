//===- TemporaryFolder.h - files that do not outlive a scope ----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_FILES_TEMPORARYFOLDER_H
#define ATTNC_FILES_TEMPORARYFOLDER_H

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
  /// Hidden in another one. Those that killed programs have left there are removed.
  static llvm::ErrorOr<std::unique_ptr<TemporaryFolder>> create(llvm::StringRef parent);
  TemporaryFolder(const TemporaryFolder &) = delete;
  ~TemporaryFolder();

  /// The path of the file `name` within.
  std::string file(llvm::StringRef name);
  /// The same file by a path without the folder's own, for what LLVM writes: it replaces each '%'
  /// of a path by a random digit.
  std::string fileByDescriptor(llvm::StringRef name);

private:
  TemporaryFolder(llvm::StringRef path, int lock);

  std::string path;
  /// Held as long as the folder is in use; -1 where the file system knows no locks.
  int lock;
  std::vector<std::string> files;
};

/// Eight random hexadecimal digits for a name.
std::string makeRandomDigits();

/// Removes the hidden folders in `parent` that no running program holds.
void removeLeftFolders(llvm::StringRef parent);

/// The path that a file in a hidden folder is on its way to, for messages.
std::string getFinalPath(llvm::StringRef path);

/// Called before anything else handles signals: what is raised then, or handed on by LLVM's
/// handler, removes the folders that there are, and ends the program as it would have. That
/// holds for a closed pipe as well. Writing beyond a limit of size is no signal any more, but an
/// error like a full disk.
void removeTemporaryFoldersOnSignal();

/// Removes the folders that there are, before a program ends in the middle of its work. Handlers of
/// signals may call it.
void removeTemporaryFolders();

} // namespace mlir::attn

#endif // ATTNC_FILES_TEMPORARYFOLDER_H
