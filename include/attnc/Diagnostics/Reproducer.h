//===- Reproducer.h - crash reproducers -------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reproducer is a file with the command line and the spec as read. It is rendered in advance,
// since a signal handler may not allocate.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIAGNOSTICS_REPRODUCER_H
#define ATTNC_DIAGNOSTICS_REPRODUCER_H

#include "mlir/Support/LLVM.h"

namespace attnc {

/// Keeps the command line for reproducers.
void setCommandLine(int argc, char **argv);

/// From here on a crash writes a reproducer with `spec`, MLIR as text or bytecode, and ends the
/// process with InternalError.
void prepareReproducer(llvm::StringRef spec);

/// The same with an ONNX model, while it is being imported. The command line is its doc_string.
void prepareModelReproducer(llvm::StringRef model);

/// Writes the file, if one was prepared, and says so. Safe in a signal handler.
void writeReproducer();

/// From here on, running out of memory ends the process with InputError: the sizes are the
/// user's.
void reportWhenOutOfMemory();

} // namespace attnc

#endif // ATTNC_DIAGNOSTICS_REPRODUCER_H
