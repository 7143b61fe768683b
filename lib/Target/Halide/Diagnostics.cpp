//===- Diagnostics.cpp - Halide's errors as diagnostics
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"

#include "Halide.h"

#include "mlir/IR/Diagnostics.h"

#include <mutex>

using namespace mlir;

namespace {
/// Halide's warnings on this thread since the guard was entered.
thread_local std::vector<std::string> warnings;

/// Halide has one reporter per process; it prints nothing and throws errors on.
struct Reporter : ::Halide::CompileTimeErrorReporter {
  /// f16 and bf16 are converted, and computed with in f32, so emulation costs nothing.
  void warning(const char *message) override {
    StringRef text(message);
    if (!text.contains("float16 type operation is emulated") &&
        !text.contains("Ignoring assertion inside"))
      warnings.emplace_back(message);
  }
  [[noreturn]] void error(const char *message) override { throw ::Halide::CompileError(message); }
};
} // namespace

static void installReporter() {
  static Reporter reporter;
  static std::once_flag once;
  std::call_once(once, [] { ::Halide::set_custom_compile_time_error_reporter(&reporter); });
}

/// Strips Halide's "Error:" prefix and trailing line ends.
static std::string tidy(StringRef message) {
  for (StringRef prefix : {"User error", "Internal error", "Error:", "Warning:"})
    if (message.consume_front(prefix))
      message = message.ltrim(": \n");
  return message.trim().str();
}

static LogicalResult reportWarnings(llvm::function_ref<Location(StringRef)> locate) {
  LogicalResult result = success();
  for (const std::string &warning : std::exchange(warnings, {})) {
    if (StringRef(warning).contains("guaranteed to fail"))
      result = emitError(locate(warning)) << "Halide: " << tidy(warning);
    else
      emitWarning(locate(warning)) << "Halide: " << tidy(warning);
  }
  return result;
}

LogicalResult halide::guardHalide(llvm::function_ref<LogicalResult()> body,
                                  llvm::function_ref<Location(StringRef)> locate) {
  installReporter();
  warnings.clear();
  try {
    LogicalResult result = body();
    return failure(failed(reportWarnings(locate)) || failed(result));
  } catch (const ::Halide::Error &error) {
    (void)reportWarnings(locate);
    return emitError(locate(error.what())) << "Halide: " << tidy(error.what());
  } catch (const std::exception &error) {
    return emitError(locate(error.what())) << "Halide: " << error.what();
  }
}
