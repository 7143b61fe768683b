//===- Cache.cpp - attnc cache --------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cache.h"

#include "Options.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Files/OwnFolder.h"
#include "attnc/Files/TemporaryFolder.h"
#include "attnc/Files/WholeFile.h"
#include "attnc/Target/Library/Cache.h"

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

static cl::opt<bool> verifyEntries("verify", cl::cat(category()), cl::sub(cacheCommand()),
                                   cl::desc("Check every entry and delete those that are damaged"));

static constexpr llvm::StringLiteral examples = R"(
Compiled kernels are kept by content, so that compiling a spec again takes no time. The
folder is $ATTNC_CACHE, an absolute path, else $XDG_CACHE_HOME/attnc, else ~/.cache/attnc.
Nobody but you may be able to write to it: what it holds is run. Each entry is checked
when it is read, and made anew where it is damaged.

Examples:
  attnc cache                    the folder, its entries and their size
  attnc cache --max-size 500     delete the oldest entries beyond 500 MB
  attnc cache --verify           check every entry, delete those that are damaged
  attnc cache --clear            delete every entry
  ATTNC_CACHE=/tmp/c attnc compile spec.mlir -o out
)";

/// Marks a folder as a cache, also for backup tools (bford.info/cachedir).
static constexpr llvm::StringLiteral tagName = "CACHEDIR.TAG";
static constexpr llvm::StringLiteral tagText =
    "Signature: 8a477f597d28d172789f06886806bc55\n# Compiled kernels of attnc.\n";

/// ATTNC_CACHE, else attnc in the user's cache folder; empty where there is none.
static FailureOr<std::string> getCacheDir() {
  if (const char *dir = std::getenv("ATTNC_CACHE"); dir && *dir) {
    if (!path::is_absolute(dir))
      return reportError("ATTNC_CACHE", "expected an absolute path, found '" + Twine(dir) + "'");
    return std::string(dir);
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
  path::append(tag, tagName);
  return tag.str().str();
}

/// What is in the folder becomes part of libraries, and runs.
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

FailureOr<std::string> attnc::openCache() {
  FailureOr<std::string> dir = noCache ? std::string() : getCacheDir();
  if (failed(dir) || dir->empty())
    return dir;
  if (failed(checkIsOwn(*dir)))
    return failure();
  if (fs::exists(getTagPath(*dir)))
    return dir;
  if (std::error_code error = fs::create_directories(*dir, /*IgnoreExisting=*/true, fs::owner_all))
    return reportError(*dir, "cannot create the cache folder: " + error.message());
  if (failed(checkIsOwn(*dir))) // nobody was faster
    return failure();
  if (!isEmptyFolder(*dir))
    return reportError(*dir, "expected a cache folder of attnc or an empty one, found other files");
  if (failed(writeTag(*dir)))
    return failure();
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
  for (fs::directory_iterator it(dir, error, /*follow_symlinks=*/false), end; it != end && !error;
       it.increment(error)) {
    fs::file_status status;
    if (path::filename(it->path()) == tagName || fs::status(it->path(), status, false) ||
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

/// Deletes what is damaged, and files that are no entries, as older versions have left them.
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

/// An error where the folder isn't ours. There may be none yet.
static LogicalResult checkIsCache(StringRef dir) {
  if (failed(checkIsOwn(dir)))
    return failure();
  if (!fs::exists(getTagPath(dir)) && fs::exists(dir) && !isEmptyFolder(dir))
    return reportError(dir, "expected a cache folder of attnc, found other files");
  return success();
}

static LogicalResult runCache() {
  FailureOr<std::string> dir = getCacheDir();
  if (failed(dir))
    return failure();
  if (dir->empty())
    return reportError("attnc cache", "expected a cache folder: set ATTNC_CACHE or HOME");
  if (dirOnly) {
    llvm::outs() << *dir << '\n';
    return success();
  }
  if (failed(checkIsCache(*dir)))
    return failure();
  mlir::attn::removeLeftFolders(*dir);
  SmallVector<Entry> entries = listEntries(*dir);
  if (verifyEntries && failed(removeDamaged(entries)))
    return failure();
  bool bounded = maxSize.getNumOccurrences() > 0;
  if ((clear || bounded) && failed(shrink(entries, clear ? 0 : uint64_t(maxSize) << 20)))
    return failure();
  llvm::outs() << *dir << ": " << entries.size()
               << (entries.size() == 1 ? " entry, " : " entries, ")
               << llvm::format("%.1f MB\n", getSize(entries) / 1048576.0);
  return success();
}

const Command attnc::cache = {cacheCommand(), runCache, examples};
