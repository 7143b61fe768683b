//===- Report.cpp - errors and exit codes ---------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Diagnostics/Report.h"

#include "attnc/Diagnostics/Reproducer.h"
#include "attnc/Diagnostics/Terminal.h"
#include "attnc/Text/Escape.h"

#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>

using namespace llvm;
using namespace attnc;

static std::atomic<int> numErrors, numUsageErrors, numInternalErrors;

/// A line, whatever names are in it.
static std::string toLine(const Twine &text) { return mlir::attn::escapeText(text.str()); }

static LogicalResult report(const Twine &place, const Twine &message, std::atomic<int> &count) {
  WithColor(errorStream(), raw_ostream::SAVEDCOLOR, /*Bold=*/true) << toLine(place) << ": ";
  WithColor::error(errorStream()) << toLine(message) << '\n';
  ++count;
  return failure();
}

LogicalResult attnc::reportError(const Twine &place, const Twine &message) {
  return report(place, message, numErrors);
}

LogicalResult attnc::reportUsage(const Twine &place, const Twine &message) {
  return report(place, message, numUsageErrors);
}

LogicalResult attnc::reportInternal(const Twine &message) {
  return report("attnc", "internal: " + message, numInternalErrors);
}

void attnc::reportNote(const Twine &message) {
  WithColor::note(errorStream(), "attnc") << toLine(message) << '\n';
}

void attnc::countError() { ++numErrors; }

int attnc::finish(LogicalResult result) {
  outs().flush();
  if (std::error_code error = outs().error())
    result = reportError("attnc", "cannot write to standard output: " + error.message());
  if (numUsageErrors > 0)
    return UsageError;
  if (numInternalErrors == 0 && succeeded(result))
    return Done;
  if (numInternalErrors == 0 && numErrors > 0)
    return InputError;
  if (numInternalErrors == 0)
    (void)reportInternal("failed without a diagnostic");
  writeReproducer();
  return InternalError;
}
