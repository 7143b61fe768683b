//===- Cache.cpp - attnc cache --------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Target/Library/Cache.h"

#include "CacheFolder.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Driver/Driver.h"
#include "attnc/Files/TemporaryFolder.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace attnc;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace {
struct Entry {
  std::string path;
  uint64_t size;
  llvm::sys::TimePoint<> used;
};
} // namespace

static SmallVector<Entry> listEntries(StringRef dir) {
  SmallVector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(dir, error, /*follow_symlinks=*/false), end; it != end && !error;
       it.increment(error)) {
    fs::file_status status;
    if (path::filename(it->path()) == kCacheTag || fs::status(it->path(), status, false) ||
        status.type() == fs::file_type::directory_file)
      continue;
    entries.push_back({it->path(), status.getSize(),
                       std::max(status.getLastAccessedTime(), status.getLastModificationTime())});
  }
  return entries;
}

static LogicalResult removeEntry(const Entry &entry) {
  if (std::error_code error = fs::remove(entry.path))
    return reportError(entry.path, "cannot delete: " + error.message());
  return success();
}

static uint64_t getSize(ArrayRef<Entry> entries) {
  uint64_t size = 0;
  for (const Entry &entry : entries)
    size += entry.size;
  return size;
}

/// Deletes damaged entries, and files that are not entries, such as those of older versions.
static LogicalResult removeDamaged(SmallVector<Entry> &entries) {
  SmallVector<Entry> good;
  for (const Entry &entry : entries) {
    auto bytes = mlir::attn::readCacheEntry(entry.path);
    if (bytes) {
      good.push_back(entry);
      continue;
    }
    llvm::outs() << entry.path << ": deleted: " << toString(bytes.takeError()) << '\n';
    if (failed(removeEntry(entry)))
      return failure();
  }
  entries = std::move(good);
  return success();
}

/// Deletes the oldest entries until at most `bytes` are left.
static LogicalResult shrink(SmallVector<Entry> &entries, uint64_t bytes) {
  llvm::sort(entries, [](const Entry &a, const Entry &b) { return a.used > b.used; });
  uint64_t size = getSize(entries);
  while (!entries.empty() && size > bytes) {
    if (failed(removeEntry(entries.back())))
      return failure();
    size -= entries.back().size;
    entries.pop_back();
  }
  return success();
}

LogicalResult attnc::manageCache(const CacheInvocation &invocation) {
  FailureOr<std::string> dir = getCacheDir();
  if (failed(dir))
    return failure();
  if (dir->empty())
    return reportError("attnc cache", "expected a cache folder: set ATTNC_CACHE or HOME");
  if (invocation.dirOnly) {
    llvm::outs() << *dir << '\n';
    return success();
  }
  if (failed(checkIsCache(*dir)))
    return failure();
  mlir::attn::removeLeftFolders(*dir);
  SmallVector<Entry> entries = listEntries(*dir);
  if (invocation.verify && failed(removeDamaged(entries)))
    return failure();
  if (invocation.clear && failed(shrink(entries, 0)))
    return failure();
  if (invocation.maxBytes && failed(shrink(entries, *invocation.maxBytes)))
    return failure();
  llvm::outs() << *dir << ": " << entries.size()
               << (entries.size() == 1 ? " entry, " : " entries, ")
               << llvm::format("%.1f MB\n", getSize(entries) / 1048576.0);
  return success();
}
