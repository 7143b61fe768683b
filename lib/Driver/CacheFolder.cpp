//===- CacheFolder.cpp - the folder of compiled kernels -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheFolder.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Files/OwnFolder.h"
#include "attnc/Files/WholeFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace mlir;
using namespace attnc;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static constexpr llvm::StringLiteral tagText =
    "Signature: 8a477f597d28d172789f06886806bc55\n# Compiled kernels of attnc.\n";

/// The folder that the user names; empty if there is none.
static StringRef getGivenDir() {
  const char *dir = std::getenv("ATTNC_CACHE");
  return dir ? dir : "";
}

FailureOr<std::string> attnc::getCacheDir() {
  if (StringRef dir = getGivenDir(); !dir.empty()) {
    if (!path::is_absolute(dir))
      return reportError("ATTNC_CACHE", "expected an absolute path, found '" + dir + "'");
    return dir.str();
  }
  SmallString<128> dir;
  if (!path::cache_directory(dir) || !path::is_absolute(dir))
    return std::string();
  path::append(dir, "attnc");
  return dir.str().str();
}

static bool isEmptyFolder(StringRef dir) {
  std::error_code error;
  return fs::directory_iterator(dir, error) == fs::directory_iterator() && !error;
}

static std::string getTagPath(StringRef dir) {
  SmallString<128> tag(dir);
  path::append(tag, kCacheTag);
  return tag.str().str();
}

/// Files of the folder become part of libraries, and run.
static LogicalResult checkIsOwn(StringRef dir) {
  std::optional<std::string> intruder = mlir::attn::findIntruder(dir);
  if (!intruder)
    return success();
  return reportError(dir, "expected a cache folder that nobody else can write to, found " +
                              *intruder +
                              "; else set ATTNC_CACHE to a folder of your own, or "
                              "give --no-cache");
}

static LogicalResult writeTag(StringRef dir) {
  auto write = [](llvm::raw_ostream &os) { os << tagText; };
  if (std::error_code error = mlir::attn::writeWholeFile(getTagPath(dir), write))
    return reportError(dir, "cannot write the cache folder: " + error.message());
  return success();
}

FailureOr<std::string> attnc::openCache(bool isUsed) {
  FailureOr<std::string> dir = isUsed ? getCacheDir() : std::string();
  if (failed(dir) || dir->empty())
    return dir;
  if (failed(checkIsOwn(*dir)))
    return failure();
  if (fs::exists(getTagPath(*dir)))
    return dir;
  if (std::error_code error = fs::create_directories(*dir, /*IgnoreExisting=*/true, fs::owner_all)) {
    if (!getGivenDir().empty())
      return reportError(*dir, "cannot create the cache folder: " + error.message());
    reportNote("nothing is cached: cannot create " + Twine(*dir) + ": " + error.message() +
               "; set ATTNC_CACHE to a folder of your own");
    return std::string();
  }
  if (failed(checkIsOwn(*dir))) // nobody else created it meanwhile
    return failure();
  if (!isEmptyFolder(*dir))
    return reportError(*dir, "expected a cache folder of attnc or an empty one, found other files");
  if (failed(writeTag(*dir)))
    return failure();
  return dir;
}

LogicalResult attnc::checkIsCache(StringRef dir) {
  if (failed(checkIsOwn(dir)))
    return failure();
  if (!fs::exists(getTagPath(dir)) && fs::exists(dir) && !isEmptyFolder(dir))
    return reportError(dir, "expected a cache folder of attnc, found other files");
  return success();
}
