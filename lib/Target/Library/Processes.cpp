//===- Processes.cpp - compile kernels on all cores -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Processes instead of threads: libHalide numbers names with a global counter, so that in threads a
// kernel's bytes would depend on the kernels compiled at the same time.
//
//===----------------------------------------------------------------------===//

#include "Processes.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Threading.h"

#include <cerrno>
#include <csignal>
#include <deque>
#include <fcntl.h>
#include <new>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace mlir::attn;
namespace fs = llvm::sys::fs;

/// Only the parent handles signals, temporary files, reproducers and messages. The child ends with
/// it.
static void detachFromParent(pid_t parent) {
  for (int signal : {SIGHUP, SIGINT, SIGTERM, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL})
    if (::signal(signal, SIG_DFL) == SIG_IGN)
      ::signal(signal, SIG_IGN);
  std::set_new_handler([] { ::_exit(1); });
  llvm::remove_bad_alloc_error_handler();
  rlimit none = {0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) // the parent ended before prctl
    ::_exit(1);
  int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(null, STDERR_FILENO);
}

[[noreturn]] static void compileAndExit(KernelJob job, pid_t parent) {
  detachFromParent(parent);
  bool isSilent = true;
  job.kernel->getContext()->getDiagEngine().registerHandler([&](Diagnostic &) {
    isSilent = false;
    return success();
  });
  LogicalResult result = job.kernel.compile(job.target, {{job.artefact, job.path}});
  ::_exit(succeeded(result) && isSilent ? 0 : 1);
}

namespace {
struct Running {
  pid_t process;
  StringRef path;
};
} // namespace

/// Removes the file if the process failed: it may be incomplete.
static void await(const Running &running) {
  int status = 0;
  pid_t ended;
  do
    ended = ::waitpid(running.process, &status, 0);
  while (ended < 0 && errno == EINTR);
  if (ended < 0 || status != 0)
    fs::remove(running.path);
}

void attn::compileInProcesses(ArrayRef<KernelJob> jobs) {
  size_t cores = llvm::hardware_concurrency().compute_thread_count();
  pid_t parent = ::getpid();
  std::deque<Running> running;
  for (const KernelJob &job : jobs) {
    if (running.size() == cores) {
      await(running.front());
      running.pop_front();
    }
    pid_t process = ::fork();
    if (process == 0)
      compileAndExit(job, parent);
    if (process < 0)
      break;
    running.push_back({process, job.path});
  }
  for (const Running &each : running)
    await(each);
}
