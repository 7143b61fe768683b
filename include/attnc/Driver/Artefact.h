//===- Artefact.h - kinds of compiled files ---------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DRIVER_ARTEFACT_H
#define ATTNC_DRIVER_ARTEFACT_H

#include "attnc/Interfaces/KernelOpInterface.h"

namespace attnc {

/// In the order of creation: per graph, per kernel, per library.
enum class Kind {
  attn,
  fused,
  halide,
  stmt,
  stmt_html,
  llvm_assembly,
  assembly,
  device_code,
  object,
  static_library,
  shared_library,
  cmake_package,
  pkg_config,
  sbom,
  c_header,
  json
};

struct KindInfo {
  Kind kind;
  /// The name in `--emit`, and its help.
  llvm::StringRef name, extension, text;
  /// Whether the file is text.
  bool isText;
  /// The artefact that each kernel is compiled to; none for kinds made once.
  std::optional<mlir::attn::Artefact> artefact;
};

/// All kinds, in the order of the help.
llvm::ArrayRef<KindInfo> getKinds();

const KindInfo &getInfo(Kind kind);

/// The extension for a target: code for a GPU is named after its language.
llvm::StringRef getExtension(const KindInfo &info, llvm::StringRef target);

/// Whether files of this kind define the compiled function.
bool definesFunction(Kind kind);

} // namespace attnc

#endif // ATTNC_DRIVER_ARTEFACT_H
