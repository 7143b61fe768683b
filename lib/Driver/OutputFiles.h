//===- OutputFiles.h - files that appear whole or not at all ----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_DRIVER_OUTPUTFILES_H
#define ATTNC_LIB_DRIVER_OUTPUTFILES_H

#include "attnc/Files/TemporaryFolder.h"
#include "attnc/Import/Safetensors/Safetensors.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>
#include <vector>

namespace attnc {

/// Writes `text` to a file beside `path` and renames it.
llvm::LogicalResult writeFile(llvm::StringRef path, llvm::StringRef text);

/// The same with a file of safetensors.
llvm::LogicalResult writeTensors(llvm::StringRef path,
                                 llvm::ArrayRef<mlir::attn::NamedTensor> tensors);

/// Files of one folder that appear together: they are written to a hidden folder inside it, and
/// moved up when all are complete. The rest are deleted.
class Staging {
public:
  /// Creates `folder` if needed; null after an error.
  static std::unique_ptr<Staging> open(llvm::StringRef folder);
  /// A temporary folder, whose files are never moved.
  static std::unique_ptr<Staging> openTemporary();

  /// The temporary path of file `name`.
  std::string add(llvm::StringRef name);
  llvm::LogicalResult add(llvm::StringRef name, llvm::StringRef text);
  /// A symbolic link to another file of the folder.
  void addLink(llvm::StringRef name, llvm::StringRef to);
  /// Moves the files and prints their paths.
  llvm::LogicalResult commit();
  /// Prints the files' text instead.
  llvm::LogicalResult print();

private:
  using TemporaryFolder = mlir::attn::TemporaryFolder;
  struct File {
    std::string name, linkTo;
  };

  Staging(llvm::StringRef folder, std::unique_ptr<TemporaryFolder> hidden)
      : folder(folder), hidden(std::move(hidden)) {}

  std::string folder;
  std::unique_ptr<TemporaryFolder> hidden;
  std::vector<File> files;
};

} // namespace attnc

#endif // ATTNC_LIB_DRIVER_OUTPUTFILES_H
