//===- OwnFolder.h - folders only the user can write ------------*- C++ -*-===//
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

/// Names who besides the user and root can change a file; none if nobody.
std::optional<std::string> findOtherWriter(const struct stat &status);

/// Explains why others could replace files in the absolute folder `path`, and how to mend it; none
/// if they can't. Checks every existing folder and link on the path. A parent may be writable by
/// others if its sticky bit protects files of other owners, as in /tmp.
std::optional<std::string> findIntruder(llvm::StringRef path);

} // namespace mlir::attn

#endif // ATTNC_FILES_OWNFOLDER_H
