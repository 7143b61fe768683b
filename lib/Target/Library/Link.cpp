//===- Link.cpp - objects into libraries
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// lld and objcopy as libraries. So that libraries can coexist with each other and with a host's own
// Halide, every symbol but the public ones is made local, and section groups, which linkers would
// merge across libraries by name, are dissolved.
//
//===----------------------------------------------------------------------===//

#include "Link.h"

#include "Signature.h"

#include "attnc/Files/WholeFile.h"
#include "attnc/Target/Library/Library.h"

#include "lld/Common/Driver.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ELF.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/StringSaver.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;
using namespace mlir::attn;
namespace cl = llvm::cl;

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

std::string FileContent::sha256() const {
  llvm::SHA256 state;
  state.update(start);
  for (StringRef part : parts)
    state.update(part);
  return llvm::toHex(state.final(), /*LowerCase=*/true);
}

LogicalResult FileContent::write(StringRef path, Location loc) const {
  auto write = [&](raw_ostream &os) {
    os << start;
    for (StringRef part : parts)
      os << part;
  };
  return report(llvm::errorCodeToError(writeWholeFile(path, write)), loc,
                "could not write " + getFinalPath(path));
}

LogicalResult attn::writeFile(StringRef path, StringRef bytes, Location loc) {
  return FileContent{/*start=*/"", {bytes}}.write(path, loc);
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

namespace {
/// Hides LLVM's command line options from lld, which resets all that it finds: the program's, and
/// LLVM's own, which others may have set.
class HiddenOptions {
public:
  HiddenOptions() {
    for (cl::SubCommand *command : cl::getRegisteredSubcommands())
      swap(*command, hidden[command]);
  }
  ~HiddenOptions() {
    for (auto &[command, options] : hidden)
      swap(*command, options);
  }

private:
  struct Options {
    decltype(cl::SubCommand::PositionalOpts) positional;
    decltype(cl::SubCommand::SinkOpts) sinks;
    decltype(cl::SubCommand::OptionsMap) named;
    cl::Option *consumeAfter = nullptr;
  };

  static void swap(cl::SubCommand &command, Options &options) {
    std::swap(command.PositionalOpts, options.positional);
    std::swap(command.SinkOpts, options.sinks);
    std::swap(command.OptionsMap, options.named);
    std::swap(command.ConsumeAfterOpt, options.consumeAfter);
  }

  std::map<cl::SubCommand *, Options> hidden;
};
} // namespace

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
  HiddenOptions hidden;
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

/// The runtime's symbols in an object: its definitions if it is the runtime, its references if the
/// runtime is outside.
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
    bool isOfRuntime = name->starts_with("halide_") || name->starts_with("attnc_");
    if ((*flags & SymbolRef::SF_Global) && isWanted && isOfRuntime)
      names.push_back(name->str());
  }
  return names;
}

/// Renames the symbols of a shared runtime with this interface's version, apart from those of a
/// host's own Halide.
static llvm::Error shareRuntime(llvm::objcopy::CommonConfig &config,
                                const llvm::object::ObjectFile &object, Runtime runtime,
                                llvm::StringSaver &strings) {
  auto names = findRuntimeSymbols(object, runtime);
  if (!names)
    return names.takeError();
  for (const std::string &each : *names) {
    StringRef name = strings.save(each); // matchers don't own theirs
    StringRef suffix = name;
    suffix.consume_front("attnc_");
    config.SymbolsToRename[name] = strings.save("attnc" + Twine(abiVersion) + "_" + suffix);
    if (auto error = addName(config.SymbolsToKeepGlobal, name))
      return error;
  }
  return llvm::Error::success();
}

/// The code generator's name for the section of kConstantsName, which has no bytes yet, and the
/// linker's name for read-only data.
static constexpr StringLiteral kEmptySection = ".bss.attnc_constants";
static constexpr StringLiteral kConstantsSection = ".rodata.attnc_constants";

/// Makes all symbols but `symbols` local, and strips debug-only content.
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
  config.Common.SectionsToRename[kEmptySection] = {kEmptySection, kConstantsSection,
                                                   llvm::objcopy::SectionFlag::SecAlloc |
                                                       llvm::objcopy::SectionFlag::SecReadonly};
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
  std::vector<std::string> arguments{"-r", "--force-group-allocation", "-o",
                                     folder.fileByDescriptor("linked.o")};
  if (runtime != Runtime::alone) // a runtime can't know which functions will be called
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
// Constants
//===----------------------------------------------------------------------===//

/// The header of the constants' section in `object`, writable; null without one.
static llvm::Expected<llvm::ELF::Elf64_Shdr *> findConstants(std::string &object) {
  auto file = llvm::object::ELF64LEFile::create(object);
  if (!file)
    return file.takeError();
  auto sections = file->sections();
  if (!sections)
    return sections.takeError();
  for (const auto &section : *sections) {
    auto name = file->getSectionName(section);
    if (!name)
      return name.takeError();
    size_t offset = reinterpret_cast<const char *>(&section) - object.data();
    if (*name == kConstantsSection)
      return reinterpret_cast<llvm::ELF::Elf64_Shdr *>(object.data() + offset);
  }
  return nullptr;
}

FailureOr<FileContent> attn::fillConstants(std::string object, const Constants &constants,
                                           Location loc) {
  if (constants.parts.empty())
    return FileContent{std::move(object)};
  // Sections may be anywhere in an object: append this one.
  object.resize(llvm::alignTo(object.size(), kConstantsAlignment));
  auto section = findConstants(object);
  if (!section)
    return report(section.takeError(), loc, "could not read the object");
  if (!*section) // the linker drops constants that only tensors without elements are computed from
    return FileContent{std::move(object)};
  if ((*section)->sh_size != constants.bytes)
    return emitError(loc) << "expected " << constants.bytes
                          << " bytes for constants in the object, found " << (*section)->sh_size;
  (*section)->sh_type = llvm::ELF::SHT_PROGBITS;
  (*section)->sh_offset = object.size();
  return FileContent{std::move(object), constants.parts, constants.owner};
}

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

/// A folder beside `path`, from which a rename moves a file to `path`.
static std::unique_ptr<TemporaryFolder> createFolderBeside(StringRef path, Location loc) {
  StringRef parent = llvm::sys::path::parent_path(path);
  auto folder = TemporaryFolder::create(parent.empty() ? "." : parent);
  if (folder)
    return std::move(*folder);
  emitError(loc) << "could not make a folder beside " << path << ": "
                 << folder.getError().message();
  return nullptr;
}

/// Reserves space for the constants of `object` after `archive`, which ends with the object's
/// start.
static void growLastMember(std::string &archive, const FileContent &object) {
  using Header = llvm::object::UnixArMemHdrType;
  auto *header = reinterpret_cast<Header *>(archive.data() + archive.size() - object.start.size() -
                                            sizeof(Header));
  size_t bytes = object.start.size();
  for (StringRef part : object.parts)
    bytes += part.size();
  std::string text = std::to_string(bytes);
  text.resize(sizeof(header->Size), ' ');
  llvm::copy(text, header->Size);
}

LogicalResult attn::writeStaticLibrary(const Library &library, StringRef path, Location loc) {
  std::string member = library.name + ".o";
  std::vector<llvm::NewArchiveMember> members;
  members.emplace_back(llvm::MemoryBufferRef(library.object.start, member));
  auto archive = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NormalSymtab,
                                            llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                            /*Thin=*/false);
  if (!archive)
    return report(archive.takeError(), loc, "could not write " + path);
  FileContent content{(*archive)->getBuffer().str(), library.object.parts, library.object.owner};
  if (!content.parts.empty())
    growLastMember(content.start, library.object);
  return content.write(path, loc);
}

std::string attn::getSharedFileName(StringRef name) {
  return ("lib" + name + ".so." + Twine(abiVersion)).str();
}

LogicalResult attn::writeSharedLibrary(const Library &library, StringRef path, Location loc) {
  std::unique_ptr<TemporaryFolder> folder = createFolderBeside(path, loc);
  if (!folder)
    return failure();
  std::string object = folder->file("library.o"), shared = folder->file("library.so");
  if (failed(library.object.write(object, loc)) ||
      failed(runLinker({"-shared", "--gc-sections", "--hash-style=gnu", "-z", "now", "-soname",
                        getSharedFileName(library.name), "-o",
                        folder->fileByDescriptor("library.so"), object},
                       loc)))
    return failure();
  return report(llvm::errorCodeToError(llvm::sys::fs::rename(shared, path)), loc,
                "could not write " + path);
}
