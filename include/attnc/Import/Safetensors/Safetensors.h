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
