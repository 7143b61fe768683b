//===- Model.h - ONNX files ----------------------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_IMPORT_ONNX_MODEL_H
#define ATTNC_LIB_IMPORT_ONNX_MODEL_H

#include "onnx-ml.pb.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

#include <memory>

namespace mlir::attn::imports {

using Report = function_ref<InFlightDiagnostic()>;

/// The model in a file; null after a diagnostic.
std::unique_ptr<::onnx::ModelProto> readModel(StringRef path, Report error);

/// The MLIR type of an ONNX element type; null where there is none.
Type getElementType(int32_t dataType, MLIRContext *context);

/// ONNX's name of an element type: `FLOAT16`.
std::string getDataTypeName(int32_t dataType);

/// The tensor's elements. External data is sought in `folder`.
FailureOr<DenseElementsAttr> getElements(const ::onnx::TensorProto &tensor, StringRef folder,
                                         MLIRContext *context, Report error);

} // namespace mlir::attn::imports

#endif // ATTNC_LIB_IMPORT_ONNX_MODEL_H
