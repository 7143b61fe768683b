//===- Cache.cpp - attnc cache --------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cache.h"

#include "Options.h"
#include "Report.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace mlir;
using namespace attnc;
namespace cl = llvm::cl;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static cl::opt<bool> clear("clear", cl::desc("Delete every entry"), cl::cat(category()),
                           cl::sub(cacheCommand()));
static cl::opt<bool> dirOnly("dir", cl::desc("Print the folder and nothing else"),
                             cl::cat(category()), cl::sub(cacheCommand()));
static cl::opt<unsigned> maxSize("max-size", cl::value_desc("MB"), cl::cat(category()),
                                 cl::desc("Delete the oldest entries until the rest fits"),
                                 cl::sub(cacheCommand()));

static constexpr llvm::StringLiteral examples = R"(
Compiled kernels are kept by content, so that compiling a spec again takes no time. The
folder is $ATTNC_CACHE, else $XDG_CACHE_HOME/attnc, else ~/.cache/attnc.

Examples:
  attnc cache                    the folder, its entries and their size
  attnc cache --max-size 500     delete the oldest entries beyond 500 MB
  attnc cache --clear            delete every entry
  ATTNC_CACHE=/tmp/c attnc compile spec.mlir -o out
)";

/// Marks a folder as a cache, also for backup tools (bford.info/cachedir).
static constexpr llvm::StringLiteral tagName = "CACHEDIR.TAG";
static constexpr llvm::StringLiteral tagText =
    "Signature: 8a477f597d28d172789f06886806bc55\n# Compiled kernels of attnc.\n";

std::string attnc::getCacheDir() {
  if (const char *dir = std::getenv("ATTNC_CACHE"); dir && *dir)
    return dir;
  SmallString<128> dir;
  if (!path::cache_directory(dir))
    return "";
  path::append(dir, "attnc");
  return dir.str().str();
}

static bool isEmptyFolder(StringRef dir) {
  std::error_code error;
  return fs::directory_iterator(dir, error) == fs::directory_iterator() && !error;
}

static std::string getTagPath(StringRef dir) {
  SmallString<128> tag(dir);
  path::append(tag, tagName);
  return tag.str().str();
}

FailureOr<std::string> attnc::openCache() {
  std::string dir = noCache ? "" : getCacheDir();
  if (dir.empty() || fs::exists(getTagPath(dir)))
    return dir;
  if (std::error_code error = fs::create_directories(dir))
    return reportError(dir, "cannot create the cache folder: " + error.message());
  if (!isEmptyFolder(dir))
    return reportError(dir, "expected a cache folder of attnc or an empty one, found other files");
  auto error = llvm::writeToOutput(getTagPath(dir), [](llvm::raw_ostream &os) {
    os << tagText;
    return llvm::Error::success();
  });
  if (error)
    return reportError(dir, "cannot write the cache folder: " + toString(std::move(error)));
  return dir;
}

//===----------------------------------------------------------------------===//
// attnc cache
//===----------------------------------------------------------------------===//

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
  for (fs::recursive_directory_iterator it(dir, error, /*follow_symlinks=*/false), end;
       it != end && !error; it.increment(error)) {
    fs::file_status status;
    if (path::filename(it->path()) == tagName || fs::status(it->path(), status, false) ||
        status.type() != fs::file_type::regular_file)
      continue;
    entries.push_back({it->path(), status.getSize(),
                       std::max(status.getLastAccessedTime(), status.getLastModificationTime())});
  }
  return entries;
}

/// Deletes the oldest entries until at most `bytes` are left.
static LogicalResult shrink(SmallVector<Entry> &entries, uint64_t bytes) {
  llvm::sort(entries, [](const Entry &a, const Entry &b) { return a.used > b.used; });
  uint64_t size = 0;
  for (const Entry &entry : entries)
    size += entry.size;
  while (!entries.empty() && size > bytes) {
    if (std::error_code error = fs::remove(entries.back().path))
      return reportError(entries.back().path, "cannot delete: " + error.message());
    size -= entries.back().size;
    entries.pop_back();
  }
  return success();
}

static LogicalResult runCache() {
  std::string dir = getCacheDir();
  if (dir.empty())
    return reportError("attnc cache", "expected a cache folder: set ATTNC_CACHE or HOME");
  if (dirOnly) {
    llvm::outs() << dir << '\n';
    return success();
  }
  bool ours = fs::exists(getTagPath(dir));
  if (!ours && fs::exists(dir) && !isEmptyFolder(dir))
    return reportError(dir, "expected a cache folder of attnc, found other files");
  SmallVector<Entry> entries = listEntries(dir);
  bool bounded = maxSize.getNumOccurrences() > 0;
  if ((clear || bounded) && failed(shrink(entries, clear ? 0 : uint64_t(maxSize) << 20)))
    return failure();
  uint64_t size = 0;
  for (const Entry &entry : entries)
    size += entry.size;
  llvm::outs() << dir << ": " << entries.size() << (entries.size() == 1 ? " entry, " : " entries, ")
               << llvm::format("%.1f MB\n", size / 1048576.0);
  return success();
}

const Command attnc::cache = {cacheCommand(), runCache, examples};
