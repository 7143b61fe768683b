//===- DLPack.cpp - element types in DLPack's terms -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Target/Library/DLPack.h"

#include "attnc/Dialect/Attn/ConstantBytes.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace mlir::attn;

static std::optional<uint8_t> getCode(Type element) {
  if (element.isInteger(1))
    return kDLBool;
  if (element.isUnsignedInteger())
    return kDLUInt;
  if (element.isInteger())
    return kDLInt;
  if (element.isBF16())
    return kDLBfloat;
  if (isa<Float8E4M3FNType>(element))
    return kDLFloat8_e4m3fn;
  if (isa<Float16Type, Float32Type, Float64Type>(element))
    return kDLFloat;
  return std::nullopt;
}

std::optional<DLDataType> attn::getDLDataType(Type element) {
  std::optional<uint8_t> code = getCode(element);
  if (!code)
    return std::nullopt;
  return DLDataType{*code, static_cast<uint8_t>(8 * getElementBytes(element)), /*lanes=*/1};
}

std::string attn::getDtypeName(DLDataType dtype) {
  switch (dtype.code) {
  case kDLBool:
    return "bool";
  case kDLInt:
    return "i" + std::to_string(dtype.bits);
  case kDLUInt:
    return "u" + std::to_string(dtype.bits);
  case kDLBfloat:
    return "bf" + std::to_string(dtype.bits);
  case kDLFloat8_e4m3fn:
    return "f8e4m3fn";
  default:
    return "f" + std::to_string(dtype.bits);
  }
}

StringRef attn::getCodeName(uint8_t code) {
  switch (code) {
  case kDLBool:
    return "kDLBool";
  case kDLInt:
    return "kDLInt";
  case kDLUInt:
    return "kDLUInt";
  case kDLBfloat:
    return "kDLBfloat";
  case kDLFloat8_e4m3fn:
    return "kDLFloat8_e4m3fn";
  default:
    return "kDLFloat";
  }
}
