//===- Explanation.h - fusion and kernels of a spec -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_EXPLAIN_EXPLANATION_H
#define ATTNC_EXPLAIN_EXPLANATION_H

#include "attnc/Cost/Cost.h"
#include "attnc/Execution/InputMaker.h"
#include "attnc/Interfaces/KernelOpInterface.h"
#include "attnc/Spec/Spec.h"

#include <map>

namespace attnc {

/// A remark of a pass: what fused, or why not.
struct Remark {
  std::string place, text;
};

/// The keys that a mask shows to each row, for one batch and head.
struct MaskPicture {
  int64_t qLen, kvLen;
  /// The part of all pairs of a row and a key, of the rows that were evaluated, and their number.
  double visible;
  int64_t evaluatedRows;
  /// Rows from above, keys from the left; in block characters from " " for none to "█" for all.
  std::vector<std::string> lines;
};

/// An op of the fused graph and the kernels that compute it.
struct OpKernels {
  mlir::Location loc;
  /// The op's name, its place in the spec, the type of its first result.
  std::string op, place, result;
  /// "scale 0.125", "mask reads kv_len"
  std::vector<std::string> features = {};
  /// If sizes were given.
  std::optional<MaskPicture> picture = std::nullopt;
  /// None for views, copies, and calls that belong to no op of the graph.
  std::optional<Cost> cost = std::nullopt;
  std::vector<mlir::attn::KernelOpInterface> kernels = {};
  /// Where its scalar ops are from: its own place, and those of its region.
  std::vector<mlir::Location> scalars = {};
  /// Of an op without kernels: those of other ops that compute it.
  std::vector<mlir::attn::KernelOpInterface> within = {};
  /// Of an exchange: what was compared to choose it, and whether neighbours alone take part.
  std::vector<std::string> estimates = {};
  bool isHalo = false;
};

/// What a warp's step through the main loop of a kernel for tensor cores costs on a GPU, and the
/// bound that follows: no measurement, and no kernel reaches it.
struct MainLoop {
  std::string gpu, architecture;
  /// HMMA or HGMMA among the instructions, and MUFU: exponentials and the like.
  int64_t instructions, products, special;
  /// At most; what limits it.
  double teraflops;
  std::string limit;
};

struct Explanation {
  std::string function, target;
  /// Whether the spec was a graph, fused or not; a scheduled spec has kernels only.
  bool isGraph;
  std::vector<Remark> remarks;
  std::vector<OpKernels> ops;
  /// By kernel. Empty unless kernels run on tensor cores.
  std::map<std::string, std::vector<MainLoop>> mainLoops = {};
  /// Whether they are unknown, as NVIDIA's tools are missing.
  bool lacksCudaTools = false;
};

/// For which calls masks are drawn.
struct PictureInputs {
  /// One of each symbol that no given input fixes.
  std::vector<SizeList> sizes;
  std::vector<InputSource> given;
  uint64_t seed = 0;
};

/// Lowers the spec for `target`, a complete Halide target, and records what became of its ops.
mlir::FailureOr<Explanation> explain(Spec &spec, llvm::StringRef target,
                                     const std::optional<PictureInputs> &pictured = {});

/// Prints the explanation as text.
void printText(const Explanation &explanation, llvm::raw_ostream &os);

llvm::json::Value toJson(const Explanation &explanation);

} // namespace attnc

#endif // ATTNC_EXPLAIN_EXPLANATION_H
