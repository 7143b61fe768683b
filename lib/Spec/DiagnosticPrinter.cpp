//===- DiagnosticPrinter.cpp - MLIR's diagnostics on stderr ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DiagnosticPrinter.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Diagnostics/Terminal.h"
#include "attnc/Spec/Place.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace attnc;

/// The file, line and column of a spec; for a model, which has no lines, the file and the node.
static std::pair<std::string, std::string> splitPlace(Location loc) {
  auto file = loc->findInstanceOf<FileLineColLoc>();
  if (!file)
    return {};
  std::string name = file.getFilename().str();
  if (file.getLine() != 0)
    return {name + ":" + std::to_string(file.getLine()) + ":" + std::to_string(file.getColumn()),
            ""};
  auto node = loc->findInstanceOf<NameLoc>();
  return {name, node ? node.getName().str() : ""};
}

std::string attnc::describePlace(Location loc) {
  auto [file, node] = splitPlace(loc);
  return node.empty() ? file : file + ": " + node;
}

/// Says which op of the dialect an op without a dialect's name may be, where MLIR lists dialects.
static LogicalResult printUnknownOp(Diagnostic &diagnostic) {
  std::string text = diagnostic.str();
  StringRef name = text;
  if (!name.consume_front("Dialect `' not found for custom op '"))
    return failure();
  name = name.take_until([](char c) { return c == '\''; });
  std::string op = ("attn." + name).str();
  if (!RegisteredOperationName::lookup(op, diagnostic.getLocation().getContext()))
    return failure();
  emitError(diagnostic.getLocation(), "custom op '")
      << name << "' is unknown; did you mean '" << op << "'?";
  return success();
}

DiagnosticPrinter::DiagnosticPrinter(llvm::SourceMgr &sources, MLIRContext *context)
    : SourceMgrDiagnosticHandler(sources, context, errorStream()),
      engine(context->getDiagEngine()) {
  // Handlers are called newest first; failure passes the diagnostic on.
  counter = engine.registerHandler([this](Diagnostic &diagnostic) {
    if (succeeded(printUnknownOp(diagnostic)))
      return success();
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      countError();
    else if (isRepeated(diagnostic))
      return success();
    return printWithoutLine(diagnostic);
  });
}

bool DiagnosticPrinter::isRepeated(Diagnostic &diagnostic) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << diagnostic.getLocation() << ": " << diagnostic;
  return !said.insert(text).second;
}

DiagnosticPrinter::~DiagnosticPrinter() { engine.eraseHandler(counter); }

/// Model nodes have no line: prints them with the place by describePlace.
LogicalResult DiagnosticPrinter::printWithoutLine(Diagnostic &diagnostic) {
  auto file = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>();
  if (!file || file.getLine() != 0)
    return failure();
  print(diagnostic);
  for (Diagnostic &note : diagnostic.getNotes())
    print(note);
  return success();
}

static llvm::SourceMgr::DiagKind getKind(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return llvm::SourceMgr::DK_Note;
  case DiagnosticSeverity::Warning:
    return llvm::SourceMgr::DK_Warning;
  case DiagnosticSeverity::Error:
    return llvm::SourceMgr::DK_Error;
  case DiagnosticSeverity::Remark:
    return llvm::SourceMgr::DK_Remark;
  }
  llvm_unreachable("not a severity");
}

void DiagnosticPrinter::print(Diagnostic &diagnostic) {
  auto [file, node] = splitPlace(diagnostic.getLocation());
  std::string text = (node.empty() ? "" : node + ": ") + diagnostic.str();
  llvm::SMDiagnostic(file, getKind(diagnostic.getSeverity()), text).print(nullptr, errorStream());
}
