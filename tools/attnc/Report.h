//===- Report.h - errors, exit codes and reproducers ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every command returns success or failure. What was reported on the way decides
// the exit code, so that no command has to know the codes.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TOOLS_ATTNC_REPORT_H
#define ATTNC_TOOLS_ATTNC_REPORT_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace attnc {

enum ExitCode { Done = 0, InputError = 1, UsageError = 2, InternalError = 3 };

/// `PLACE: error: MESSAGE` on stderr. The place is a file, `--option` or the like.
llvm::LogicalResult reportError(const llvm::Twine &place, const llvm::Twine &message);

/// The same for a command line that says nothing sensible.
llvm::LogicalResult reportUsage(const llvm::Twine &place, const llvm::Twine &message);

/// `attnc: note: MESSAGE` on stderr.
void reportNote(const llvm::Twine &message);

/// Words for people, as `os` shows them: no terminal obeys what a stranger wrote into them.
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

/// stderr, for people.
llvm::raw_ostream &errorStream();

/// A line on stderr while something lasts, where stderr is a terminal.
class Progress {
public:
  explicit Progress(const llvm::Twine &text);
  ~Progress();
};

/// Counts an error that someone else has printed.
void countError();

/// What went wrong is not the user's doing: the exit code becomes InternalError.
llvm::LogicalResult reportInternal(const llvm::Twine &message);

/// From here on, running out of memory ends the process with an error: the sizes are the user's.
void reportWhenOutOfMemory();

/// What a reproducer holds: the command line and the spec as it was read. Also
/// makes a crash write one.
void setCommandLine(int argc, char **argv);
void prepareReproducer(llvm::StringRef spec);
/// The same while a model is being imported. The command line is its doc_string.
void prepareModelReproducer(llvm::StringRef model);

/// The exit code of a command that ended with `result`. Writes the reproducer
/// where the failure is ours.
int finish(llvm::LogicalResult result);

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_REPORT_H
