//===- Cache.cpp - attnc cache --------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "attnc/Diagnostics/Report.h"

using namespace mlir;
using namespace attnc;
namespace cl = llvm::cl;

static cl::opt<bool> clear("clear", cl::desc("Delete every entry"), cl::cat(category()),
                           cl::sub(cacheCommand()));
static cl::opt<bool> dirOnly("dir", cl::desc("Print the folder and nothing else"),
                             cl::cat(category()), cl::sub(cacheCommand()));
static cl::opt<unsigned> maxSize("max-size", cl::value_desc("MB"), cl::cat(category()),
                                 cl::desc("Delete the oldest entries down to this size"),
                                 cl::sub(cacheCommand()));

static cl::opt<bool> verifyEntries("verify", cl::cat(category()), cl::sub(cacheCommand()),
                                   cl::desc("Check every entry and delete damaged ones"));

static constexpr llvm::StringLiteral examples = R"(
Compiled kernels are cached by content hash, so that compiling a spec again takes no time. The
folder is $ATTNC_CACHE, an absolute path, else $XDG_CACHE_HOME/attnc, else ~/.cache/attnc.
Nobody but you may be able to write to it: its files are run. Each entry is checked
when it is read, and compiled again if it is damaged.

Examples:
  attnc cache                    the folder, its entries and their size
  attnc cache --max-size 500     delete the oldest entries beyond 500 MB
  attnc cache --verify           check every entry, delete damaged ones
  attnc cache --clear            delete every entry
  ATTNC_CACHE=/tmp/c attnc compile spec.mlir -o out
)";

static LogicalResult runCache() {
  if (dirOnly && (clear || verifyEntries || maxSize.getNumOccurrences() > 0))
    return reportUsage("--dir", "expected no other option of cache with it");
  CacheInvocation invocation;
  invocation.clear = clear;
  invocation.dirOnly = dirOnly;
  invocation.verify = verifyEntries;
  if (maxSize.getNumOccurrences() > 0)
    invocation.maxBytes = uint64_t(maxSize) << 20;
  return manageCache(invocation);
}

const Command commands::cache = {cacheCommand(), runCache, examples};
