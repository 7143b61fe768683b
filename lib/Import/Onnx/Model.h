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
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallString.h"

#include <memory>

namespace mlir::attn::imports {

using Report = function_ref<InFlightDiagnostic()>;

/// A part of a file.
struct FilePart {
  SmallString<128> path;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

/// A parsed model; the bytes of large initializers stay in their file.
struct Model {
  ::onnx::ModelProto proto;
  llvm::DenseMap<const ::onnx::TensorProto *, FilePart> rawData;
  std::string path;
};

/// The model in a file; null after a diagnostic.
std::unique_ptr<Model> readModel(StringRef path, Report error);

/// Whether the sizes of a tensor that are known can be computed with: so many that no product of
/// them, of their bytes and of a stride or two overflows.
bool isAddressable(ArrayRef<int64_t> shape);
constexpr llvm::StringLiteral kAddressable =
    "of rank 32 or less, sizes below 2^31 and at most 2^40 elements";

/// The MLIR type of an ONNX element type; null where there is none.
Type getElementType(int32_t dataType, MLIRContext *context);
/// The type of UINT8 within a graph: MLIR's arith has no unsigned types, and i32 holds all of it.
Type getByteType(MLIRContext *context);

/// ONNX's name of an element type: `FLOAT16`.
std::string getDataTypeName(int32_t dataType);
/// The error for an element type that has no MLIR type here.
std::string describeUnsupported(int32_t dataType);

/// The elements of a tensor of `model`.
FailureOr<ElementsAttr> getElements(const ::onnx::TensorProto &tensor, const Model &model,
                                    MLIRContext *context, Report error);

/// The bytes of all elements of a constant, in order; none where they are not at hand, are all
/// one, or do not fill bytes.
std::optional<ArrayRef<char>> getBytes(ElementsAttr constant);

/// Smaller constants cost more as resources than they save.
constexpr int64_t kLeastWeightBytes = 1 << 16;
/// Whether a constant becomes a resource, freed once nothing reads it: one of many floats. The
/// importer evaluates other constants.
bool isWeight(RankedTensorType type);

/// `from` as a constant of `type`; `fill` writes its bytes.
ElementsAttr makeBytes(ElementsAttr from, RankedTensorType type,
                       function_ref<void(MutableArrayRef<char>)> fill);

} // namespace mlir::attn::imports

#endif // ATTNC_LIB_IMPORT_ONNX_MODEL_H
