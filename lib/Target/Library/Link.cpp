//===- Link.cpp - objects into libraries
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// lld and objcopy as libraries. Two things make libraries that live beside each
// other and beside a host's own Halide: every symbol but the public ones is made
// local, and section groups, which linkers would merge across libraries by
// their names, are dissolved.
//
//===----------------------------------------------------------------------===//

#include "Link.h"

#include "Signature.h"

#include "attnc/Target/Library/Library.h"

#include "lld/Common/Driver.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/StringSaver.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;
using namespace mlir::attn;

static LogicalResult report(llvm::Error error, Location loc, const Twine &what) {
  if (!error)
    return success();
  return emitError(loc) << what << ": " << llvm::toString(std::move(error));
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

std::unique_ptr<TemporaryFolder> attn::createTemporaryFolder(Location loc) {
  auto folder = TemporaryFolder::create();
  if (folder)
    return std::move(*folder);
  emitError(loc) << "could not make a temporary folder: " << folder.getError().message();
  return nullptr;
}

LogicalResult attn::writeFile(StringRef path, StringRef bytes, Location loc) {
  auto write = [&](raw_ostream &os) {
    os << bytes;
    return llvm::Error::success();
  };
  return report(llvm::writeToOutput(path, write), loc, "could not write " + path);
}

FailureOr<std::string> attn::readFile(StringRef path, Location loc) {
  auto buffer = llvm::MemoryBuffer::getFile(path, false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return emitError(loc) << "could not read " << path << ": " << buffer.getError().message();
  return (*buffer)->getBuffer().str();
}

//===----------------------------------------------------------------------===//
// lld
//===----------------------------------------------------------------------===//

/// lld has global state: one link at a time, none after one that crashed.
static LogicalResult runLinker(ArrayRef<std::string> arguments, Location loc) {
  static std::mutex mutex;
  static bool usable = true;
  std::lock_guard<std::mutex> lock(mutex);
  if (!usable)
    return emitError(loc, "could not link: an earlier link crashed");
  std::vector<const char *> words{"ld.lld", "--threads=1"};
  for (const std::string &argument : arguments)
    words.push_back(argument.c_str());
  std::string output;
  llvm::raw_string_ostream os(output);
  lld::Result result = lld::lldMain(words, os, os, {{lld::Gnu, &lld::elf::link}});
  usable = result.canRunAgain;
  if (result.retCode != 0)
    return emitError(loc) << "could not link: " << StringRef(output).rtrim();
  return success();
}

//===----------------------------------------------------------------------===//
// objcopy
//===----------------------------------------------------------------------===//

static llvm::Error addName(llvm::objcopy::NameMatcher &matcher, StringRef name) {
  using namespace llvm::objcopy;
  return matcher.addMatcher(
      NameOrPattern::create(name, MatchStyle::Literal, [](llvm::Error e) { return e; }));
}

/// The runtime's symbols of an object: those that it defines where it is the runtime, and
/// those that it asks for where that lies outside.
static llvm::Expected<std::vector<std::string>>
findRuntimeSymbols(const llvm::object::ObjectFile &object, Runtime runtime) {
  using llvm::object::SymbolRef;
  std::vector<std::string> names;
  for (SymbolRef symbol : object.symbols()) {
    auto name = symbol.getName();
    auto flags = symbol.getFlags();
    if (!name)
      return name.takeError();
    if (!flags)
      return flags.takeError();
    bool isWanted = ((*flags & SymbolRef::SF_Undefined) != 0) == (runtime == Runtime::outside);
    if ((*flags & SymbolRef::SF_Global) && isWanted && name->starts_with("halide_"))
      names.push_back(name->str());
  }
  return names;
}

/// Libraries that share a runtime know it by names of this interface's version, apart from
/// those of a host's own Halide.
static llvm::Error shareRuntime(llvm::objcopy::CommonConfig &config,
                                const llvm::object::ObjectFile &object, Runtime runtime,
                                llvm::StringSaver &strings) {
  auto names = findRuntimeSymbols(object, runtime);
  if (!names)
    return names.takeError();
  for (const std::string &each : *names) {
    StringRef name = strings.save(each); // matchers don't own theirs
    config.SymbolsToRename[name] = strings.save("attnc" + Twine(abiVersion) + "_" + name);
    if (auto error = addName(config.SymbolsToKeepGlobal, name))
      return error;
  }
  return llvm::Error::success();
}

/// Makes all but `symbols` local and drops what only a debugger would ask for.
static llvm::Expected<std::string> localise(StringRef object, ArrayRef<std::string> symbols,
                                            Runtime runtime) {
  llvm::objcopy::ConfigManager config;
  llvm::BumpPtrAllocator memory;
  llvm::StringSaver strings(memory);
  for (const std::string &symbol : symbols)
    if (auto error = addName(config.Common.SymbolsToKeepGlobal, symbol))
      return error;
  if (auto error = addName(config.Common.ToRemove, ".comment"))
    return error;
  config.Common.StripUnneeded = true;
  auto binary = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "object"));
  if (!binary)
    return binary.takeError();
  if (runtime != Runtime::inside)
    if (auto error = shareRuntime(config.Common, **binary, runtime, strings))
      return error;
  SmallString<0> bytes;
  llvm::raw_svector_ostream os(bytes);
  if (auto error = llvm::objcopy::executeObjcopyOnBinary(config, **binary, os))
    return error;
  return bytes.str().str();
}

FailureOr<std::string> attn::linkObjects(ArrayRef<std::string> paths, ArrayRef<std::string> symbols,
                                         Runtime runtime, TemporaryFolder &folder, Location loc) {
  std::string linked = folder.file("linked.o");
  std::vector<std::string> arguments{"-r", "--force-group-allocation", "-o", linked};
  if (runtime != Runtime::alone) // which can't know what will be asked of it
    arguments.push_back("--gc-sections");
  for (const std::string &symbol : symbols)
    arguments.push_back("--undefined=" + symbol);
  llvm::append_range(arguments, paths);
  if (failed(runLinker(arguments, loc)))
    return failure();
  FailureOr<std::string> object = readFile(linked, loc);
  if (failed(object))
    return failure();
  auto localised = localise(*object, symbols, runtime);
  if (!localised)
    return report(localised.takeError(), loc, "could not localise symbols");
  return std::move(*localised);
}

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

LogicalResult attn::writeStaticLibrary(const Library &library, StringRef path, Location loc) {
  std::string member = library.name + ".o";
  std::vector<llvm::NewArchiveMember> members;
  members.emplace_back(llvm::MemoryBufferRef(library.object, member));
  return report(llvm::writeArchive(path, members, llvm::SymtabWritingMode::NormalSymtab,
                                   llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                   /*Thin=*/false),
                loc, "could not write " + path);
}

std::string attn::getSharedFileName(StringRef name) {
  return ("lib" + name + ".so." + Twine(abiVersion)).str();
}

LogicalResult attn::writeSharedLibrary(const Library &library, StringRef path, Location loc) {
  std::unique_ptr<TemporaryFolder> folder = createTemporaryFolder(loc);
  if (!folder)
    return failure();
  std::string object = folder->file("library.o"), shared = folder->file("library.so");
  if (failed(writeFile(object, library.object, loc)) ||
      failed(runLinker({"-shared", "--gc-sections", "--hash-style=gnu", "-z", "now", "-soname",
                        getSharedFileName(library.name), "-o", shared, object},
                       loc)))
    return failure();
  FailureOr<std::string> bytes = readFile(shared, loc);
  if (failed(bytes))
    return failure();
  return writeFile(path, *bytes, loc);
}
