//===- ConstantBytes.h - the bytes of a constant ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_CONSTANTBYTES_H
#define ATTNC_DIALECT_ATTN_CONSTANTBYTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

namespace mlir::attn {

/// Bytes of one element in memory: 8 of an index, 1 of an i1.
inline int64_t getElementBytes(Type type) {
  unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return (bits + 7) / 8;
}

/// The bytes of a constant, row-major; of a splat, those of one element. Empty if `value` is null,
/// not a constant, or a resource without its blob.
inline ArrayRef<char> getConstantBytes(Attribute value) {
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(value))
    return dense.getRawData();
  if (auto resource = dyn_cast_or_null<DenseResourceElementsAttr>(value))
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      return blob->getData();
  return {};
}

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_CONSTANTBYTES_H
