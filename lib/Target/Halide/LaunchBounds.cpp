//===- LaunchBounds.cpp - registers of CUDA kernels -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchBounds.h"

#include <algorithm>
#include <optional>

using namespace mlir;
using namespace ::Halide;
using namespace ::Halide::Internal;

namespace {
/// Sizes of thread blocks by kernel, as PTX.
class Launches : public IRVisitor {
public:
  std::map<std::string, std::string> threads;

private:
  using IRVisitor::visit;
  void visit(const Call *call) override {
    IRVisitor::visit(call);
    if (call->name != "halide_cuda_run")
      return;
    // The module, the kernel's name, three numbers of blocks and three of threads.
    const StringImm *kernel = call->args[1].as<StringImm>();
    std::string sizes;
    for (int i = 5; i < 8; ++i) {
      std::optional<int64_t> size = as_const_int(call->args[i]);
      if (!kernel || !size)
        return;
      sizes += (sizes.empty() ? "" : ", ") + std::to_string(*size);
    }
    threads[kernel->value] = sizes;
  }
};

/// Passes the length of the code to the driver.
class SetLength : public IRMutator {
public:
  explicit SetLength(int64_t length) : length(length) {}

private:
  using IRMutator::visit;
  Expr visit(const Call *call) override {
    if (call->name != "halide_cuda_initialize_kernels")
      return IRMutator::visit(call);
    std::vector<Expr> args = call->args;
    args.back() = make_const(args.back().type(), length);
    return Call::make(call->type, call->name, args, call->call_type);
  }

  int64_t length;
};
} // namespace

/// Directives stand between a kernel's parameters and its body.
static std::string addDirectives(std::string ptx,
                                 const std::map<std::string, std::string> &threads) {
  for (const auto &[kernel, sizes] : threads) {
    size_t entry = ptx.find(".entry " + kernel + "("), end = ptx.find(')', entry);
    if (entry != std::string::npos && end != std::string::npos)
      ptx.insert(end + 1, "\n.maxntid " + sizes);
  }
  return ptx;
}

Module halide::addLaunchBounds(const Module &module) {
  Buffer<> code = module.get_cuda_ptx_assembly_buffer();
  if (!code.defined())
    return module;
  Launches launches;
  for (const LoweredFunc &function : module.functions())
    function.body.accept(&launches);
  const char *text = static_cast<const char *>(code.data());
  std::string ptx = addDirectives(std::string(text, code.size_in_bytes()), launches.threads);
  Buffer<uint8_t> bounded(int(ptx.size()), code.name());
  std::copy(ptx.begin(), ptx.end(), bounded.data());

  Module result(module.name(), module.target(), module.get_metadata_name_map());
  for (const Buffer<> &buffer : module.buffers())
    result.append(buffer.same_as(code) ? Buffer<>(bounded) : buffer);
  SetLength setLength(int64_t(ptx.size()));
  for (LoweredFunc function : module.functions()) {
    function.body = setLength.mutate(function.body);
    result.append(function);
  }
  result.set_conceptual_code_stmt(module.get_conceptual_stmt());
  return result;
}
