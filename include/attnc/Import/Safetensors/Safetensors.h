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

/// A safetensors file: 8 bytes that hold the header's length, a JSON header, data.
/// https://huggingface.co/docs/safetensors. The file stays mapped, and what it holds is not
/// copied, for as long as this or an attribute made here is there: it must not be cut short
/// meanwhile.
class Safetensors {
public:
  struct Entry {
    /// As the file calls the elements.
    StringRef dtype;
    /// Null where no spec has such elements.
    RankedTensorType type;
    /// Row-major, little-endian, of exactly the type's size.
    ArrayRef<char> data;
  };

  /// Reads the header and checks that the tensors are all that the file holds, each at a place
  /// of its own. Errors name the file and come at `loc`.
  static FailureOr<Safetensors> open(StringRef path, Location loc);

  /// Null where the file has no tensor of that name.
  const Entry *find(StringRef name) const;
  /// A tensor of the file, one that has a type, as a constant.
  ElementsAttr getAttr(StringRef name, const Entry &entry) const;

  /// What the file calls `elementType`: F32 for f32. Empty where it has no such type.
  static StringRef getDtype(Type elementType);

private:
  llvm::StringMap<Entry> entries;
  std::shared_ptr<llvm::MemoryBuffer> file;
};

} // namespace mlir::attn

#endif // ATTNC_IMPORT_SAFETENSORS_SAFETENSORS_H
