//===- Model.cpp - ONNX files ---------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files are untrusted: sizes are checked before they are used to read.
//
//===----------------------------------------------------------------------===//

#include "Model.h"

#include "attnc/Dialect/Attn/ConstantBytes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;
using ::onnx::TensorProto;

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Gives each value of the field `number`, of bytes or messages, to `take` and the message
/// without it to `rest`. False where it is no message.
static bool splitMessage(StringRef message, int number, llvm::function_ref<bool(StringRef)> take,
                         std::string &rest) {
  using Wire = ::google::protobuf::internal::WireFormatLite;
  const uint32_t wanted = Wire::MakeTag(number, Wire::WIRETYPE_LENGTH_DELIMITED);
  ::google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t *>(message.data()),
                                                 message.size());
  for (int begin = 0; begin < int(message.size()); begin = input.CurrentPosition()) {
    uint32_t tag = input.ReadTag();
    if (tag == 0 || !Wire::SkipField(&input, tag))
      return false;
    StringRef field = message.slice(begin, input.CurrentPosition());
    if (tag != wanted) {
      rest += field;
      continue;
    }
    ::google::protobuf::io::CodedInputStream head(reinterpret_cast<const uint8_t *>(field.data()),
                                                  field.size());
    uint32_t size = 0;
    if (head.ReadTag() == 0 || !head.ReadVarint32(&size) || !take(field.take_back(size)))
      return false;
  }
  return true;
}

static void appendField(std::string &message, int number, StringRef value) {
  using Wire = ::google::protobuf::internal::WireFormatLite;
  ::google::protobuf::io::StringOutputStream stream(&message);
  ::google::protobuf::io::CodedOutputStream output(&stream);
  output.WriteTag(Wire::MakeTag(number, Wire::WIRETYPE_LENGTH_DELIMITED));
  output.WriteVarint32(value.size());
  output.WriteRaw(value.data(), value.size());
}

namespace {
/// Reads a model without the raw data of large initializers.
class ModelReader {
public:
  ModelReader(StringRef path, StringRef bytes) : path(path), bytes(bytes) {}
  bool read(Model &model);

private:
  bool splitGraph(StringRef graph);
  bool splitInitializer(StringRef tensor, std::string &graph);

  StringRef path, bytes;
  std::string rest;
  /// For each initializer.
  std::vector<StringRef> rawData;
};
} // namespace

/// Of several values the last one counts. Small ones remain.
bool ModelReader::splitInitializer(StringRef tensor, std::string &graph) {
  constexpr int field = TensorProto::kRawDataFieldNumber;
  std::string without;
  StringRef &data = rawData.emplace_back();
  auto take = [&](StringRef value) {
    data = value;
    return true;
  };
  if (!splitMessage(tensor, field, take, without))
    return false;
  if (data.size() < kLeastWeightBytes) {
    data = {};
    without = tensor.str();
  }
  appendField(graph, ::onnx::GraphProto::kInitializerFieldNumber, without);
  return true;
}

bool ModelReader::splitGraph(StringRef graph) {
  std::string without;
  auto take = [&](StringRef tensor) { return splitInitializer(tensor, without); };
  if (!splitMessage(graph, ::onnx::GraphProto::kInitializerFieldNumber, take, without))
    return false;
  appendField(rest, ::onnx::ModelProto::kGraphFieldNumber, without);
  return true;
}

bool ModelReader::read(Model &model) {
  auto take = [&](StringRef graph) { return splitGraph(graph); };
  if (!splitMessage(bytes, ::onnx::ModelProto::kGraphFieldNumber, take, rest) ||
      !model.proto.ParseFromString(rest))
    return false;
  const auto &initializers = model.proto.graph().initializer();
  for (auto [tensor, data] : llvm::zip(initializers, rawData))
    if (!data.empty())
      model.rawData[&tensor] = {path, uint64_t(data.data() - bytes.data()), data.size()};
  return true;
}

std::unique_ptr<Model> imports::readModel(StringRef path, Report error) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file) {
    error() << "cannot read: " << file.getError().message();
    return nullptr;
  }
  auto model = std::make_unique<Model>();
  model->path = path.str();
  StringRef bytes = (*file)->getBuffer();
  // An empty file would parse as a model without anything.
  if (bytes.empty() || bytes.size() > INT32_MAX || !ModelReader(path, bytes).read(*model) ||
      !model->proto.has_graph()) {
    error() << "expected an ONNX model, found a broken or truncated file";
    return nullptr;
  }
  return model;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool imports::isAddressable(ArrayRef<int64_t> shape) {
  constexpr size_t mostDims = 32;
  constexpr int64_t mostSize = INT32_MAX, mostElements = int64_t(1) << 40;
  int64_t count = 1;
  for (int64_t size : shape) {
    if (ShapedType::isDynamic(size) || size == 0)
      continue;
    if (size < 0 || size > mostSize || size > mostElements / count)
      return false;
    count *= size;
  }
  return shape.size() <= mostDims;
}

Type imports::getElementType(int32_t dataType, MLIRContext *context) {
  Builder b(context);
  switch (dataType) {
  case TensorProto::FLOAT:
    return b.getF32Type();
  case TensorProto::DOUBLE:
    return b.getF64Type();
  case TensorProto::FLOAT16:
    return b.getF16Type();
  case TensorProto::BFLOAT16:
    return b.getBF16Type();
  case TensorProto::BOOL:
    return b.getI1Type();
  case TensorProto::INT8:
    return b.getI8Type();
  case TensorProto::INT16:
    return b.getI16Type();
  case TensorProto::INT32:
    return b.getI32Type();
  case TensorProto::INT64:
    return b.getI64Type();
  default:
    return nullptr;
  }
}

Type imports::getByteType(MLIRContext *context) { return IntegerType::get(context, 32); }

std::string imports::getDataTypeName(int32_t dataType) {
  if (::onnx::TensorProto_DataType_IsValid(dataType))
    return ::onnx::TensorProto_DataType_Name(static_cast<::onnx::TensorProto_DataType>(dataType));
  return std::to_string(dataType);
}

std::string imports::describeUnsupported(int32_t dataType) {
  StringRef advice = dataType == TensorProto::UINT8
                         ? "; inputs and results of quantized numbers may be INT8 or INT16"
                     : dataType == TensorProto::UINT16 ? "; quantized numbers may be INT8 or INT16"
                                                       : "";
  return "element type " + getDataTypeName(dataType) + " is not supported" + advice.str();
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// The elements of one of the typed fields, as bytes of `T`.
template <typename T, typename Field>
static std::string packField(const Field &field) {
  std::string bytes;
  for (auto element : field) {
    T value = static_cast<T>(element);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(T));
  }
  return bytes;
}

static std::string packTyped(const TensorProto &tensor) {
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    return packField<float>(tensor.float_data());
  case TensorProto::DOUBLE:
    return packField<double>(tensor.double_data());
  case TensorProto::INT64:
    return packField<int64_t>(tensor.int64_data());
  case TensorProto::INT32:
    return packField<int32_t>(tensor.int32_data());
  case TensorProto::BOOL:
  case TensorProto::INT8:
  case TensorProto::UINT8:
    return packField<int8_t>(tensor.int32_data());
  default: // two bytes of bits
    return packField<uint16_t>(tensor.int32_data());
  }
}

/// Whether a file lies in the model's folder once links are followed: that of the model's name, or
/// that of the file which the name links to. One that is not there is for others to report.
static bool isBeside(StringRef path, StringRef model) {
  SmallString<128> file, folder, target;
  if (llvm::sys::fs::real_path(path, file) || llvm::sys::fs::real_path(model, target))
    return true;
  StringRef named = llvm::sys::path::parent_path(model);
  if (llvm::sys::fs::real_path(named.empty() ? "." : named, folder))
    return false;
  auto isIn = [&](StringRef parent) {
    return parent == "/" || file.starts_with((parent + "/").str());
  };
  return isIn(folder) || isIn(llvm::sys::path::parent_path(target));
}

static FailureOr<FilePart> getExternalData(const TensorProto &tensor, StringRef model,
                                           Report error) {
  FilePart data;
  StringRef location;
  for (const auto &entry : tensor.external_data()) {
    StringRef key = entry.key(), value = entry.value();
    uint64_t number = 0;
    if (key == "location")
      location = value;
    else if ((key == "offset" || key == "length") && value.getAsInteger(10, number))
      return error() << "expected a number as " << key << " of external data, found '" << value
                     << "'";
    if (key == "offset")
      data.offset = number;
    else if (key == "length")
      data.length = number;
  }
  bool leavesFolder = llvm::is_contained(
      llvm::make_range(llvm::sys::path::begin(location), llvm::sys::path::end(location)), "..");
  data.path = llvm::sys::path::parent_path(model);
  llvm::sys::path::append(data.path, location);
  if (location.empty() || llvm::sys::path::is_absolute(location) || leavesFolder ||
      !isBeside(data.path, model))
    return error() << "expected external data in a file of the model's folder, found '" << location
                   << "'";
  return data;
}

/// Bytes of a file, mapped as long as the result lives if they are many.
static FailureOr<std::unique_ptr<llvm::MemoryBuffer>> mapPart(const FilePart &part, uint64_t size,
                                                              Report error) {
  if (part.length && *part.length != size)
    return error() << "expected " << size << " bytes of data, found " << *part.length;
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(part.path, status))
    return error() << "cannot read external data " << part.path << ": " << code.message();
  // A pipe would be waited for.
  if (!llvm::sys::fs::is_regular_file(status))
    return error() << "expected external data in a file, found " << part.path;
  uint64_t available = status.getSize();
  if (part.offset > available || size > available - part.offset)
    return error() << "expected data of " << size << " bytes at offset " << part.offset << " in "
                   << part.path << ", found a file of " << available;
  auto slice = llvm::MemoryBuffer::getFileSlice(part.path, size, part.offset);
  if (!slice)
    return error() << "cannot read external data " << part.path << ": "
                   << slice.getError().message();
  return std::move(*slice);
}

/// The bytes of a tensor, wherever it keeps them.
static FailureOr<std::unique_ptr<llvm::MemoryBuffer>>
readData(const TensorProto &tensor, uint64_t size, const Model &model, Report error) {
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    FailureOr<FilePart> part = getExternalData(tensor, model.path, error);
    if (failed(part))
      return failure();
    return mapPart(*part, size, error);
  }
  if (auto part = model.rawData.find(&tensor); part != model.rawData.end())
    return mapPart(part->second, size, error);
  std::string bytes = tensor.has_raw_data() ? tensor.raw_data() : packTyped(tensor);
  if (bytes.size() != size)
    return error() << "expected " << size << " bytes of data, found " << bytes.size();
  return llvm::MemoryBuffer::getMemBufferCopy(bytes);
}

/// Replaces all characters that C identifiers and comments may not have by `_`.
static std::string toPlain(StringRef name) {
  std::string text = name.str();
  for (char &c : text)
    if (!llvm::isAlnum(c) && c != '_' && c != '.')
      c = '_';
  return text;
}

/// Of a large one it is not asked: all of the file would be read.
static bool isSplat(ArrayRef<char> bytes, size_t width) {
  constexpr size_t most = 1 << 28;
  return bytes.size() <= most && bytes.size() >= width &&
         bytes.drop_front(width) == bytes.drop_back(width);
}

/// A resource of bytes that stay where they are.
static ElementsAttr makeWeight(RankedTensorType type, StringRef name,
                               std::unique_ptr<llvm::MemoryBuffer> data) {
  ArrayRef<char> bytes(data->getBufferStart(), data->getBufferSize());
  // A model's file aligns nothing.
  size_t width = type.getElementTypeBitWidth() / 8;
  size_t align = reinterpret_cast<uintptr_t>(bytes.data()) % width == 0 ? width : 1;
  auto keep = [data = std::move(data)](void *, size_t, size_t) {};
  return DenseResourceElementsAttr::get(
      type, toPlain(name), AsmResourceBlob(bytes, align, std::move(keep), /*dataIsMutable=*/false));
}

FailureOr<ElementsAttr> imports::getElements(const TensorProto &tensor, const Model &model,
                                             MLIRContext *context, Report error) {
  auto fail = [&] { return error() << "tensor '" << tensor.name() << "': "; };
  bool isByte = tensor.data_type() == TensorProto::UINT8;
  Type element = isByte ? getByteType(context) : getElementType(tensor.data_type(), context);
  if (!element)
    return fail() << describeUnsupported(tensor.data_type());
  SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  bool isStatic = llvm::all_of(shape, [](int64_t size) { return size >= 0; });
  if (!isStatic || !isAddressable(shape))
    return fail() << "expected a tensor " << kAddressable << ", found sizes "
                  << llvm::join(llvm::map_range(shape, [](int64_t n) { return std::to_string(n); }),
                                "x");
  auto type = RankedTensorType::get(shape, element);
  int64_t width = isByte ? 1 : std::max(element.getIntOrFloatBitWidth() / 8, 1u);
  auto data = readData(tensor, type.getNumElements() * width, model, fail);
  if (failed(data))
    return failure();
  ArrayRef<char> bytes((*data)->getBufferStart(), (*data)->getBufferSize());
  if (isWeight(type) && !isSplat(bytes, width))
    return makeWeight(type, tensor.name(), std::move(*data));
  if (isByte) {
    std::vector<int32_t> wide;
    for (char byte : bytes)
      wide.push_back(uint8_t(byte));
    return ElementsAttr(DenseElementsAttr::get(type, ArrayRef(wide)));
  }
  if (!element.isInteger(1))
    return ElementsAttr(DenseElementsAttr::getFromRawBuffer(type, bytes));
  return ElementsAttr(DenseElementsAttr::get(
      type, llvm::map_to_vector(bytes, [](char byte) { return byte != 0; })));
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

std::optional<ArrayRef<char>> imports::getBytes(ElementsAttr constant) {
  auto type = cast<RankedTensorType>(constant.getShapedType());
  int64_t bits = type.getElementTypeBitWidth();
  ArrayRef<char> bytes = getConstantBytes(constant);
  if (bits % 8 != 0 || int64_t(bytes.size()) != type.getNumElements() * (bits / 8))
    return std::nullopt;
  return bytes;
}

bool imports::isWeight(RankedTensorType type) {
  return isa<FloatType>(type.getElementType()) &&
         type.getNumElements() * type.getElementTypeBitWidth() / 8 >= kLeastWeightBytes;
}

ElementsAttr imports::makeBytes(ElementsAttr from, RankedTensorType type,
                                function_ref<void(MutableArrayRef<char>)> fill) {
  size_t width = type.getElementTypeBitWidth() / 8, size = type.getNumElements() * width;
  auto resource = dyn_cast<DenseResourceElementsAttr>(from);
  if (!resource || !isWeight(type)) {
    std::vector<char> bytes(size);
    fill(bytes);
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  }
  auto blob = HeapAsmResourceBlob::allocate(size, width);
  fill(blob.getMutableData());
  return DenseResourceElementsAttr::get(type, resource.getRawHandle().getKey(), std::move(blob));
}
