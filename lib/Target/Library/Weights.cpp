//===- Weights.cpp - large constants outside the code ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// They are most of a library's bytes, and the same for all of its targets. Code refers to them by
// offset; they are copied from the modules into the object, or into a file beside it.
//
// The file is https://huggingface.co/docs/safetensors, so that other tools can read it. Its data is
// laid out for kernels: the library maps the file and copies nothing. The format has no gaps
// between tensors; those that would misalign the next one come last.
//
//===----------------------------------------------------------------------===//

#include "Weights.h"

#include "HostObject.h"

#include "attnc_support.h"

#include "attnc/Dialect/Attn/ConstantBytes.h"
#include "attnc/Import/Safetensors/Safetensors.h"
#include "attnc/Machine/Target.h"
#include "attnc/Text/Escape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/CachedHashString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SHA256.h"

#include <deque>
#include <numeric>

using namespace mlir;
using namespace mlir::attn;

/// Smaller constants, such as scalars, stay in the code.
static constexpr size_t kMinBytes = 256;
/// Alignment of the data, and of each tensor inside a library; in a file, of tensors whose size is
/// a multiple of it.
static constexpr size_t kAlignment = kConstantsAlignment;

namespace {

/// One tensor, and the constants that share it.
struct Entry {
  std::string name;
  MemRefType type;
  StringRef bytes;
  SmallVector<memref::GlobalOp> globals;
  /// Order of discovery.
  size_t number;
};

/// The tensors of one library.
class Collection {
public:
  void addAll(ArrayRef<Variant> variants);
  bool isEmpty() const { return entries.empty(); }
  /// Assigns each tensor's offset: without gaps, or each aligned.
  void placeInFile();
  void placeAligned();
  WeightsFile write();
  Constants list();
  /// Replaces the constants that `host` reads by views of `data`.
  void replace(func::FuncOp host, Value data);

private:
  void add(memref::GlobalOp global);
  void setOffset(const Entry &entry, size_t offset);
  StringRef getBytes(memref::GlobalOp global);
  std::string makeName(memref::GlobalOp global);

  std::vector<Entry> entries;
  DenseMap<llvm::CachedHashStringRef, size_t> numbers;
  DenseMap<Operation *, size_t> offsets;
  llvm::StringSet<> names;
  /// Bytes of constants whose attribute isn't in the layout of kernels.
  std::shared_ptr<std::deque<std::string>> written = std::make_shared<std::deque<std::string>>();
};

} // namespace

std::string attn::getWeightsFileName(StringRef name) {
  return (name + ".weights.safetensors").str();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// The bytes in memory: a bool is a byte, and a splat is expanded.
StringRef Collection::getBytes(memref::GlobalOp global) {
  Attribute value = global.getInitialValueAttr();
  StringRef data = llvm::toStringRef(getConstantBytes(value));
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (dense && dense.getElementType().isInteger(1)) {
    std::string &bytes = written->emplace_back();
    for (bool each : dense.getValues<bool>())
      bytes.push_back(each);
    return bytes;
  }
  if (!dense || !dense.isSplat())
    return data;
  std::string &bytes = written->emplace_back();
  bytes.reserve(data.size() * dense.getNumElements());
  for (int64_t i = 0; i < dense.getNumElements(); ++i)
    bytes.append(data.begin(), data.end());
  return bytes;
}

/// The spec's name if known.
std::string Collection::makeName(memref::GlobalOp global) {
  StringRef stem = global.getSymName();
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(global.getInitialValueAttr()))
    stem = resource.getRawHandle().getKey();
  std::string json = escapeJson(stem), name = json;
  for (unsigned n = 1; name == "__metadata__" || !names.insert(name).second; ++n)
    name = json + "." + std::to_string(n);
  return name;
}

void Collection::add(memref::GlobalOp global) {
  MemRefType type = global.getType();
  if (Safetensors::getDtype(type.getElementType()).empty())
    return;
  StringRef bytes = getBytes(global);
  if (bytes.size() < kMinBytes)
    return;
  auto [number, isNew] = numbers.try_emplace(llvm::CachedHashStringRef(bytes), entries.size());
  if (isNew)
    entries.push_back({makeName(global), type, bytes, {}, entries.size()});
  entries[number->second].globals.push_back(global);
}

void Collection::addAll(ArrayRef<Variant> variants) {
  for (const Variant &variant : variants)
    for (auto global : variant.getModule().getOps<memref::GlobalOp>())
      add(global);
}

void Collection::setOffset(const Entry &entry, size_t offset) {
  for (memref::GlobalOp global : entry.globals)
    offsets[global] = offset;
}

/// Multiples of the alignment first, then multiples of half of it, and so on: each tensor is at
/// least aligned to its element's size.
void Collection::placeInFile() {
  auto rank = [](const Entry &entry) { return std::gcd(entry.bytes.size(), kAlignment); };
  llvm::sort(entries, [&](const Entry &a, const Entry &b) {
    return std::pair(rank(b), a.number) < std::pair(rank(a), b.number);
  });
  size_t offset = 0;
  for (const Entry &entry : entries) {
    setOffset(entry, offset);
    offset += entry.bytes.size();
  }
}

void Collection::placeAligned() {
  size_t offset = 0;
  for (const Entry &entry : entries) {
    setOffset(entry, offset);
    offset += llvm::alignTo(entry.bytes.size(), kAlignment);
  }
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

WeightsFile Collection::write() {
  llvm::SHA256 state;
  size_t dataBytes = 0;
  std::vector<NamedTensor> tensors;
  for (const Entry &entry : entries) {
    state.update(entry.bytes);
    dataBytes += entry.bytes.size();
    tensors.push_back(
        {entry.name, entry.type.getElementType(), entry.type.getShape(), entry.bytes});
  }

  WeightsFile file;
  file.info.sha256 = llvm::toHex(state.final(), /*LowerCase=*/true);
  file.content.start =
      makeSafetensorsHeader(tensors, attnc_weights_start + file.info.sha256 + "\"}");
  file.info.dataOffset = file.content.start.size();
  file.info.fileBytes = file.info.dataOffset + dataBytes;
  for (const Entry &entry : entries)
    file.content.parts.push_back(entry.bytes);
  file.content.owner = written;
  return file;
}

//===----------------------------------------------------------------------===//
// Inside the library
//===----------------------------------------------------------------------===//

Constants Collection::list() {
  static const char zeros[kAlignment] = {};
  Constants constants;
  for (const Entry &entry : entries) {
    uint64_t whole = llvm::alignTo(entry.bytes.size(), kAlignment);
    constants.parts.push_back(entry.bytes);
    constants.parts.push_back(StringRef(zeros, whole - entry.bytes.size()));
    constants.bytes += whole;
  }
  constants.owner = written;
  return constants;
}

//===----------------------------------------------------------------------===//
// The host function
//===----------------------------------------------------------------------===//

void Collection::replace(func::FuncOp host, Value data) {
  auto module = host->getParentOfType<ModuleOp>();
  host.walk([&](memref::GetGlobalOp get) {
    auto found = offsets.find(module.lookupSymbol(get.getName()));
    if (found == offsets.end())
      return;
    OpBuilder builder(get);
    Value offset = arith::ConstantIndexOp::create(builder, get.getLoc(), found->second);
    auto view =
        memref::ViewOp::create(builder, get.getLoc(), get.getType(), data, offset, ValueRange());
    get.replaceAllUsesWith(view.getResult());
    get.erase();
  });
  for (auto global : llvm::make_early_inc_range(module.getOps<memref::GlobalOp>()))
    if (offsets.erase(global)) // its address may be reused by another op
      global.erase();
}

/// The file's data as the last argument of `host`.
static Value addArgument(func::FuncOp host) {
  auto type = MemRefType::get(ShapedType::kDynamic, IntegerType::get(host.getContext(), 8));
  unsigned position = host.getNumArguments();
  (void)host.insertArgument(position, type, {}, host.getLoc());
  return host.getArgument(position);
}

/// The data as a global that another module of the library defines.
static Value addGlobal(func::FuncOp host, uint64_t bytes) {
  OpBuilder builder(host);
  auto type = MemRefType::get(bytes, builder.getI8Type());
  memref::GlobalOp::create(builder, host.getLoc(), kConstantsName, /*sym_visibility=*/StringAttr(),
                           type, /*initial_value=*/Attribute(), /*constant=*/true,
                           builder.getI64IntegerAttr(kAlignment));
  builder.setInsertionPointToStart(&host.getBody().front());
  return memref::GetGlobalOp::create(builder, host.getLoc(), type, kConstantsName);
}

static LogicalResult verifyCanMap(ArrayRef<Variant> variants) {
  for (const Variant &variant : variants)
    if (Target(variant.target).isWasm() || variant.isOnDevice())
      return emitError(variant.getModule().getLoc(), "expected a target without a GPU and other "
                                                     "than wasm for weights beside the library, "
                                                     "found ")
             << variant.target;
  return success();
}

FailureOr<WeightsFile> attn::takeWeights(MutableArrayRef<Variant> variants, StringRef function) {
  if (failed(verifyCanMap(variants)))
    return failure();
  Collection collection;
  collection.addAll(variants);
  if (collection.isEmpty())
    return emitError(variants.front().getModule().getLoc())
           << "expected constants of " << kMinBytes
           << " bytes or more to keep beside the library, found none; with --weights, arguments "
              "with "
              "attn.weight are constants";
  collection.placeInFile();
  for (const Variant &variant : variants) {
    auto host = variant.getModule().lookupSymbol<func::FuncOp>(function);
    collection.replace(host, addArgument(host));
  }
  return collection.write();
}

Constants attn::takeConstants(MutableArrayRef<Variant> variants, StringRef function) {
  Collection collection;
  collection.addAll(variants);
  if (collection.isEmpty())
    return {};
  collection.placeAligned();
  Constants constants = collection.list();
  for (const Variant &variant : variants) {
    auto host = variant.getModule().lookupSymbol<func::FuncOp>(function);
    collection.replace(host, addGlobal(host, constants.bytes));
  }
  return constants;
}
