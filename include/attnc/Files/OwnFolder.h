//===- OwnFolder.h - folders that nobody else writes to ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_FILES_OWNFOLDER_H
#define ATTNC_FILES_OWNFOLDER_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <sys/stat.h>

namespace mlir::attn {

/// Whether others than the user and root can change a file, or who can.
std::optional<std::string> findOtherWriter(const struct stat &status);

/// Why others could replace what lies in the folder `path`, an absolute one, with what to do
/// about it; nothing where they can't. Looks at each folder and link that leads there, as far
/// as they exist. A parent may be open to others where its sticky bit keeps them from what they
/// do not own, as in /tmp.
std::optional<std::string> findIntruder(llvm::StringRef path);

} // namespace mlir::attn

#endif // ATTNC_FILES_OWNFOLDER_H
