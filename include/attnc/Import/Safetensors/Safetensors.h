//===- Safetensors.h - tensors of a safetensors file ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_IMPORT_SAFETENSORS_SAFETENSORS_H
#define ATTNC_IMPORT_SAFETENSORS_SAFETENSORS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringMap.h"

#include <memory>

namespace llvm {
class MemoryBuffer;
} // namespace llvm

namespace mlir::attn {

/// A tensor to be written. `data` is row-major, little-endian, of exactly the type's size.
struct NamedTensor {
  std::string name;
  Type elementType;
  ArrayRef<int64_t> shape;
  StringRef data;
};

/// What a safetensors file with the data of `tensors`, in this order, begins with: the header's
/// length and the header, padded so that the data begins at a multiple of 64 bytes. The header's
/// JSON begins with `start`, which describes metadata.
std::string makeSafetensorsHeader(ArrayRef<NamedTensor> tensors,
                                  StringRef start = "{\"__metadata__\":{}");

/// A safetensors file: the header's length in 8 bytes, a JSON header, data.
/// https://huggingface.co/docs/safetensors. The file stays mapped, and its data is not copied, as
/// long as this object or an attribute made here exists: it must not be truncated meanwhile.
class Safetensors {
public:
  struct Entry {
    /// The file's name of the element type.
    StringRef dtype;
    /// Null if specs have no such element type.
    RankedTensorType type;
    /// Row-major, little-endian, of exactly the type's size.
    ArrayRef<char> data;
  };

  /// Reads the header and checks that the tensors fill the file without gaps or overlap. Errors
  /// name the file and are at `loc`.
  static FailureOr<Safetensors> open(StringRef path, Location loc);

  /// Null if the file has no tensor of that name.
  const Entry *find(StringRef name) const;
  /// Null if the file has no tensor, or several.
  const Entry *getOnly() const { return entries.size() == 1 ? &entries.begin()->second : nullptr; }
  /// A tensor whose type is not null, as a constant.
  ElementsAttr getAttr(StringRef name, const Entry &entry) const;

  /// The name of `elementType` in files: F32 for f32. Empty if there is none.
  static StringRef getDtype(Type elementType);

private:
  llvm::StringMap<Entry> entries;
  std::shared_ptr<llvm::MemoryBuffer> file;
};

} // namespace mlir::attn

#endif // ATTNC_IMPORT_SAFETENSORS_SAFETENSORS_H
