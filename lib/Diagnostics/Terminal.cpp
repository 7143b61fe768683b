//===- Terminal.cpp - text on terminals -----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Diagnostics/Terminal.h"

#include "attnc/Text/Escape.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Process.h"

using namespace llvm;
using namespace attnc;

raw_ostream &TerminalStream::changeColor(Colors color, bool bold, bool background) {
  os.changeColor(color, bold, background);
  return *this;
}

raw_ostream &TerminalStream::resetColor() {
  os.resetColor();
  return *this;
}

/// Line ends in `text` are attnc's own and pass.
void TerminalStream::write_impl(const char *text, size_t size) {
  SmallVector<StringRef> lines;
  StringRef(text, size).split(lines, '\n');
  interleave(lines, os, [&](StringRef line) { os << mlir::attn::escapeText(line); }, "\n");
}

raw_ostream &attnc::errorStream() {
  static TerminalStream stream(errs());
  return stream;
}

static void replaceLine(const Twine &text) {
  if (sys::Process::StandardErrIsDisplayed())
    errs() << "\r\033[K" << text;
}

Progress::Progress(const Twine &text) { replaceLine(mlir::attn::escapeText(text.str())); }
Progress::~Progress() { replaceLine(""); }
