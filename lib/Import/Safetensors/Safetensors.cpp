//===- Safetensors.cpp - tensors of a safetensors file --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing in the file is trusted: lengths, offsets and sizes may be anything.
//
//===----------------------------------------------------------------------===//

#include "attnc/Import/Safetensors/Safetensors.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::attn;

namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

namespace {
struct Dtype {
  StringLiteral name;
  Type (*getType)(MLIRContext *);
};
} // namespace

template <unsigned width, IntegerType::SignednessSemantics sign = IntegerType::Signless>
static Type getInteger(MLIRContext *context) {
  return IntegerType::get(context, width, sign);
}
template <typename FloatT>
static Type getFloat(MLIRContext *context) {
  return FloatT::get(context);
}

/// A bool is a byte, in the file as in a tensor of i1.
static constexpr Dtype dtypes[] = {
    {"F64", getFloat<Float64Type>},
    {"F32", getFloat<Float32Type>},
    {"F16", getFloat<Float16Type>},
    {"BF16", getFloat<BFloat16Type>},
    {"I64", getInteger<64>},
    {"I32", getInteger<32>},
    {"I16", getInteger<16>},
    {"I8", getInteger<8>},
    {"U64", getInteger<64, IntegerType::Unsigned>},
    {"U32", getInteger<32, IntegerType::Unsigned>},
    {"U16", getInteger<16, IntegerType::Unsigned>},
    {"U8", getInteger<8, IntegerType::Unsigned>},
    {"BOOL", getInteger<1>},
};

StringRef Safetensors::getDtype(Type elementType) {
  for (const Dtype &dtype : dtypes)
    if (dtype.getType(elementType.getContext()) == elementType)
      return dtype.name;
  return {};
}

static int64_t getBytes(Type elementType) {
  return llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8);
}

/// The bytes of a tensor; none where they don't fit into 64 bits.
static std::optional<int64_t> getBytes(RankedTensorType type) {
  std::optional<int64_t> bytes = getBytes(type.getElementType());
  for (int64_t size : type.getShape())
    bytes = bytes ? llvm::checkedMul(*bytes, size) : std::nullopt;
  return bytes;
}

//===----------------------------------------------------------------------===//
// The header
//===----------------------------------------------------------------------===//

namespace {
/// Reads the entries of one file.
class HeaderReader {
public:
  HeaderReader(StringRef path, Location loc, StringRef bytes)
      : path(path), loc(loc), bytes(bytes) {}

  LogicalResult read(llvm::StringMap<Safetensors::Entry> &entries);

private:
  InFlightDiagnostic error() { return emitError(loc) << path << ": "; }
  FailureOr<StringRef> findHeader();
  LogicalResult readEntry(StringRef name, const json::Value &value, Safetensors::Entry &entry);
  FailureOr<RankedTensorType> readType(StringRef name, const json::Object &fields);
  FailureOr<SmallVector<int64_t>> readNumbers(StringRef name, const json::Object &fields,
                                              StringRef field);

  StringRef path;
  Location loc;
  StringRef bytes, data;
};
} // namespace

FailureOr<StringRef> HeaderReader::findHeader() {
  constexpr size_t prefix = 8;
  if (bytes.size() < prefix)
    return error() << "expected a safetensors file, which begins with " << prefix
                   << " bytes of header length, found " << bytes.size() << " bytes";
  uint64_t length = llvm::support::endian::read64le(bytes.data());
  if (length > bytes.size() - prefix)
    return error() << "expected a safetensors header of " << length << " bytes, found "
                   << bytes.size() - prefix << " bytes in the file";
  data = bytes.drop_front(prefix + length);
  return bytes.substr(prefix, length);
}

FailureOr<SmallVector<int64_t>>
HeaderReader::readNumbers(StringRef name, const json::Object &fields, StringRef field) {
  SmallVector<int64_t> numbers;
  const json::Array *array = fields.getArray(field);
  for (const json::Value &value : array ? *array : json::Array()) {
    std::optional<int64_t> number = value.getAsInteger();
    if (!number || *number < 0)
      array = nullptr;
    numbers.push_back(number.value_or(0));
  }
  if (!array)
    return error() << "expected " << field << " of tensor '" << name
                   << "' to be a list of whole numbers";
  return numbers;
}

FailureOr<RankedTensorType> HeaderReader::readType(StringRef name, const json::Object &fields) {
  FailureOr<SmallVector<int64_t>> shape = readNumbers(name, fields, "shape");
  if (failed(shape))
    return failure();
  std::optional<StringRef> found = fields.getString("dtype");
  for (const Dtype &dtype : dtypes)
    if (found == dtype.name)
      return RankedTensorType::get(*shape, dtype.getType(loc.getContext()));
  auto names = llvm::map_range(dtypes, [](const Dtype &dtype) { return dtype.name; });
  return error() << "expected dtype of tensor '" << name << "' to be one of "
                 << llvm::join(names, ", ") << ", found " << found.value_or("none");
}

LogicalResult HeaderReader::readEntry(StringRef name, const json::Value &value,
                                      Safetensors::Entry &entry) {
  const json::Object *fields = value.getAsObject();
  if (!fields)
    return error() << "expected an object for tensor '" << name << "' in the header";
  FailureOr<RankedTensorType> type = readType(name, *fields);
  if (failed(type))
    return failure();
  FailureOr<SmallVector<int64_t>> offsets = readNumbers(name, *fields, "data_offsets");
  if (failed(offsets))
    return failure();
  if (offsets->size() != 2 || (*offsets)[0] > (*offsets)[1])
    return error() << "expected data_offsets of tensor '" << name << "' to be a begin and an end";
  int64_t begin = (*offsets)[0], end = (*offsets)[1];
  if (static_cast<uint64_t>(end) > data.size())
    return error() << "expected " << end << " bytes of data for tensor '" << name << "', found "
                   << data.size() << " in the file";
  std::optional<int64_t> size = getBytes(*type);
  if (size != end - begin)
    return error() << "expected data_offsets of tensor '" << name << "' to hold " << *type
                   << ", found " << end - begin << " bytes";
  entry = {*type, ArrayRef(data.data() + begin, end - begin)};
  return success();
}

LogicalResult HeaderReader::read(llvm::StringMap<Safetensors::Entry> &entries) {
  FailureOr<StringRef> text = findHeader();
  if (failed(text))
    return failure();
  llvm::Expected<json::Value> header = json::parse(*text);
  if (!header)
    return error() << "expected a JSON object as header, found: "
                   << llvm::toString(header.takeError());
  const json::Object *tensors = header->getAsObject();
  if (!tensors)
    return error() << "expected a JSON object as header, found another value";
  for (const auto &[name, value] : *tensors)
    if (StringRef(name) != "__metadata__" && failed(readEntry(name, value, entries[name])))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Safetensors
//===----------------------------------------------------------------------===//

FailureOr<Safetensors> Safetensors::open(StringRef path, Location loc) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return emitError(loc) << path << ": cannot read weights: " << file.getError().message();
  Safetensors weights;
  weights.file = std::move(*file);
  if (failed(HeaderReader(path, loc, weights.file->getBuffer()).read(weights.entries)))
    return failure();
  return weights;
}

const Safetensors::Entry *Safetensors::find(StringRef name) const {
  auto it = entries.find(name);
  return it == entries.end() ? nullptr : &it->second;
}

ElementsAttr Safetensors::getAttr(StringRef name, const Entry &entry) const {
  // LLVM IR has no constants of bits that are held as bytes.
  if (entry.type.getElementType().isInteger(1))
    return DenseElementsAttr::get(
        entry.type, llvm::map_to_vector(entry.data, [](char byte) { return byte != 0; }));
  // The format promises no alignment of a tensor's data.
  size_t align = getBytes(entry.type.getElementType());
  if (reinterpret_cast<uintptr_t>(entry.data.data()) % align != 0)
    return DenseResourceElementsAttr::get(
        entry.type, name, HeapAsmResourceBlob::allocateAndCopyWithAlign(entry.data, align));
  auto keep = [file = file](void *, size_t, size_t) {};
  return DenseResourceElementsAttr::get(
      entry.type, name, AsmResourceBlob(entry.data, align, keep, /*dataIsMutable=*/false));
}
