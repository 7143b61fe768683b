//===- Terminal.h - text on terminals ---------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIAGNOSTICS_TERMINAL_H
#define ATTNC_DIAGNOSTICS_TERMINAL_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

namespace attnc {

/// Escapes control characters written to `os`, so that names in a spec or model can't control the
/// terminal. Colours pass.
class TerminalStream : public llvm::raw_ostream {
public:
  explicit TerminalStream(llvm::raw_ostream &os) : raw_ostream(/*unbuffered=*/true), os(os) {}

  bool is_displayed() const override { return os.is_displayed(); }
  bool has_colors() const override { return os.has_colors(); }
  raw_ostream &changeColor(Colors color, bool bold, bool background) override;
  raw_ostream &resetColor() override;

private:
  void write_impl(const char *text, size_t size) override;
  uint64_t current_pos() const override { return os.tell(); }

  llvm::raw_ostream &os;
};

/// stderr as a TerminalStream.
llvm::raw_ostream &errorStream();

/// Shows a line on stderr for its lifetime, if stderr is a terminal.
class Progress {
public:
  explicit Progress(const llvm::Twine &text);
  ~Progress();
};

} // namespace attnc

#endif // ATTNC_DIAGNOSTICS_TERMINAL_H
