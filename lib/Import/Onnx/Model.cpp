//===- Model.cpp - ONNX files ---------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing in a file is trusted: sizes are checked before anything is read by them.
//
//===----------------------------------------------------------------------===//

#include "Model.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;
using ::onnx::TensorProto;

std::unique_ptr<::onnx::ModelProto> imports::readModel(StringRef path, Report error) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file) {
    error() << "cannot read: " << file.getError().message();
    return nullptr;
  }
  auto model = std::make_unique<::onnx::ModelProto>();
  StringRef bytes = (*file)->getBuffer();
  // An empty file would parse as a model without anything.
  if (bytes.empty() || bytes.size() > INT32_MAX ||
      !model->ParseFromArray(bytes.data(), bytes.size()) || !model->has_graph()) {
    error() << "expected an ONNX model, found a broken or truncated file";
    return nullptr;
  }
  return model;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

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

std::string imports::getDataTypeName(int32_t dataType) {
  if (::onnx::TensorProto_DataType_IsValid(dataType))
    return ::onnx::TensorProto_DataType_Name(static_cast<::onnx::TensorProto_DataType>(dataType));
  return std::to_string(dataType);
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
    return packField<int8_t>(tensor.int32_data());
  default: // two bytes of bits
    return packField<uint16_t>(tensor.int32_data());
  }
}

/// Where external data lies: a file and a part of it.
struct ExternalData {
  SmallString<128> path;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

static FailureOr<ExternalData> getExternalData(const TensorProto &tensor, StringRef folder,
                                               Report error) {
  ExternalData data;
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
  if (location.empty() || llvm::sys::path::is_absolute(location) || leavesFolder)
    return error() << "expected external data in a file of the model's folder, found '" << location
                   << "'";
  data.path = folder;
  llvm::sys::path::append(data.path, location);
  return data;
}

static FailureOr<std::string> readExternal(const TensorProto &tensor, StringRef folder,
                                           uint64_t size, Report error) {
  FailureOr<ExternalData> data = getExternalData(tensor, folder, error);
  if (failed(data))
    return failure();
  if (data->length && *data->length != size)
    return error() << "expected " << size << " bytes of external data, found " << *data->length;
  uint64_t available = 0;
  if (std::error_code code = llvm::sys::fs::file_size(data->path, available))
    return error() << "cannot read external data " << data->path << ": " << code.message();
  if (data->offset > available || size > available - data->offset)
    return error() << "expected external data of " << size << " bytes at offset " << data->offset
                   << " in " << data->path << ", found a file of " << available;
  auto slice = llvm::MemoryBuffer::getFileSlice(data->path, size, data->offset);
  if (!slice)
    return error() << "cannot read external data " << data->path << ": "
                   << slice.getError().message();
  return (*slice)->getBuffer().str();
}

/// The bytes of `count` elements, wherever the tensor keeps them.
static FailureOr<std::string> getBytes(const TensorProto &tensor, uint64_t size, StringRef folder,
                                       Report error) {
  if (tensor.data_location() == TensorProto::EXTERNAL)
    return readExternal(tensor, folder, size, error);
  std::string bytes = tensor.has_raw_data() ? tensor.raw_data() : packTyped(tensor);
  if (bytes.size() != size)
    return error() << "expected " << size << " bytes of data, found " << bytes.size();
  return bytes;
}

FailureOr<DenseElementsAttr> imports::getElements(const TensorProto &tensor, StringRef folder,
                                                  MLIRContext *context, Report error) {
  auto fail = [&] { return error() << "tensor '" << tensor.name() << "': "; };
  Type element = getElementType(tensor.data_type(), context);
  if (!element)
    return fail() << "element type " << getDataTypeName(tensor.data_type()) << " is not supported";
  SmallVector<int64_t> shape;
  int64_t count = 1;
  for (int64_t size : tensor.dims()) {
    shape.push_back(size);
    if (size < 0 || llvm::MulOverflow(count, size, count) || count > (int64_t(1) << 40))
      return fail() << "expected sizes that fit into memory, found " << size;
  }
  int64_t width = std::max(element.getIntOrFloatBitWidth() / 8, 1u);
  FailureOr<std::string> bytes = getBytes(tensor, count * width, folder, fail);
  if (failed(bytes))
    return failure();
  auto type = RankedTensorType::get(shape, element);
  if (!element.isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(type, *bytes);
  return DenseElementsAttr::get(type,
                                llvm::map_to_vector(*bytes, [](char byte) { return byte != 0; }));
}
