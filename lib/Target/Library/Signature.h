//===- Signature.h - a library's C interface --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_LIBRARY_SIGNATURE_H
#define ATTNC_LIB_TARGET_LIBRARY_SIGNATURE_H

#include "attnc/Target/Library/DLPack.h"
#include "attnc/Target/Library/Library.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::attn {

/// The version of the emitted C interface, and of the metadata.
constexpr int abiVersion = 1;

/// One dimension: its extent, or -1, and its symbol, which may be empty.
struct Dim {
  int64_t extent;
  std::string symbol;
};

/// One tensor of the C interface.
struct CParameter {
  std::string name;
  DLDataType dtype;
  std::vector<Dim> dims;
  bool isOutput;
  /// The input whose memory an output may reuse.
  std::optional<unsigned> inPlaceOf;

  /// Its shape as the header prints it, as in `[batch, 8, ?, 64]`.
  std::string shape() const;
};

/// The file beside a library that holds its large constants.
struct WeightsInfo {
  /// Of the data, in hexadecimal digits.
  std::string sha256;
  uint64_t dataOffset, fileBytes;
};

/// The C interface: inputs, then outputs.
struct Signature {
  std::string name;
  std::vector<CParameter> tensors;
  /// Whether kernels run on a GPU, at least in one of the library's variants.
  bool onDevice = false;
  /// Whether several processes may share its tensors.
  bool isSpread = false;
  /// Whether kernels call attnc_multiply_tiles.
  bool usesTiles = false;
  /// Whether the times of kernels are exported.
  bool isProfiled = false;
  /// Set if large constants are in a file.
  std::optional<WeightsInfo> weights;

  /// The names of `tensors` as C parameters: distinct identifiers.
  std::vector<std::string> parameters() const;
  std::string getProfileSymbol() const { return name + "_profile"; }
  /// The symbols an emitted library exports.
  std::vector<std::string> symbols() const;
};

/// Reads the arguments of a host function before its workspace is planned. Anything the C interface
/// can't express is a diagnostic at the function.
FailureOr<Signature> readSignature(func::FuncOp host, StringRef name);

/// The name of buildRuntime's library.
inline StringRef getRuntimeName() { return "attnc_runtime"; }

/// See Library::headersBeside.
std::vector<std::pair<StringRef, StringRef>> getHeadersBeside(const Signature &signature);

/// NAME.h.
std::string emitHeader(const Signature &signature, StringRef target, const LibraryOptions &options);

} // namespace mlir::attn

#endif // ATTNC_LIB_TARGET_LIBRARY_SIGNATURE_H
