//===- Files.cpp - files that appear whole or not at all ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Files.h"

#include "Report.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace attnc;
namespace fs = llvm::sys::fs;

static std::string join(StringRef folder, StringRef name) {
  SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

LogicalResult attnc::writeFile(StringRef path, StringRef text) {
  auto error = llvm::writeToOutput(path, [&](llvm::raw_ostream &os) {
    os << text;
    return llvm::Error::success();
  });
  if (error)
    return reportError(path, "cannot write: " + toString(std::move(error)));
  return success();
}

std::unique_ptr<Staging> Staging::open(StringRef folder) {
  SmallString<128> hidden;
  std::error_code error = fs::create_directories(folder, /*IgnoreExisting=*/true, fs::all_all);
  if (!error) {
    fs::createUniquePath(join(folder, ".attnc-%%%%%%%%"), hidden, /*MakeAbsolute=*/false);
    error = fs::create_directory(hidden, /*IgnoreExisting=*/false, fs::owner_all);
  }
  if (!error)
    return std::unique_ptr<Staging>(new Staging(folder, hidden));
  (void)reportError(folder, "cannot write to the output folder: " + error.message());
  return nullptr;
}

std::unique_ptr<Staging> Staging::openTemporary() {
  SmallString<128> hidden;
  std::error_code error = fs::createUniqueDirectory("attnc", hidden);
  if (!error)
    return std::unique_ptr<Staging>(new Staging("", hidden));
  (void)reportError("attnc", "cannot create a temporary folder: " + error.message());
  return nullptr;
}

Staging::~Staging() { fs::remove_directories(hidden); }

std::string Staging::add(StringRef name) {
  names.push_back(name.str());
  return join(hidden, name);
}

LogicalResult Staging::add(StringRef name, StringRef text) { return writeFile(add(name), text); }

LogicalResult Staging::addLink(StringRef name, StringRef to) {
  std::string path = add(name);
  if (std::error_code error = fs::create_link(to, path))
    return reportError(path, "cannot link to " + to + ": " + error.message());
  return success();
}

LogicalResult Staging::commit() {
  for (const std::string &name : names) {
    std::string path = join(folder, name);
    if (std::error_code error = fs::rename(join(hidden, name), path))
      return reportError(path, "cannot write: " + error.message());
    llvm::outs() << path << '\n';
  }
  return success();
}

LogicalResult Staging::print() {
  for (const std::string &name : names) {
    auto file = llvm::MemoryBuffer::getFile(join(hidden, name));
    if (!file)
      return reportError(name, "cannot read: " + file.getError().message());
    llvm::outs() << (*file)->getBuffer();
  }
  return success();
}
