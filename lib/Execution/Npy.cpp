//===- Npy.cpp - numpy's files --------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Execution/Npy.h"

#include "attnc/Diagnostics/Report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace mlir;
using namespace attnc;

static constexpr StringLiteral magic("\x93NUMPY");

/// numpy's kind and size of an element type: `f4`, `i8`, `b1`; empty if numpy has none.
static std::string getDtype(Type type) {
  if (type.isInteger(1))
    return "b1";
  if (type.isBF16() || isa<Float8E4M3FNType>(type) || !type.isIntOrFloat() ||
      type.getIntOrFloatBitWidth() % 8 != 0)
    return "";
  char kind = isa<FloatType>(type) ? 'f' : type.isUnsignedInteger() ? 'u' : 'i';
  return kind + std::to_string(type.getIntOrFloatBitWidth() / 8);
}

bool attnc::hasDtype(Type type) { return !getDtype(type).empty(); }

/// A dtype as a spec's type: `f4` is f32.
static std::string describeDtype(StringRef dtype) {
  unsigned size;
  if (dtype == "b1")
    return "i1";
  if (dtype.size() < 2 || !StringRef("fiu").contains(dtype[0]) ||
      dtype.drop_front().getAsInteger(10, size))
    return "numpy's " + dtype.str();
  return (dtype[0] == 'u' ? "ui" : dtype.substr(0, 1).str()) + std::to_string(size * 8);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
struct Header {
  std::string dtype; // without the byte order
  bool fortranOrder = false;
  SmallVector<int64_t> shape;
  StringRef data;
};

class Reader {
public:
  Reader(StringRef path, StringRef name) : path(path), name(name) {}

  FailureOr<Header> readHeader(StringRef file);
  LogicalResult error(const Twine &message) { return reportError(name, message + " in " + path); }

private:
  FailureOr<StringRef> findField(StringRef header, StringRef field);
  LogicalResult readDtype(StringRef text, Header &header);
  LogicalResult readShape(StringRef text, Header &header);

  StringRef path, name;
};
} // namespace

FailureOr<StringRef> Reader::findField(StringRef header, StringRef field) {
  for (StringRef quote : {"'", "\""}) {
    size_t at = header.find((quote + field + quote).str());
    if (at == StringRef::npos)
      continue;
    StringRef rest = header.substr(at + field.size() + 2).ltrim();
    if (rest.consume_front(":"))
      return rest.ltrim();
  }
  return error("expected a header with '" + field + "', found none");
}

LogicalResult Reader::readDtype(StringRef text, Header &header) {
  if (text.empty() || !StringRef("'\"").contains(text[0]))
    return error("expected a plain dtype, found a structured one");
  StringRef descr = text.substr(1, text.find(text[0], 1) - 1);
  if (descr.size() > 1 && descr[0] == '>')
    return error("expected little-endian data, found dtype '" + descr + "'");
  header.dtype = descr.ltrim("<|=").str();
  return success();
}

LogicalResult Reader::readShape(StringRef text, Header &header) {
  size_t end = text.find(')');
  if (!text.consume_front("(") || end == StringRef::npos)
    return error("expected a shape, found '" + text.take_front(20) + "'");
  SmallVector<StringRef> sizes;
  text.take_front(end - 1).split(sizes, ',');
  for (StringRef size : sizes) {
    if (size.trim().empty())
      continue; // after the last comma
    if (size.trim().getAsInteger(10, header.shape.emplace_back()) || header.shape.back() < 0)
      return error("expected sizes in the shape, found '" + size.trim() + "'");
  }
  if (!getNumElements(header.shape))
    return error("expected a shape that fits into memory, found " + describe(header.shape));
  return success();
}

FailureOr<Header> Reader::readHeader(StringRef file) {
  if (!file.starts_with(magic))
    return error("expected an .npy file, found other data");
  if (file.size() < 12)
    return error("expected a header, found the end");
  unsigned version = static_cast<unsigned char>(file[6]);
  if (version < 1 || version > 3)
    return error("expected version 1 to 3, found " + Twine(version));
  size_t start = version == 1 ? 10 : 12;
  size_t length = version == 1 ? llvm::support::endian::read16le(file.data() + 8)
                               : llvm::support::endian::read32le(file.data() + 8);
  if (length > file.size() - start)
    return error("expected a header of " + Twine(length) + " bytes, found " +
                 Twine(file.size() - start));
  StringRef text = file.substr(start, length);
  FailureOr<StringRef> dtype = findField(text, "descr");
  if (failed(dtype))
    return failure();
  FailureOr<StringRef> order = findField(text, "fortran_order");
  if (failed(order))
    return failure();
  FailureOr<StringRef> shape = findField(text, "shape");
  Header header;
  if (failed(shape) || failed(readDtype(*dtype, header)) || failed(readShape(*shape, header)))
    return failure();
  header.fortranOrder = order->starts_with("True");
  header.data = file.substr(start + length);
  return header;
}

/// Copies data whose first dimension is innermost.
static void copyFortran(StringRef data, Tensor &tensor) {
  int64_t size = mlir::attn::getElementBytes(tensor.getElementType());
  ArrayRef<int64_t> shape = tensor.getShape();
  for (int64_t to = 0; to < tensor.size(); ++to) {
    int64_t rest = to, from = 0;
    int64_t stride = tensor.size();
    for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
      stride /= shape[dim];
      from += rest % shape[dim] * stride;
      rest /= shape[dim];
    }
    std::memcpy(tensor.data() + to * size, data.data() + from * size, size);
  }
}

FailureOr<Tensor> attnc::readNpy(StringRef path, StringRef name, Type elementType) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return reportError(name, "cannot read " + path + ": " + file.getError().message());
  Reader reader(path, name);
  FailureOr<Header> header = reader.readHeader((*file)->getBuffer());
  if (failed(header))
    return failure();
  std::string expected = getDtype(elementType);
  if (header->dtype != expected) {
    std::string words;
    llvm::raw_string_ostream(words) << elementType;
    return reader.error("expected " + words + ", found " + describeDtype(header->dtype));
  }
  int64_t numBytes = *getNumElements(header->shape) * mlir::attn::getElementBytes(elementType);
  if (numBytes != static_cast<int64_t>(header->data.size()))
    return reader.error("expected " + Twine(numBytes) + " bytes of data for " +
                        describe(header->shape) + ", found " + Twine(header->data.size()));
  Tensor tensor(elementType, header->shape);
  if (header->fortranOrder)
    copyFortran(header->data, tensor);
  else
    std::memcpy(tensor.data(), header->data.data(), numBytes);
  return tensor;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

std::string attnc::writeNpy(const Tensor &tensor) {
  std::string dtype = getDtype(tensor.getElementType());
  std::string header = "{'descr': '" + std::string(dtype.back() == '1' ? "|" : "<") + dtype +
                       "', 'fortran_order': False, 'shape': (";
  for (int64_t size : tensor.getShape())
    header += std::to_string(size) + ",";
  header += "), }";
  // The data starts at a multiple of 64 bytes; the header ends with a newline.
  header.append(63 - (magic.size() + 4 + header.size()) % 64, ' ');
  header += '\n';
  std::string file = magic.str() + std::string("\1\0", 2);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + header + std::string(tensor.data(), tensor.numBytes());
}
