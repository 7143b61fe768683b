//===- DiagnosticPrinter.h - MLIR's diagnostics on stderr --------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_SPEC_DIAGNOSTICPRINTER_H
#define ATTNC_LIB_SPEC_DIAGNOSTICPRINTER_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"

namespace attnc {

/// Prints diagnostics with their source lines and counts the errors. A command that lowers a spec
/// twice prints its warnings and remarks once.
class DiagnosticPrinter : public mlir::SourceMgrDiagnosticHandler {
public:
  DiagnosticPrinter(llvm::SourceMgr &sources, mlir::MLIRContext *context);
  ~DiagnosticPrinter();

private:
  bool isRepeated(mlir::Diagnostic &diagnostic);
  llvm::LogicalResult printWithoutLine(mlir::Diagnostic &diagnostic);
  void print(mlir::Diagnostic &diagnostic);

  mlir::DiagnosticEngine &engine;
  mlir::DiagnosticEngine::HandlerID counter;
  llvm::StringSet<> said;
};

} // namespace attnc

#endif // ATTNC_LIB_SPEC_DIAGNOSTICPRINTER_H
