//===- Fuzz.h - what fuzz targets share -------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A finding is whatever ends the process: a sanitizer's report, an assertion, or require().
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TEST_FUZZ_FUZZ_H
#define ATTNC_TEST_FUZZ_FUZZ_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include <optional>
#include <string>

namespace attnc::fuzz {

/// Ends the process with `message` where a promise is broken.
void require(bool holds, llvm::StringRef message);

/// A file for code that reads paths, in a folder of its own.
class InputFile {
public:
  explicit InputFile(llvm::StringRef name);
  ~InputFile();
  llvm::StringRef getPath() const { return path; }
  void write(llvm::StringRef bytes) const;

private:
  std::string folder, path;
};

/// The header of a binary format as text: an input `{HEADER}\nDATA` is split at the newline, so
/// that a mutation of the header does not spoil its length. None for other inputs, which are
/// files as they are.
std::optional<std::pair<llvm::StringRef, llvm::StringRef>> splitHeader(llvm::StringRef input);

/// A context of one thread, and the errors of one input.
class Session {
public:
  Session();
  mlir::MLIRContext *getContext() { return &context; }
  bool hasErrors() const { return numErrors > 0; }
  /// A step fails with a diagnostic, or gives what verifies.
  void check(mlir::ModuleOp module, bool succeeded, llvm::StringRef step);

private:
  mlir::MLIRContext context;
  unsigned numErrors = 0;
};

} // namespace attnc::fuzz

#endif // ATTNC_TEST_FUZZ_FUZZ_H
