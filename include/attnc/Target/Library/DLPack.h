//===- DLPack.h - element types in DLPack's terms ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TARGET_LIBRARY_DLPACK_H
#define ATTNC_TARGET_LIBRARY_DLPACK_H

#include "mlir/IR/Types.h"

#include "dlpack.h"

#include <optional>

namespace mlir::attn {

/// The DLPack type of an element, in one lane; none if DLPack has no such type. An i1 is a bool of
/// 8 bits.
std::optional<DLDataType> getDLDataType(Type element);

/// `f32`, `bf16`, `i64`, `u8`, `bool`
std::string getDtypeName(DLDataType dtype);

/// The C constant of DLPack's header: `kDLFloat`.
StringRef getCodeName(uint8_t code);

} // namespace mlir::attn

#endif // ATTNC_TARGET_LIBRARY_DLPACK_H
