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

/// A private folder, removed with its files at the end of the scope, and on a fatal signal if the
/// program asked for that (removeTemporaryFoldersOnSignal).
class TemporaryFolder {
public:
  /// In the system's temporary folder.
  static llvm::ErrorOr<std::unique_ptr<TemporaryFolder>> create();
  /// Hidden in `parent`. Removes folders left there by killed programs.
  static llvm::ErrorOr<std::unique_ptr<TemporaryFolder>> create(llvm::StringRef parent);
  TemporaryFolder(const TemporaryFolder &) = delete;
  ~TemporaryFolder();

  /// The path of the file `name` within.
  std::string file(llvm::StringRef name);
  /// The same file through the folder's descriptor, for LLVM's writers, which replace each '%' in a
  /// path by a random digit.
  std::string fileByDescriptor(llvm::StringRef name);

private:
  explicit TemporaryFolder(std::string path);
  static llvm::ErrorOr<std::unique_ptr<TemporaryFolder>> createNamed(llvm::StringRef prefix);

  const std::string path;
  bool isMade = false;
  /// Held while the folder is in use; -1 if the file system has no locks.
  int lock = -1;
  std::vector<std::string> files;
};

/// Eight random hexadecimal digits for a name.
std::string makeRandomDigits();

/// Removes the hidden folders in `parent` that no running program has locked.
void removeLeftFolders(llvm::StringRef parent);

/// The final path of a file in a hidden folder, for messages.
std::string getFinalPath(llvm::StringRef path);

/// Makes fatal signals, a closed pipe included, remove all temporary folders and then end the
/// program as before. Call it before anything else handles signals; LLVM's handlers pass theirs on.
/// Exceeding the file size limit becomes an error like a full disk instead of a signal.
void removeTemporaryFoldersOnSignal();

/// Removes all temporary folders, before an early exit. Signal handlers may call it.
void removeTemporaryFolders();

} // namespace mlir::attn

#endif // ATTNC_FILES_TEMPORARYFOLDER_H
