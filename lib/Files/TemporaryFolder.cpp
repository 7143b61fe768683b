//===- TemporaryFolder.cpp - files that do not outlive a scope ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On a fatal signal, LLVM's handler removes the files and passes the signal on to ours, which
// removes the then empty folders. Neither may list a folder: a handler can't call functions that
// allocate.
//
//===----------------------------------------------------------------------===//

#include "attnc/Files/TemporaryFolder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir::attn;
namespace fs = llvm::sys::fs;

//===----------------------------------------------------------------------===//
// Signals
//===----------------------------------------------------------------------===//

/// The temporary folders. Those beyond the array's size are not removed by a signal.
static std::atomic<const char *> folders[16];

static void replaceFolder(const char *old, const char *path) {
  for (std::atomic<const char *> &folder : folders) {
    const char *expected = old;
    if (folder.compare_exchange_strong(expected, path))
      return;
  }
}

/// Whether none is left that is not empty.
static bool removeEmptyFolders() {
  bool areEmpty = true;
  for (std::atomic<const char *> &folder : folders)
    if (const char *path = folder; path && ::rmdir(path) != 0)
      areEmpty &= errno != ENOTEMPTY;
  return areEmpty;
}

/// Other threads may still write files.
void mlir::attn::removeTemporaryFolders() {
  constexpr int kTrials = 50;
  constexpr timespec kMillisecond = {0, 1'000'000};
  for (int trial = 0; trial < kTrials; ++trial) {
    llvm::sys::RunInterruptHandlers(); // removes the files
    if (removeEmptyFolders())
      return;
    ::nanosleep(&kMillisecond, nullptr);
  }
}

static void removeFolders(int signal) {
  removeTemporaryFolders();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void mlir::attn::removeTemporaryFoldersOnSignal() {
  for (int signal : {SIGHUP, SIGINT, SIGTERM})
    if (::signal(signal, removeFolders) == SIG_IGN)
      ::signal(signal, SIG_IGN);
  // Installs LLVM's handlers, which replace earlier ones.
  bool endsByPipe = ::signal(SIGPIPE, SIG_DFL) != SIG_IGN;
  llvm::sys::SetOneShotPipeSignalFunction(endsByPipe ? +[] { removeFolders(SIGPIPE); } : nullptr);
  if (!endsByPipe)
    ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

//===----------------------------------------------------------------------===//
// Locks
//===----------------------------------------------------------------------===//

// A folder is locked until the process that made it ends, in any way.

static constexpr llvm::StringLiteral kPrefix = ".attnc-";
static constexpr size_t kRandomDigits = 8;

static bool isHiddenName(llvm::StringRef name) {
  return name.consume_front(kPrefix) && name.size() == kRandomDigits &&
         llvm::all_of(name, llvm::isHexDigit);
}

/// Opens a folder of the user's own that is not a link; -1 otherwise.
static int openFolder(llvm::StringRef path) {
  int folder = ::open(path.str().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status;
  if (folder >= 0 && (::fstat(folder, &status) != 0 || status.st_uid != ::geteuid())) {
    ::close(folder);
    return -1;
  }
  return folder;
}

static bool isThere(llvm::StringRef path, int folder) {
  struct stat open, named;
  return ::fstat(folder, &open) == 0 && ::lstat(path.str().c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

void mlir::attn::removeLeftFolders(llvm::StringRef parent) {
  std::error_code error;
  for (fs::directory_iterator it(parent, error, /*follow_symlinks=*/false), end;
       it != end && !error; it.increment(error)) {
    if (!isHiddenName(llvm::sys::path::filename(it->path())))
      continue;
    int folder = openFolder(it->path());
    if (folder < 0)
      continue;
    if (::flock(folder, LOCK_EX | LOCK_NB) == 0 && isThere(it->path(), folder))
      fs::remove_directories(it->path());
    ::close(folder);
  }
}

/// Creates `path` and locks it before another program takes it for an abandoned one.
static std::error_code createLocked(llvm::StringRef path, int &lock) {
  if (std::error_code error = fs::create_directory(path, false, fs::owner_all))
    return error;
  lock = openFolder(path);
  bool isLocked = lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) == 0;
  bool hasNoLocks = lock >= 0 && !isLocked && errno != EWOULDBLOCK;
  if (isLocked && isThere(path, lock))
    return {};
  if (lock >= 0)
    ::close(lock);
  lock = -1;
  return hasNoLocks ? std::error_code() : std::make_error_code(std::errc::file_exists);
}

std::string mlir::attn::getFinalPath(llvm::StringRef path) {
  llvm::SmallString<128> result;
  for (auto part = llvm::sys::path::begin(path), end = llvm::sys::path::end(path); part != end;
       ++part)
    if (!isHiddenName(*part))
      llvm::sys::path::append(result, *part);
  return result.str().str();
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

std::string mlir::attn::makeRandomDigits() {
  llvm::SmallString<kRandomDigits> digits;
  fs::createUniquePath(std::string(kRandomDigits, '%'), digits, /*MakeAbsolute=*/false);
  return digits.str().str();
}

/// A signal removes a folder from before it is made on.
TemporaryFolder::TemporaryFolder(std::string path) : path(std::move(path)) {
  replaceFolder(nullptr, this->path.c_str());
}

TemporaryFolder::~TemporaryFolder() {
  if (isMade)
    fs::remove_directories(path);
  replaceFolder(path.c_str(), nullptr);
  if (lock >= 0)
    ::close(lock);
  for (const std::string &name : files)
    llvm::sys::DontRemoveFileOnSignal(name);
}

llvm::ErrorOr<std::unique_ptr<TemporaryFolder>>
TemporaryFolder::createNamed(llvm::StringRef prefix) {
  constexpr int kTrials = 16;
  std::error_code error;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::unique_ptr<TemporaryFolder> folder(new TemporaryFolder(prefix.str() + makeRandomDigits()));
    error = createLocked(folder->path, folder->lock);
    folder->isMade = !error;
    if (folder->isMade)
      return folder;
    if (error != std::errc::file_exists)
      break;
  }
  return error;
}

llvm::ErrorOr<std::unique_ptr<TemporaryFolder>> TemporaryFolder::create() {
  llvm::SmallString<128> parent;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, parent);
  llvm::sys::path::append(parent, "attnc-");
  return createNamed(parent);
}

llvm::ErrorOr<std::unique_ptr<TemporaryFolder>> TemporaryFolder::create(llvm::StringRef parent) {
  removeLeftFolders(parent);
  llvm::SmallString<128> prefix(parent);
  llvm::sys::path::append(prefix, kPrefix);
  return createNamed(prefix);
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

std::string TemporaryFolder::fileByDescriptor(llvm::StringRef name) {
  std::string path = file(name);
  return lock < 0 ? path : ("/proc/self/fd/" + llvm::Twine(lock) + "/" + name).str();
}
