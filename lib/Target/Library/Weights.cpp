//===- Weights.cpp - constants in a file beside the library
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file is https://huggingface.co/docs/safetensors, so that others can look into it. Its data
// lie as kernels read them: the library maps the file and copies nothing. The format has no room
// between tensors; those that would misalign the next one come last.
//
//===----------------------------------------------------------------------===//

#include "Weights.h"

#include "HostObject.h"

#include "attnc_support.h"

#include "attnc/Import/Safetensors/Safetensors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/CachedHashString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SHA256.h"

#include <deque>
#include <numeric>

using namespace mlir;
using namespace mlir::attn;

/// Constants below it, scalars and the like, stay in the code.
static constexpr size_t kLeastBytes = 256;
/// Of the data in the file, and of each tensor whose size is a multiple of it.
static constexpr size_t kAlignment = 64;

namespace {

/// One tensor of the file, and the constants that it stands for.
struct Entry {
  std::string name;
  MemRefType type;
  StringRef bytes;
  SmallVector<memref::GlobalOp> globals;
  /// In the order in which they were found.
  size_t number;
};

/// The tensors of one file.
class Collection {
public:
  void add(memref::GlobalOp global);
  bool isEmpty() const { return entries.empty(); }
  /// Settles where each tensor lies.
  void place();
  WeightsFile write();
  /// Makes views of what `host` reads of the file.
  void replace(func::FuncOp host);

private:
  StringRef getBytes(memref::GlobalOp global);
  std::string makeName(memref::GlobalOp global);
  std::string emitTensors() const;

  std::vector<Entry> entries;
  DenseMap<llvm::CachedHashStringRef, size_t> numbers;
  DenseMap<Operation *, size_t> offsets;
  llvm::StringSet<> names;
  /// Of constants that are held in another form than kernels read.
  std::deque<std::string> written;
};

} // namespace

std::string attn::getWeightsFileName(StringRef name) {
  return (name + ".weights.safetensors").str();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// As in memory: a bool is a byte, and what is the same all over is there in full.
StringRef Collection::getBytes(memref::GlobalOp global) {
  Attribute value = global.getInitialValueAttr();
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    ArrayRef<char> data = resource.getRawHandle().getBlob()->getData();
    return StringRef(data.data(), data.size());
  }
  auto dense = cast<DenseElementsAttr>(value);
  if (dense.getElementType().isInteger(1)) {
    std::string &bytes = written.emplace_back();
    for (bool each : dense.getValues<bool>())
      bytes.push_back(each);
    return bytes;
  }
  ArrayRef<char> data = dense.getRawData();
  if (!dense.isSplat())
    return StringRef(data.data(), data.size());
  std::string &bytes = written.emplace_back();
  bytes.reserve(data.size() * dense.getNumElements());
  for (int64_t i = 0; i < dense.getNumElements(); ++i)
    bytes.append(data.begin(), data.end());
  return bytes;
}

/// As the spec calls it where that is known.
std::string Collection::makeName(memref::GlobalOp global) {
  StringRef stem = global.getSymName();
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(global.getInitialValueAttr()))
    stem = resource.getRawHandle().getKey();
  std::string name = stem.str();
  for (unsigned n = 1; !names.insert(name).second; ++n)
    name = (stem + "." + Twine(n)).str();
  return name;
}

void Collection::add(memref::GlobalOp global) {
  MemRefType type = global.getType();
  if (Safetensors::getDtype(type.getElementType()).empty())
    return;
  StringRef bytes = getBytes(global);
  if (bytes.size() < kLeastBytes)
    return;
  auto [number, isNew] = numbers.try_emplace(llvm::CachedHashStringRef(bytes), entries.size());
  if (isNew)
    entries.push_back({makeName(global), type, bytes, {}, entries.size()});
  entries[number->second].globals.push_back(global);
}

/// Whole multiples of the alignment first, then those of its half, and so on: each begins at a
/// multiple of its element's size at least.
void Collection::place() {
  auto rank = [](const Entry &entry) { return std::gcd(entry.bytes.size(), kAlignment); };
  llvm::sort(entries, [&](const Entry &a, const Entry &b) {
    return std::pair(rank(b), a.number) < std::pair(rank(a), b.number);
  });
  size_t offset = 0;
  for (const Entry &entry : entries) {
    for (memref::GlobalOp global : entry.globals)
      offsets[global] = offset;
    offset += entry.bytes.size();
  }
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

std::string Collection::emitTensors() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  int64_t begin = 0;
  for (const Entry &entry : entries) {
    int64_t end = begin + entry.bytes.size();
    llvm::json::Object tensor{{"dtype", Safetensors::getDtype(entry.type.getElementType())},
                              {"shape", llvm::json::Array(entry.type.getShape())},
                              {"data_offsets", llvm::json::Array{begin, end}}};
    os << "," << llvm::json::Value(entry.name) << ":" << llvm::json::Value(std::move(tensor));
    begin = end;
  }
  return text;
}

WeightsFile Collection::write() {
  llvm::SHA256 state;
  size_t dataBytes = 0;
  for (const Entry &entry : entries) {
    state.update(entry.bytes);
    dataBytes += entry.bytes.size();
  }
  std::string hash = llvm::toHex(state.final(), /*LowerCase=*/true);
  std::string json = attnc_weights_start + hash + "\"}" + emitTensors() + "}";
  json.resize(llvm::alignTo(sizeof(uint64_t) + json.size(), kAlignment) - sizeof(uint64_t), ' ');

  WeightsFile file;
  file.info.sha256 = hash;
  file.info.dataOffset = sizeof(uint64_t) + json.size();
  file.info.fileBytes = file.info.dataOffset + dataBytes;
  file.bytes.reserve(file.info.fileBytes);
  file.bytes.resize(sizeof(uint64_t));
  llvm::support::endian::write64le(file.bytes.data(), json.size());
  file.bytes += json;
  for (const Entry &entry : entries)
    file.bytes += entry.bytes;
  return file;
}

//===----------------------------------------------------------------------===//
// The host function
//===----------------------------------------------------------------------===//

void Collection::replace(func::FuncOp host) {
  auto module = host->getParentOfType<ModuleOp>();
  auto type = MemRefType::get(ShapedType::kDynamic, IntegerType::get(host.getContext(), 8));
  unsigned position = host.getNumArguments();
  (void)host.insertArgument(position, type, {}, host.getLoc());
  host.walk([&](memref::GetGlobalOp get) {
    auto found = offsets.find(module.lookupSymbol(get.getName()));
    if (found == offsets.end())
      return;
    OpBuilder builder(get);
    Value offset = arith::ConstantIndexOp::create(builder, get.getLoc(), found->second);
    auto view = memref::ViewOp::create(builder, get.getLoc(), get.getType(),
                                       host.getArgument(position), offset, ValueRange());
    get.replaceAllUsesWith(view.getResult());
    get.erase();
  });
  for (auto global : llvm::make_early_inc_range(module.getOps<memref::GlobalOp>()))
    if (offsets.contains(global))
      global.erase();
}

static LogicalResult verifyCanMap(ArrayRef<Variant> variants) {
  for (const Variant &variant : variants)
    if (isWasm(variant.target) || variant.isOnDevice())
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
  for (const Variant &variant : variants)
    for (auto global : variant.getModule().getOps<memref::GlobalOp>())
      collection.add(global);
  if (collection.isEmpty())
    return emitError(variants.front().getModule().getLoc())
           << "expected constants of " << kLeastBytes
           << " bytes or more to keep beside the library, found none";
  collection.place();
  for (const Variant &variant : variants)
    collection.replace(variant.getModule().lookupSymbol<func::FuncOp>(function));
  return collection.write();
}
