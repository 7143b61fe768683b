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
#include <fcntl.h>
#include <new>
#include <poll.h>
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
  /// Ready once the process, which holds the other end of a pipe, has ended.
  int end;
};
} // namespace

/// Starts to compile; false if there is no process or file left for it.
static bool start(const KernelJob &job, pid_t parent, SmallVectorImpl<Running> &running) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0)
    return false;
  pid_t process = ::fork();
  if (process == 0)
    compileAndExit(job, parent);
  ::close(ends[1]);
  if (process < 0) {
    ::close(ends[0]);
    return false;
  }
  running.push_back({process, job.path, ends[0]});
  return true;
}

/// Waits for one of the processes to end, the oldest one if that cannot be told.
static Running *findEnded(MutableArrayRef<Running> running) {
  auto polled =
      llvm::map_to_vector(running, [](const Running &each) { return pollfd{each.end, POLLIN, 0}; });
  while (::poll(polled.data(), polled.size(), /*timeout=*/-1) < 0)
    if (errno != EINTR)
      return running.begin();
  auto ended = llvm::find_if(polled, [](const pollfd &each) { return each.revents != 0; });
  return running.begin() + (ended - polled.begin());
}

/// Removes the file if the process failed: it may be incomplete.
static void awaitOne(SmallVectorImpl<Running> &running) {
  Running *one = findEnded(running);
  int status = 0;
  pid_t ended;
  do
    ended = ::waitpid(one->process, &status, 0);
  while (ended < 0 && errno == EINTR);
  if (ended < 0 || status != 0)
    fs::remove(one->path);
  ::close(one->end);
  running.erase(one);
}

/// A kernel's ops, from which the time to compile it follows roughly.
static size_t countOps(KernelOpInterface kernel) {
  size_t count = 0;
  kernel->walk([&](Operation *) { ++count; });
  return count;
}

/// The long ones first, so that none of them runs alone in the end.
static SmallVector<const KernelJob *> sortByCost(ArrayRef<KernelJob> jobs) {
  SmallVector<std::pair<size_t, const KernelJob *>> costs;
  for (const KernelJob &job : jobs)
    costs.push_back({countOps(job.kernel), &job});
  llvm::sort(costs, [](const auto &l, const auto &r) {
    return std::tuple(r.first, l.second) < std::tuple(l.first, r.second);
  });
  return llvm::map_to_vector(costs, [](const auto &each) { return each.second; });
}

void attn::compileInProcesses(ArrayRef<KernelJob> jobs) {
  size_t cores = llvm::hardware_concurrency().compute_thread_count();
  pid_t parent = ::getpid();
  SmallVector<Running> running;
  for (const KernelJob *job : sortByCost(jobs)) {
    if (running.size() == cores)
      awaitOne(running);
    if (!start(*job, parent, running))
      break;
  }
  while (!running.empty())
    awaitOne(running);
}
