//===- Reproducer.cpp - crash reproducers ---------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Diagnostics/Reproducer.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Files/TemporaryFolder.h"
#include "attnc/Text/Escape.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/LEB128.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using mlir::isBytecode;
using namespace attnc;

// Rendered in advance, since a signal handler may not allocate. Never destroyed: the process may
// crash while it ends.
static std::string &reproducer = *new std::string, &reproducerPath = *new std::string;

static void put(int file, const char *text, size_t size) {
  while (size > 0) {
    ssize_t written = ::write(file, text, size);
    if (written <= 0)
      return;
    text += written;
    size -= written;
  }
}

static void say(const char *text) { put(STDERR_FILENO, text, std::strlen(text)); }

/// Calls only async-signal-safe functions.
void attnc::writeReproducer() {
  if (reproducerPath.empty())
    return;
  int file = ::open(reproducerPath.c_str(), O_WRONLY | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
  if (file < 0)
    return;
  put(file, reproducer.data(), reproducer.size());
  ::close(file);
  say("attnc: note: this is a defect of attnc; the spec and the command line were written to ");
  say(reproducerPath.c_str());
  say("\n");
}

static std::atomic<bool> hasCrashed;

static void handleCrash(int) {
  constexpr unsigned kSecondsOfTrace = 10;
  if (hasCrashed.exchange(true)) // while printing the trace
    ::_exit(InternalError);
  say("attnc: error: internal: crashed\n");
  writeReproducer();
  mlir::attn::removeTemporaryFolders();
  // The trace allocates, and may wait forever for a lock that the crash left held.
  ::signal(SIGALRM, [](int) { ::_exit(InternalError); });
  ::alarm(kSecondsOfTrace);
  sys::PrintStackTrace(errs());
  ::_exit(InternalError);
}

static void handleCrashes() {
  // A separate stack, so that a stack overflow is reported as well.
  static char stack[1 << 16];
  stack_t alternative = {};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof(stack);
  ::sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_handler = handleCrash;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL})
    ::sigaction(signal, &action, nullptr);
}

static std::string commandLine;

void attnc::setCommandLine(int argc, char **argv) {
  // On one line: the spec starts on the next.
  commandLine = mlir::attn::escapeText(llvm::join(llvm::make_range(argv, argv + argc), " "));
}

[[noreturn]] static void reportOutOfMemory() {
  if (hasCrashed) // there is no memory for the trace
    ::_exit(InternalError);
  say("attnc: error: out of memory: expected smaller sizes, or a machine with more\n");
  mlir::attn::removeTemporaryFolders();
  ::_exit(InputError);
}

void attnc::reportWhenOutOfMemory() {
  std::set_new_handler(reportOutOfMemory);
  install_bad_alloc_error_handler([](void *, const char *, bool) { reportOutOfMemory(); });
}

static std::string getHeading() { return "attnc reproducer for: " + commandLine; }

static void keep(std::string text, const Twine &extension) {
  reproducer = std::move(text);
  SmallString<128> path;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, path);
  sys::path::append(path, "attnc-reproducer-" + mlir::attn::makeRandomDigits() + "." + extension);
  reproducerPath = path.str().str();
  handleCrashes();
}

void attnc::prepareReproducer(StringRef spec) {
  // A comment would spoil bytecode.
  bool hasText = !isBytecode(llvm::MemoryBufferRef(spec, ""));
  keep(((hasText ? "// " + getHeading() + "\n" : "") + spec).str(), "mlir");
}

void attnc::prepareModelReproducer(StringRef model) {
  // A repeated field overrides the first one: 6 is the doc_string.
  std::string text = model.str(), heading = getHeading();
  raw_string_ostream os(text);
  os << char(6 << 3 | 2);
  encodeULEB128(heading.size(), os);
  os << heading;
  keep(std::move(text), "onnx");
}
