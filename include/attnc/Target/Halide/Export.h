//===- Export.h - halide pipelines into libHalide ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No Halide type and no exception crosses this header.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TARGET_HALIDE_EXPORT_H
#define ATTNC_TARGET_HALIDE_EXPORT_H

#include "attnc/Dialect/Halide/Halide.h"

#include <string>

namespace mlir::halide {

using attn::Artefact;

/// Makes pipelines kernels that `KernelOpInterface::compile` can compile.
void registerKernelTarget(DialectRegistry &registry);

/// Compiles `pipeline` for a Halide target (`host`: this machine) to each file of `files`. The
/// function's C symbol is the pipeline's name, its arguments a user context, then one
/// halide_buffer_t for each input and output. Errors of Halide are diagnostics at the op that
/// caused them.
LogicalResult exportPipeline(PipelineOp pipeline, StringRef target,
                             const attn::ArtefactPaths &files);

/// Compiles Halide's runtime to `artefact`, an object or bitcode, at `path`: for any CPU of
/// `target`'s architecture, with support for its GPU.
LogicalResult exportRuntime(StringRef target, Artefact artefact, StringRef path, Location loc);

/// Whether a CPU kernel calls libm's function for each element of `op`, rather than computing
/// vectors.
bool callsLibm(Operation *op);

/// The target in full (`host` resolved), or an error text.
FailureOr<std::string> resolveTarget(StringRef target, std::string &error);

} // namespace mlir::halide

#endif // ATTNC_TARGET_HALIDE_EXPORT_H
