//===- CallFuzzer.cpp - calls of compiled libraries -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of an input say which library is called, on what tensors and with what options. What
// is regular must succeed, what is not may be refused, and nothing may be read or written that
// belongs to no element: the libraries are compiled with ASan, and all memory is of exact size.
//
//===----------------------------------------------------------------------===//

#include "CallTensors.h"
#include "Fuzz.h"

#include "attnc_support.h"

#include <cstdlib>
#include <cstring>

using namespace attnc::fuzz;

#define LIBRARY(name)                                                                              \
  extern "C" {                                                                                     \
  int name##_call(const attnc_options *, const DLTensor *const *);                                 \
  int64_t name##_workspace(const DLTensor *const *);                                               \
  const char *name##_last_error(void);                                                             \
  const char *name##_describe(void);                                                               \
  }
#include "libraries.inc"
#undef LIBRARY

namespace {

struct Library {
  const char *name;
  int (*call)(const attnc_options *, const DLTensor *const *);
  int64_t (*workspace)(const DLTensor *const *);
  const char *(*lastError)(void);
  std::vector<Parameter> parameters;
};

/// Memory of the caller; from some request on there is none.
struct Allocator {
  unsigned requests = 0, granted = ~0u;
  int live = 0;

  static void *allocate(void *self, size_t bytes) {
    auto *allocator = static_cast<Allocator *>(self);
    if (allocator->requests++ >= allocator->granted || bytes > 1u << 28)
      return nullptr;
    ++allocator->live;
    return std::malloc(bytes);
  }
  static void deallocate(void *self, void *memory) {
    --static_cast<Allocator *>(self)->live;
    std::free(memory);
  }
};

/// The options of one call, in memory of exactly the size that they say.
class Options {
public:
  Options(Bytes &bytes, int64_t workspaceBytes);
  const attnc_options *get() const { return reinterpret_cast<const attnc_options *>(memory.get()); }
  bool isRegular() const { return regular; }
  const Allocator &getAllocator() const { return allocator; }

private:
  void fill(attnc_options &options, Bytes &bytes, int64_t workspaceBytes);

  Allocator allocator;
  std::unique_ptr<char[]> memory, workspace;
  bool regular = true;
};

} // namespace

/// Does some of the tasks, in another order.
static void runBackwards(void *pool, void (*task)(void *state, int index), void *state, int count) {
  int skipped = *static_cast<int *>(pool);
  for (int index = count - 1; index >= skipped; --index)
    task(state, index);
}

void Options::fill(attnc_options &options, Bytes &bytes, int64_t workspaceBytes) {
  static int skipped[] = {0, 1};
  unsigned kind = bytes.next();
  if (kind & 1) {
    allocator.granted = bytes.pick(4) == 3 ? bytes.pick(4) : ~0u;
    options.allocate = Allocator::allocate;
    options.deallocate = Allocator::deallocate;
    options.allocator = &allocator;
  }
  if (kind & 2)
    options.threads = bytes.pick(4);
  if (kind & 4) {
    options.parallel = runBackwards;
    options.pool = &skipped[bytes.pick(2)];
  }
  if ((kind & 8) && workspaceBytes >= 0 && workspaceBytes < 1 << 26) {
    unsigned missing = bytes.pick(8) == 7;
    options.workspace_bytes = workspaceBytes - (workspaceBytes ? missing : 0);
    workspace.reset(new char[options.workspace_bytes]);
    options.workspace = workspace.get();
    regular &= !missing;
  }
  if (kind % 32 == 16) {
    regular = false;
    switch (bytes.pick(3)) {
    case 0:
      options.threads = bytes.pickEdge();
      break;
    case 1:
      options.deallocate = nullptr;
      break;
    default:
      options.workspace_bytes = bytes.pickEdge();
      workspace.reset();
      options.workspace = nullptr;
    }
  }
  regular &= allocator.granted == ~0u;
}

Options::Options(Bytes &bytes, int64_t workspaceBytes) {
  unsigned kind = bytes.pick(4);
  if (kind < 2)
    return;
  attnc_options options = {};
  options.size = kind == 2 ? sizeof options : offsetof(attnc_options, context);
  fill(options, bytes, workspaceBytes);
  memory.reset(new char[options.size]);
  std::memcpy(memory.get(), &options, options.size);
}

//===----------------------------------------------------------------------===//
// A call
//===----------------------------------------------------------------------===//

static std::vector<Argument> makeArguments(const Library &library, Bytes &bytes) {
  std::map<std::string, int64_t> sizes;
  std::vector<Argument> arguments;
  for (const Parameter &parameter : library.parameters)
    arguments.emplace_back(parameter, sizes, bytes);
  // Memory that two have in common: of a cache that is extended in place, or by mistake.
  if (bytes.pick(4) == 3) {
    size_t to = bytes.pick(arguments.size());
    int inPlace = library.parameters[to].inPlace;
    size_t from = inPlace >= 0 ? inPlace : bytes.pick(arguments.size());
    if (from != to)
      arguments[to].share(arguments[from]);
  }
  return arguments;
}

static void checkResult(const Library &library, std::vector<Argument> &arguments,
                        const Options &options, int status, bool regular) {
  require(status >= attnc_no_memory && status <= 0, "a status that no call has");
  require(status == 0 || *library.lastError(), "failed without a message");
  require(status != attnc_no_memory || !regular, "no memory where there is");
  require(options.getAllocator().live == 0, "memory that is not given back");
  for (Argument &argument : arguments) {
    require(argument.sharesMemory() || argument.isOutput() || argument.isUnchanged() ||
                llvm::any_of(arguments, [](const Argument &a) { return a.sharesMemory(); }),
            "an input changed");
    if (argument.isOutput() && status == attnc_invalid)
      require(argument.isUnchanged(), "a refused call wrote");
    if (argument.isOutput() && status == 0 && !argument.sharesMemory())
      require(argument.keptGaps(), "a call wrote between elements");
  }
}

static void call(const Library &library, Bytes &bytes) {
  std::vector<Argument> arguments = makeArguments(library, bytes);
  std::vector<const DLTensor *> tensors;
  bool safe = true, regular = true;
  for (Argument &argument : arguments) {
    tensors.push_back(argument.get());
    argument.remember();
    safe &= argument.isSafe();
    regular &= argument.isRegular() && !argument.sharesMemory();
  }
  int64_t workspace = library.workspace(tensors.data());
  Options options(bytes, workspace);
  if (!safe)
    return;
  int status = library.call(options.get(), tensors.data());
  if (::getenv("ATTNC_FUZZ_VERBOSE"))
    llvm::errs() << library.name << ": " << status << ' ' << library.lastError() << '\n';
  checkResult(library, arguments, options, status, regular && options.isRegular());
}

static std::vector<Library> getLibraries() {
#define LIBRARY(name)                                                                              \
  Library{#name, name##_call, name##_workspace, name##_last_error,                                 \
          readParameters(name##_describe())},
  return {
#include "libraries.inc"
  };
}

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  ::setenv("HL_NUM_THREADS", "1", /*overwrite=*/1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const std::vector<Library> libraries = getLibraries();
  Bytes bytes(data, size);
  const Library &library = libraries[bytes.pick(libraries.size())];
  call(library, bytes);
  return 0;
}
