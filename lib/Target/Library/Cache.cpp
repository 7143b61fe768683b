//===- Cache.cpp - the folder of compiled kernels -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Target/Library/Cache.h"

#include "attnc/Files/OwnFolder.h"
#include "attnc/Files/TemporaryFolder.h"
#include "attnc/Files/WholeFile.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

#include <cerrno>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

using namespace mlir::attn;
using llvm::ArrayRef;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

static std::string hash(ArrayRef<StringRef> parts) {
  llvm::BLAKE3 state;
  for (StringRef part : parts)
    state.update(part);
  return llvm::toHex(state.final(), /*LowerCase=*/true);
}

/// The build ID among an object's notes; empty without one.
static StringRef findBuildId(ArrayRef<char> notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(notes.data());
    size_t name = llvm::alignTo(note->n_namesz, 4), size = llvm::alignTo(note->n_descsz, 4);
    notes = notes.drop_front(sizeof(*note));
    if (name > notes.size() || size > notes.size() - name)
      return {};
    StringRef owner(notes.data(), note->n_namesz);
    if (note->n_type == NT_GNU_BUILD_ID && owner == StringRef("GNU\0", 4))
      return StringRef(notes.data() + name, note->n_descsz);
    notes = notes.drop_front(name + size);
  }
  return {};
}

static StringRef findBuildId(const dl_phdr_info &object) {
  for (const auto &header : ArrayRef(object.dlpi_phdr, object.dlpi_phnum)) {
    const char *start = reinterpret_cast<const char *>(object.dlpi_addr + header.p_vaddr);
    if (header.p_type != PT_NOTE)
      continue;
    if (StringRef id = findBuildId(ArrayRef(start, header.p_memsz)); !id.empty())
      return id;
  }
  return {};
}

/// Hashes the whole file if its linker gave it no build ID.
static std::string hashFile(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, false, /*RequiresNullTerminator=*/false);
  return file ? hash((*file)->getBuffer()) : file.getError().message();
}

/// Adds the build of an object to `identity`, if it generates code.
static int addIdentity(dl_phdr_info *object, size_t, void *identity) {
  StringRef path = object->dlpi_name, name = path::filename(path);
  bool isProgram = path.empty();
  if (!isProgram && !name.starts_with("libHalide") && !name.starts_with("libLLVM") &&
      !name.starts_with("libMLIR"))
    return 0;
  StringRef id = findBuildId(*object);
  *static_cast<std::string *>(identity) +=
      "," + (!id.empty() ? id.str() : hashFile(isProgram ? "/proc/self/exe" : path));
  return 0;
}

/// Kernels of another build must not be reused, whatever its version says.
static const std::string &getToolIdentity() {
  static const std::string identity = [] {
    std::string text = ATTNC_VERSION;
    ::dl_iterate_phdr(addIdentity, &text);
    return text;
  }();
  return identity;
}

std::string mlir::attn::getCacheKey(ArrayRef<StringRef> parts) {
  llvm::SHA256 state;
  auto add = [&](StringRef part) {
    state.update(std::to_string(part.size()) + ":");
    state.update(part);
  };
  add(getToolIdentity());
  for (StringRef part : parts)
    add(part);
  return llvm::toHex(state.final(), /*LowerCase=*/true).substr(0, 40);
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral kMagic = "attnc kernel 1 ";
static constexpr llvm::StringLiteral kExtension = ".kernel";

/// `attnc kernel 1 LENGTH HASH`; the hash covers the key, so that an entry has one name.
static std::string makeHeader(StringRef key, StringRef bytes) {
  return (kMagic + llvm::Twine(bytes.size()) + " " + hash({key, bytes}) + "\n").str();
}

std::string mlir::attn::getCacheEntryPath(StringRef folder, StringRef key) {
  llvm::SmallString<128> path(folder);
  path::append(path, key + kExtension);
  return path.str().str();
}

template <typename... Values>
static llvm::Error makeError(const Values &...values) {
  std::string text;
  ((llvm::raw_string_ostream(text) << values), ...);
  return llvm::createStringError(text);
}

/// Reads a file that nobody else can have written; not a link, nor a pipe that blocks.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readOwnFile(StringRef path) {
  int file = ::open(path.str().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  auto close = llvm::scope_exit([&] { ::close(file); });
  struct stat status;
  if (file < 0 || ::fstat(file, &status) != 0)
    return llvm::errorCodeToError(errno == ELOOP ? std::make_error_code(std::errc::not_supported)
                                                 : llvm::errnoAsErrorCode());
  if (!S_ISREG(status.st_mode))
    return makeError("expected a file, found something else");
  if (auto other = findOtherWriter(status))
    return makeError("expected a file of the user's own, found it ", *other);
  auto buffer = llvm::MemoryBuffer::getOpenFile(file, path, status.st_size,
                                                /*RequiresNullTerminator=*/false,
                                                /*IsVolatile=*/true);
  if (!buffer)
    return llvm::errorCodeToError(buffer.getError());
  return std::move(*buffer);
}

llvm::Expected<std::string> mlir::attn::readCacheEntry(StringRef path) {
  auto file = readOwnFile(path);
  if (!file)
    return file.takeError();
  auto [header, bytes] = (*file)->getBuffer().split('\n');
  StringRef rest = header;
  size_t length;
  if (!rest.consume_front(kMagic) || rest.consumeInteger(10, length))
    return makeError("expected an entry's header, found ", (*file)->getBufferSize(),
                     " bytes of something else");
  if (length != bytes.size())
    return makeError("expected ", length, " bytes, found ", bytes.size());
  if (makeHeader(path::stem(path), bytes) != (header + "\n").str())
    return makeError("expected bytes that match the entry's hash, found others");
  return bytes.str();
}

std::error_code mlir::attn::writeCacheEntry(StringRef folder, StringRef key, StringRef bytes) {
  // Written in a hidden folder, which is cleaned up if the program is killed.
  auto hidden = TemporaryFolder::create(folder);
  if (!hidden)
    return hidden.getError();
  std::string entry = getCacheEntryPath(folder, key), made = (*hidden)->file("entry");
  auto write = [&](llvm::raw_ostream &os) { os << makeHeader(key, bytes) << bytes; };
  if (auto error = writeDurableFile(made, write))
    return error;
  if (auto error = fs::rename(made, entry))
    return error;
  return syncFolder(folder);
}
