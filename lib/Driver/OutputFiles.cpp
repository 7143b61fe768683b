//===- OutputFiles.cpp - files that appear whole or not at all ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputFiles.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Files/WholeFile.h"

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

static LogicalResult writeWhole(StringRef path,
                                llvm::function_ref<void(llvm::raw_ostream &)> write) {
  if (std::error_code error = mlir::attn::writeWholeFile(path, write))
    return reportError(mlir::attn::getFinalPath(path), "cannot write: " + error.message());
  return success();
}

LogicalResult attnc::writeFile(StringRef path, StringRef text) {
  return writeWhole(path, [&](llvm::raw_ostream &os) { os << text; });
}

LogicalResult attnc::writeTensors(StringRef path, ArrayRef<mlir::attn::NamedTensor> tensors) {
  return writeWhole(path, [&](llvm::raw_ostream &os) {
    os << mlir::attn::makeSafetensorsHeader(tensors);
    for (const mlir::attn::NamedTensor &tensor : tensors)
      os << tensor.data;
  });
}

std::unique_ptr<Staging> Staging::open(StringRef folder) {
  std::error_code error = fs::create_directories(folder, /*IgnoreExisting=*/true, fs::all_all);
  if (!error) {
    auto hidden = TemporaryFolder::create(folder);
    if (hidden)
      return std::unique_ptr<Staging>(new Staging(folder, std::move(*hidden)));
    error = hidden.getError();
  }
  (void)reportError(folder, "cannot write to the output folder: " + error.message());
  return nullptr;
}

std::unique_ptr<Staging> Staging::openTemporary() {
  auto hidden = TemporaryFolder::create();
  if (hidden)
    return std::unique_ptr<Staging>(new Staging("", std::move(*hidden)));
  (void)reportError("attnc", "cannot create a temporary folder: " + hidden.getError().message());
  return nullptr;
}

std::string Staging::add(StringRef name) {
  files.push_back({name.str(), ""});
  return hidden->file(name);
}

LogicalResult Staging::add(StringRef name, StringRef text) { return writeFile(add(name), text); }

void Staging::addLink(StringRef name, StringRef to) { files.push_back({name.str(), to.str()}); }

LogicalResult Staging::commit() {
  for (const File &file : files) // a file can be replaced, a folder can't
    if (std::string path = join(folder, file.name); fs::is_directory(path))
      return reportError(path, "cannot write: a folder of this name exists");
  for (const File &file : files) {
    std::string path = join(folder, file.name), from = hidden->file(file.name);
    std::error_code error;
    if (!file.linkTo.empty()) // made so late, for a signal removes no links
      error = fs::create_link(file.linkTo, from);
    if (!error)
      error = fs::rename(from, path);
    if (error)
      return reportError(path, "cannot write: " + error.message());
    llvm::outs() << path << '\n';
  }
  return success();
}

LogicalResult Staging::print() {
  for (const File &file : files) {
    auto text = llvm::MemoryBuffer::getFile(hidden->file(file.name));
    if (!text)
      return reportError(file.name, "cannot read: " + text.getError().message());
    llvm::outs() << (*text)->getBuffer();
  }
  return success();
}
