//===- WholeFile.cpp - files that appear whole or not at all --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's writeToOutput keeps a file cut off by a full disk, and its streams end the program if
// their error is not read.
//
//===----------------------------------------------------------------------===//

#include "attnc/Files/WholeFile.h"

#include "attnc/Files/TemporaryFolder.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Signals.h"

#include <cerrno>
#include <unistd.h>

using namespace mlir::attn;
using llvm::StringRef;
using Writer = llvm::function_ref<void(llvm::raw_ostream &)>;
namespace fs = llvm::sys::fs;

/// The stream's error after writing the last byte.
static std::error_code finish(llvm::raw_fd_ostream &os) {
  os.flush();
  std::error_code error = os.error();
  os.clear_error();
  return error;
}

static std::error_code sync(int file) {
  if (::fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP)
    return {};
  return llvm::errnoAsErrorCode();
}

std::error_code mlir::attn::syncFolder(StringRef path) {
  int folder = -1;
  if (auto error = fs::openFileForRead(path, folder))
    return error;
  std::error_code error = sync(folder);
  ::close(folder);
  return error;
}

static std::error_code writeInPlace(StringRef path, Writer write) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error, fs::CD_OpenExisting);
  if (error)
    return error;
  write(os);
  return finish(os);
}

/// Creates and opens `part`, a file beside `path` that is removed by a signal.
static std::error_code createBeside(StringRef path, unsigned mode, std::string &part, int &file) {
  constexpr int kTrials = 16;
  std::error_code error;
  for (int trial = 0; trial < kTrials; ++trial) {
    part = (path + ".part-" + makeRandomDigits()).str();
    error = fs::openFileForWrite(part, file, fs::CD_CreateNew, fs::OF_None, mode);
    if (error != std::errc::file_exists)
      break;
  }
  if (!error)
    llvm::sys::RemoveFileOnSignal(part);
  return error;
}

static std::error_code writeAll(int file, Writer write, bool durable) {
  llvm::raw_fd_ostream os(file, /*shouldClose=*/true);
  write(os);
  if (std::error_code error = finish(os))
    return error;
  return durable ? sync(file) : std::error_code();
}

static std::error_code writeBeside(StringRef path, Writer write, unsigned mode, bool durable) {
  std::string part;
  int file = -1;
  if (auto error = createBeside(path, mode, part, file))
    return error;
  std::error_code error = writeAll(file, write, durable);
  if (!error)
    error = fs::rename(part, path);
  if (error)
    fs::remove(part);
  llvm::sys::DontRemoveFileOnSignal(part);
  return error;
}

static bool isSpecial(StringRef path) {
  fs::file_status status;
  return path == "-" || (!fs::status(path, status) && fs::exists(status) &&
                         status.type() != fs::file_type::regular_file &&
                         status.type() != fs::file_type::directory_file);
}

std::error_code mlir::attn::writeWholeFile(StringRef path, Writer write) {
  return isSpecial(path) ? writeInPlace(path, write)
                         : writeBeside(path, write, fs::all_read | fs::all_write, false);
}

std::error_code mlir::attn::writeDurableFile(StringRef path, Writer write) {
  return writeBeside(path, write, fs::owner_read | fs::owner_write, true);
}
