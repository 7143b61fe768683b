//===- Import.h - ONNX models as attn graphs --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_IMPORT_ONNX_IMPORT_H
#define ATTNC_IMPORT_ONNX_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::attn {

/// Reads an ONNX model and gives a module with one function, named after the graph.
/// Inputs and outputs keep their names as `attn.name`, made into C identifiers where
/// they are not, and their symbolic dimensions as `attn.dims`; an initializer is a
/// constant even where it is listed as an input. External data is read from files
/// beside the model. Null after a diagnostic that names the node, its op and opset
/// and why it can't be imported.
OwningOpRef<ModuleOp> importOnnx(StringRef path, MLIRContext *context);

} // namespace mlir::attn

#endif // ATTNC_IMPORT_ONNX_IMPORT_H
