//===- Fuzz.cpp - what fuzz targets share ---------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

#include "attnc/Pipelines/Pipelines.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace attnc::fuzz;

void attnc::fuzz::require(bool holds, StringRef message) {
  if (holds)
    return;
  errs() << "found: " << message << '\n';
  std::abort();
}

InputFile::InputFile(StringRef name) {
  SmallString<128> made;
  require(!sys::fs::createUniqueDirectory("attnc-fuzz", made), "no temporary folder");
  folder = made.str().str();
  sys::path::append(made, name);
  path = made.str().str();
}

InputFile::~InputFile() { sys::fs::remove_directories(folder); }

void InputFile::write(StringRef bytes) const {
  std::error_code error;
  raw_fd_ostream os(path, error);
  os << bytes;
}

std::optional<std::pair<StringRef, StringRef>> attnc::fuzz::splitHeader(StringRef input) {
  if (!input.starts_with("{"))
    return std::nullopt;
  return input.split('\n');
}

static mlir::DialectRegistry getRegistry() {
  mlir::DialectRegistry registry;
  mlir::attn::registerAllDialects(registry);
  return registry;
}

Session::Session() : context(getRegistry(), mlir::MLIRContext::Threading::DISABLED) {
  context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
    std::string text = diagnostic.str(); // what it says is fetched as it would be to be printed
    numErrors += diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
    if (::getenv("ATTNC_FUZZ_VERBOSE"))
      errs() << diagnostic.getLocation() << ": " << text << '\n';
  });
}

void Session::check(mlir::ModuleOp module, bool succeeded, StringRef step) {
  if (!succeeded)
    return require(hasErrors(), (step + " failed without a diagnostic").str());
  require(mlir::succeeded(mlir::verify(module)), (step + " left what doesn't verify").str());
}
