//===- TemporaryFolder.cpp - files that do not outlive a scope ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a signal ends the program, LLVM's handler removes files, and ours, to which it hands
// the signal on, the folders that are empty then. Neither may look into a folder: a handler
// calls no function that allocates.
//
//===----------------------------------------------------------------------===//

#include "attnc/Target/Library/TemporaryFolder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

#include <atomic>
#include <csignal>
#include <unistd.h>

using namespace mlir::attn;
namespace fs = llvm::sys::fs;

//===----------------------------------------------------------------------===//
// Signals
//===----------------------------------------------------------------------===//

/// The folders that there are. What finds no room is not removed by a signal.
static std::atomic<const char *> folders[16];

static void replaceFolder(const char *old, const char *path) {
  for (std::atomic<const char *> &folder : folders) {
    const char *expected = old;
    if (folder.compare_exchange_strong(expected, path))
      return;
  }
}

static void removeFolders(int signal) {
  for (std::atomic<const char *> &folder : folders)
    if (const char *path = folder)
      ::rmdir(path);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void mlir::attn::removeTemporaryFoldersOnSignal() {
  for (int signal : {SIGHUP, SIGINT, SIGTERM})
    if (::signal(signal, removeFolders) == SIG_IGN)
      ::signal(signal, SIG_IGN);
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

llvm::ErrorOr<std::unique_ptr<TemporaryFolder>> TemporaryFolder::create() {
  llvm::SmallString<128> path;
  if (std::error_code error = fs::createUniqueDirectory("attnc", path))
    return error;
  return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(path));
}

llvm::ErrorOr<std::unique_ptr<TemporaryFolder>> TemporaryFolder::create(llvm::StringRef parent) {
  llvm::SmallString<128> model(parent), path;
  llvm::sys::path::append(model, ".attnc-%%%%%%%%");
  fs::createUniquePath(model, path, /*MakeAbsolute=*/false);
  if (std::error_code error = fs::create_directory(path, /*IgnoreExisting=*/false, fs::owner_all))
    return error;
  return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(path));
}

TemporaryFolder::TemporaryFolder(llvm::StringRef path) : path(path) {
  replaceFolder(nullptr, this->path.c_str());
}

TemporaryFolder::~TemporaryFolder() {
  fs::remove_directories(path);
  replaceFolder(path.c_str(), nullptr);
  for (const std::string &name : files)
    llvm::sys::DontRemoveFileOnSignal(name);
}

std::string TemporaryFolder::file(llvm::StringRef name) {
  llvm::SmallString<128> joined(path);
  llvm::sys::path::append(joined, name);
  std::string file = joined.str().str();
  if (!llvm::is_contained(files, file)) {
    llvm::sys::RemoveFileOnSignal(file);
    files.push_back(file);
  }
  return file;
}
