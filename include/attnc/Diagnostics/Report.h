//===- Report.h - errors and exit codes -------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions return success or failure; the kinds of errors reported decide the exit code. Errors at
// a location in a spec are MLIR diagnostics; these functions report the rest: files, options,
// calls. Each prints one line on stderr and may be called from any thread.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIAGNOSTICS_REPORT_H
#define ATTNC_DIAGNOSTICS_REPORT_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/Twine.h"

namespace attnc {

enum ExitCode {
  Done = 0,
  /// The spec, a file or a size is wrong.
  InputError = 1,
  /// The command line is wrong.
  UsageError = 2,
  /// A defect of attnc.
  InternalError = 3
};

/// `PLACE: error: MESSAGE`. The place is a file, `--option` or the like. Always failure.
llvm::LogicalResult reportError(const llvm::Twine &place, const llvm::Twine &message);

/// The same for a command line that contradicts itself.
llvm::LogicalResult reportUsage(const llvm::Twine &place, const llvm::Twine &message);

/// The same for a defect of attnc.
llvm::LogicalResult reportInternal(const llvm::Twine &message);

/// `attnc: note: MESSAGE`.
void reportNote(const llvm::Twine &message);

/// Counts an error that was printed elsewhere.
void countError();

/// The exit code of a command that returned `result`, given the errors reported. Flushes stdout;
/// writes the reproducer after a defect of attnc.
int finish(llvm::LogicalResult result);

} // namespace attnc

#endif // ATTNC_DIAGNOSTICS_REPORT_H
