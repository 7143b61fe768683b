//===- Safetensors.cpp - tensors of a safetensors file --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing in the file is trusted: lengths, offsets and sizes may be anything. What the reference
// implementation (https://github.com/huggingface/safetensors) refuses is refused here, and a name
// that is there twice, as its format asks.
//
//===----------------------------------------------------------------------===//

#include "attnc/Import/Safetensors/Safetensors.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <nlohmann/json.hpp>

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

namespace {
struct Dtype {
  StringLiteral name;
  int64_t bits;
  /// Null for elements that no spec has: a file may hold them beside others.
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
    {"F64", 64, getFloat<Float64Type>},
    {"F32", 32, getFloat<Float32Type>},
    {"F16", 16, getFloat<Float16Type>},
    {"BF16", 16, getFloat<BFloat16Type>},
    {"I64", 64, getInteger<64>},
    {"I32", 32, getInteger<32>},
    {"I16", 16, getInteger<16>},
    {"I8", 8, getInteger<8>},
    {"U64", 64, getInteger<64, IntegerType::Unsigned>},
    {"U32", 32, getInteger<32, IntegerType::Unsigned>},
    {"U16", 16, getInteger<16, IntegerType::Unsigned>},
    {"U8", 8, getInteger<8, IntegerType::Unsigned>},
    {"BOOL", 8, getInteger<1>},
    {"C64", 64, nullptr},
    {"F8_E4M3", 8, getFloat<Float8E4M3FNType>},
    {"F8_E4M3FNUZ", 8, nullptr},
    {"F8_E5M2", 8, nullptr},
    {"F8_E5M2FNUZ", 8, nullptr},
    {"F8_E8M0", 8, nullptr},
    {"F6_E2M3", 6, nullptr},
    {"F6_E3M2", 6, nullptr},
    {"F4", 4, nullptr},
};

StringRef Safetensors::getDtype(Type elementType) {
  for (const Dtype &dtype : dtypes)
    if (dtype.getType && dtype.getType(elementType.getContext()) == elementType)
      return dtype.name;
  return {};
}

/// The bytes of a tensor; none where they don't fit into 64 bits, or are no whole ones.
static std::optional<int64_t> getBytes(const Dtype &dtype, ArrayRef<int64_t> shape) {
  std::optional<int64_t> count = 1;
  for (int64_t size : shape)
    count = count ? llvm::checkedMul(*count, size) : std::nullopt;
  auto bits = count ? llvm::checkedMul(*count, dtype.bits) : std::nullopt;
  return bits && *bits % 8 == 0 ? std::optional(*bits / 8) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

std::string attn::makeSafetensorsHeader(ArrayRef<NamedTensor> tensors, StringRef start) {
  constexpr size_t kAlignment = 64;
  std::string header(sizeof(uint64_t), '\0');
  llvm::raw_string_ostream os(header);
  os << start;
  int64_t begin = 0;
  for (const NamedTensor &tensor : tensors) {
    int64_t end = begin + tensor.data.size();
    llvm::json::Object entry{{"dtype", Safetensors::getDtype(tensor.elementType)},
                             {"shape", llvm::json::Array(tensor.shape)},
                             {"data_offsets", llvm::json::Array{begin, end}}};
    os << "," << llvm::json::Value(tensor.name) << ":" << llvm::json::Value(std::move(entry));
    begin = end;
  }
  os << "}";
  header.resize(llvm::alignTo(header.size(), kAlignment), ' ');
  llvm::support::endian::write64le(header.data(), header.size() - sizeof(uint64_t));
  return header;
}

//===----------------------------------------------------------------------===//
// The header
//===----------------------------------------------------------------------===//

/// As much as the reference implementation reads: longer headers and deeper values come from no
/// writer, and would only take memory and stack.
static constexpr uint64_t kMostHeaderBytes = 100'000'000;
static constexpr int kMostDepth = 127;

static constexpr StringLiteral kMetadata = "__metadata__";

namespace {
enum class Kind { Other, WholeNumber, Text, Object, List };

/// A tensor's entry in the header; missing fields are empty.
struct Description {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<SmallVector<int64_t>> shape, offsets;
};

/// Parses the JSON header of one file value by value, and keeps known fields alone.
class HeaderReader {
public:
  HeaderReader(StringRef path, Location loc, StringRef bytes)
      : path(path), loc(loc), bytes(bytes) {}

  LogicalResult read(llvm::StringMap<Safetensors::Entry> &entries);

  // Callbacks of nlohmann::json::sax_parse. False ends the parse.
  bool null() { return add(Kind::Other); }
  bool boolean(bool) { return add(Kind::Other); }
  bool number_integer(int64_t) { return add(Kind::Other); }
  bool number_unsigned(uint64_t number) { return add(Kind::WholeNumber, number); }
  bool number_float(double, const std::string &) { return add(Kind::Other); }
  bool string(std::string &text) { return add(Kind::Text, 0, text); }
  bool binary(std::vector<uint8_t> &) { return add(Kind::Other); }
  bool start_object(size_t) { return add(Kind::Object) && enter(); }
  bool end_object() { return leave(); }
  bool start_array(size_t) { return add(Kind::List) && enter(); }
  bool end_array() { return leave(); }
  bool key(std::string &name);
  bool parse_error(size_t position, const std::string &, const nlohmann::detail::exception &);

private:
  InFlightDiagnostic error() { return emitError(loc) << path << ": "; }
  FailureOr<StringRef> findHeader();

  bool add(Kind kind, uint64_t number = 0, StringRef text = {});
  bool addToHeader(Kind kind);
  bool addToTensor(Kind kind, StringRef text);
  bool addToList(Kind kind, uint64_t number);
  bool enter();
  bool leave();
  InFlightDiagnostic refuseField();
  std::optional<SmallVector<int64_t>> *getList();

  FailureOr<Safetensors::Entry> readEntry(const Description &tensor);
  FailureOr<const Dtype *> findDtype(const Description &tensor);
  LogicalResult verifyCoverage();

  StringRef path;
  Location loc;
  StringRef bytes, data;

  /// Objects and lists that the value to come is in, and the keys that lead to it.
  int depth = 0;
  std::string field;
  llvm::StringSet<> names, fields;
  /// The last one is being read, unless the reader is in the metadata.
  std::vector<Description> tensors;
  bool isInMetadata = false;
};
} // namespace

FailureOr<StringRef> HeaderReader::findHeader() {
  constexpr size_t prefix = 8;
  if (bytes.size() < prefix)
    return error() << "expected a safetensors file, which begins with " << prefix
                   << " bytes of header length, found " << bytes.size() << " bytes";
  uint64_t length = llvm::support::endian::read64le(bytes.data());
  if (length > kMostHeaderBytes)
    return error() << "expected a safetensors file, with a header of at most " << kMostHeaderBytes
                   << " bytes, found other data or a length of " << length;
  if (length > bytes.size() - prefix)
    return error() << "expected a safetensors header of " << length << " bytes, found "
                   << bytes.size() - prefix << " bytes in the file";
  data = bytes.drop_front(prefix + length);
  return bytes.substr(prefix, length);
}

//===----------------------------------------------------------------------===//
// Values, in the order of the text
//===----------------------------------------------------------------------===//

bool HeaderReader::parse_error(size_t position, const std::string &,
                               const nlohmann::detail::exception &) {
  error() << "expected a JSON object as header, found an error in byte " << position;
  return false;
}

bool HeaderReader::enter() {
  if (++depth <= kMostDepth)
    return true;
  error() << "expected at most " << kMostDepth << " objects and lists within each other in the "
          << "header, found more";
  return false;
}

bool HeaderReader::leave() {
  --depth;
  return true;
}

bool HeaderReader::key(std::string &name) {
  if (depth == 1) {
    fields.clear();
    isInMetadata = name == kMetadata;
    if (!isInMetadata)
      tensors.push_back({name, {}, {}, {}});
  }
  if (depth == 2)
    field = name;
  if (depth > 2 || (depth == 1 ? names : fields).insert(name).second)
    return true;
  InFlightDiagnostic diagnostic = error()
                                  << "expected each name once, found '" << name << "' twice";
  if (depth == 2)
    diagnostic << " in '" << (isInMetadata ? StringRef(kMetadata) : StringRef(tensors.back().name))
               << "'";
  return false;
}

bool HeaderReader::add(Kind kind, uint64_t number, StringRef text) {
  if (depth < 2)
    return addToHeader(kind);
  if (isInMetadata) {
    if (kind == Kind::Text)
      return true;
    error() << "expected strings in " << kMetadata << ", found another value for '" << field << "'";
    return false;
  }
  if (depth == 2)
    return addToTensor(kind, text);
  return depth > 3 || !getList() || addToList(kind, number);
}

bool HeaderReader::addToHeader(Kind kind) {
  if (kind == Kind::Object)
    return true;
  if (depth == 0)
    error() << "expected a JSON object as header, found another value";
  else if (isInMetadata)
    error() << "expected an object of strings as " << kMetadata << ", found another value";
  else
    error() << "expected an object for tensor '" << tensors.back().name << "' in the header";
  return false;
}

/// The list of the tensor that the reader is in; null for a field that says nothing to us.
std::optional<SmallVector<int64_t>> *HeaderReader::getList() {
  if (field == "shape")
    return &tensors.back().shape;
  return field == "data_offsets" ? &tensors.back().offsets : nullptr;
}

InFlightDiagnostic HeaderReader::refuseField() {
  return error() << "expected " << field << " of tensor '" << tensors.back().name << "' to be ";
}

bool HeaderReader::addToTensor(Kind kind, StringRef text) {
  if (field == "dtype") {
    tensors.back().dtype = text.str();
    if (kind != Kind::Text)
      refuseField() << "a string";
    return kind == Kind::Text;
  }
  if (auto *list = getList()) {
    list->emplace();
    if (kind != Kind::List)
      refuseField() << "a list of whole numbers";
    return kind == Kind::List;
  }
  return true;
}

bool HeaderReader::addToList(Kind kind, uint64_t number) {
  if (kind != Kind::WholeNumber || number > uint64_t(INT64_MAX)) {
    refuseField() << "a list of whole numbers";
    return false;
  }
  (*getList())->push_back(number);
  return true;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

FailureOr<const Dtype *> HeaderReader::findDtype(const Description &tensor) {
  for (const Dtype &dtype : dtypes)
    if (tensor.dtype == dtype.name)
      return &dtype;
  auto names = llvm::map_range(dtypes, [](const Dtype &dtype) { return dtype.name; });
  return error() << "expected dtype of tensor '" << tensor.name << "' to be one of "
                 << llvm::join(names, ", ") << ", found " << *tensor.dtype;
}

static std::string describe(const Dtype &dtype, ArrayRef<int64_t> shape) {
  std::string text = (dtype.name + "[").str();
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(shape, os);
  return text + "]";
}

FailureOr<Safetensors::Entry> HeaderReader::readEntry(const Description &tensor) {
  const char *missing = !tensor.dtype     ? "dtype"
                        : !tensor.shape   ? "shape"
                        : !tensor.offsets ? "data_offsets"
                                          : nullptr;
  if (missing)
    return error() << "expected " << missing << " of tensor '" << tensor.name << "', found none";
  FailureOr<const Dtype *> dtype = findDtype(tensor);
  if (failed(dtype))
    return failure();
  if (tensor.offsets->size() != 2 || tensor.offsets->front() > tensor.offsets->back())
    return error() << "expected data_offsets of tensor '" << tensor.name
                   << "' to be a begin and an end";
  int64_t begin = tensor.offsets->front(), end = tensor.offsets->back();
  if (static_cast<uint64_t>(end) > data.size())
    return error() << "expected " << end << " bytes of data for tensor '" << tensor.name
                   << "', found " << data.size() << " in the file";
  if (getBytes(**dtype, *tensor.shape) != end - begin)
    return error() << "expected data_offsets of tensor '" << tensor.name << "' to hold "
                   << describe(**dtype, *tensor.shape) << ", found " << end - begin << " bytes";
  Safetensors::Entry entry{(*dtype)->name, {}, ArrayRef(data.data() + begin, end - begin)};
  if ((*dtype)->getType)
    entry.type = RankedTensorType::get(*tensor.shape, (*dtype)->getType(loc.getContext()));
  return entry;
}

/// Each byte is of one tensor: none is of two, and nothing hides between them or behind.
LogicalResult HeaderReader::verifyCoverage() {
  llvm::sort(tensors, [](auto &a, auto &b) { return *a.offsets < *b.offsets; });
  int64_t next = 0;
  for (const Description &tensor : tensors) {
    if (tensor.offsets->front() != next)
      return error() << "expected data of tensor '" << tensor.name << "' to begin at byte " << next
                     << ", where the tensor before it ends, found " << tensor.offsets->front();
    next = tensor.offsets->back();
  }
  if (static_cast<uint64_t>(next) == data.size())
    return success();
  return error() << "expected " << next << " bytes of data, as many as the tensors take, found "
                 << data.size() << " in the file";
}

LogicalResult HeaderReader::read(llvm::StringMap<Safetensors::Entry> &entries) {
  FailureOr<StringRef> text = findHeader();
  if (failed(text) || !nlohmann::json::sax_parse(text->begin(), text->end(), this))
    return failure();
  for (const Description &tensor : tensors) {
    FailureOr<Safetensors::Entry> entry = readEntry(tensor);
    if (failed(entry))
      return failure();
    entries[tensor.name] = *entry;
  }
  return verifyCoverage();
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
  size_t align = llvm::divideCeil(entry.type.getElementType().getIntOrFloatBitWidth(), 8);
  if (reinterpret_cast<uintptr_t>(entry.data.data()) % align != 0)
    return DenseResourceElementsAttr::get(
        entry.type, name, HeapAsmResourceBlob::allocateAndCopyWithAlign(entry.data, align));
  auto keep = [file = file](void *, size_t, size_t) {};
  return DenseResourceElementsAttr::get(
      entry.type, name, AsmResourceBlob(entry.data, align, keep, /*dataIsMutable=*/false));
}
