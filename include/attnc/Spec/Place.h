//===- Place.h - locations in words -----------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_SPEC_PLACE_H
#define ATTNC_SPEC_PLACE_H

#include "mlir/IR/Location.h"

#include <string>

namespace attnc {

/// A location for messages: `spec.mlir:3:8`, or `model.onnx: node 'a' (Add, opset 17)`. Empty if
/// unknown.
std::string describePlace(mlir::Location loc);

} // namespace attnc

#endif // ATTNC_SPEC_PLACE_H
