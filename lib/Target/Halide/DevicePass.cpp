//===- DevicePass.cpp - GPU fix-ups after Halide's lowering ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DevicePass.h"

#include "KernelReader.h"
#include "MathFunctions.h"
#include "ReservedShared.h"
#include "ShortFloats.h"
#include "ThreadBarriers.h"
#include "ThreadOrder.h"
#include "ThreadRegisters.h"
#include "TrimLoops.h"

#include "attnc/Machine/GpuInfo.h"

#include <cstring>
#include <map>

using namespace mlir;
using namespace mlir::halide;
using namespace ::Halide;
using namespace ::Halide::Internal;

//===----------------------------------------------------------------------===//
// Functions of the C library, and constants
//===----------------------------------------------------------------------===//

namespace {

/// Maps math functions to those of GPUs, and keeps all bits of constants.
class DeviceMath : public IRMutator {
public:
  std::string error;

private:
  using IRMutator::visit;
  Stmt visit(const For *loop) override;
  Expr visit(const Call *call) override;
  Expr visit(const FloatImm *constant) override;

  bool inKernel = false;
  DeviceAPI api = DeviceAPI::None;
};

} // namespace

Stmt DeviceMath::visit(const For *loop) {
  bool wasInKernel = std::exchange(inKernel, inKernel || loop->for_type == ForType::GPUBlock);
  if (inKernel && !wasInKernel)
    api = loop->device_api;
  Stmt result = IRMutator::visit(loop);
  inKernel = wasInKernel;
  return result;
}

/// Composes log2 and similar functions from supported ones.
static Expr composeMath(const std::string &name, const Expr &x) {
  auto scaled = [&](double factor) { return Halide::log(x) * make_const(x.type(), factor); };
  if (name == "log2")
    return scaled(1.4426950408889634);
  if (name == "log10")
    return scaled(0.4342944819032518);
  if (name == "exp2")
    return Halide::exp(x * make_const(x.type(), 0.6931471805599453));
  return {};
}

/// 2^x, 0 if the result is denormal: an instruction of NVIDIA's GPUs, within 2 ulp.
static Expr exp2OnDevice(const Expr &x, DeviceAPI api) {
  if (api == DeviceAPI::CUDA)
    return Call::make(x.type(), "llvm.nvvm.ex2.approx.ftz.f", {x}, Call::PureExtern);
  return readOnce(
      x, [](const Expr &once) { return exp2F32(once, /*clampLow=*/true, /*clampHigh=*/false); });
}

Expr DeviceMath::visit(const Call *call) {
  static const std::set<std::string> known = {"exp",   "log",   "sin",   "cos",  "tan",  "asin",
                                              "acos",  "atan",  "atan2", "sinh", "cosh", "tanh",
                                              "asinh", "acosh", "atanh", "pow"};
  static const std::set<std::string> unknown = {"erf", "erfc", "expm1", "log1p", "cbrt", "fmod"};
  Expr result = IRMutator::visit(call);
  call = result.as<Call>();
  if (!inKernel || !call || call->call_type != Call::PureExtern || !call->type.is_float())
    return result;
  bool isF32 = call->type.bits() == 32;
  std::string name = call->name;
  if (isF32 && !name.empty() && name.back() == 'f' && !known.count(name) && !unknown.count(name))
    name.pop_back();
  // Halide's on CUDA is exp(y · log(x)).
  if (name == "pow" && isF32 && api == DeviceAPI::CUDA)
    return powF32(call->args[0], call->args[1]);
  if (known.count(name))
    return Call::make(call->type, name + (isF32 ? "_f32" : "_f64"), call->args, Call::PureExtern);
  if (unknown.count(name) && error.empty())
    error = "expected a math function of GPUs, found " + name;
  if (name == "exp2" && isF32)
    return exp2OnDevice(call->args[0], api);
  Expr composed = call->args.size() == 1 ? composeMath(name, call->args[0]) : Expr();
  return composed.defined() ? composed : result;
}

/// Halide prints every OpenCL constant as f32.
Expr DeviceMath::visit(const FloatImm *constant) {
  if (!inKernel || api != DeviceAPI::OpenCL || constant->type.bits() != 64)
    return constant;
  uint64_t bits;
  std::memcpy(&bits, &constant->value, sizeof bits);
  return Reinterpret::make(constant->type, UIntImm::make(UInt(64), bits));
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

namespace {
/// Rewrites if (c) a; if (c) b to if (c) {a; b}, so that common subexpressions are computed once.
class MergeConditions : public IRMutator {
  using IRMutator::visit;
  Stmt visit(const Block *block) override;
};
} // namespace

/// Whether `stmt` doesn't change `condition`.
static bool keeps(const Stmt &stmt, const Expr &condition) {
  std::set<std::string> stored = findStored(stmt);
  std::vector<const Load *> loads = findLoads(condition);
  return std::none_of(loads.begin(), loads.end(),
                      [&](const Load *load) { return stored.count(load->name); });
}

Stmt MergeConditions::visit(const Block *block) {
  Stmt first = mutate(block->first), rest = mutate(block->rest);
  const Block *more = rest.as<Block>();
  const IfThenElse *a = first.as<IfThenElse>();
  const IfThenElse *b = (more ? more->first : rest).as<IfThenElse>();
  if (!a || !b || a->else_case.defined() || b->else_case.defined() ||
      !equal(a->condition, b->condition) || !keeps(a->then_case, a->condition))
    return Block::make(first, rest);
  Stmt merged = IfThenElse::make(a->condition, Block::make(a->then_case, b->then_case));
  return more ? Block::make(merged, more->rest) : merged;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// The last write before `position`, in program order, that the read there may see.
static const Access *findWrite(const std::vector<Access> &accesses, size_t position) {
  for (size_t i = position; i-- > 0;)
    if (accesses[i].isStore && overlap(accesses[i], accesses[position]))
      return &accesses[i];
  return nullptr;
}

/// A loop repeats its reads. If a read sees a write from before the loop, no other func may write
/// to the same elements in the loop.
static std::string checkLoops(const std::vector<Access> &accesses) {
  for (size_t i = 0; i < accesses.size(); ++i) {
    const Access &read = accesses[i];
    const Access *write = read.isStore ? nullptr : findWrite(accesses, i);
    if (!write)
      continue;
    for (const For *loop : read.loops) {
      if (isIn(*write, loop))
        continue;
      for (const Access &other : accesses)
        if (other.isStore && isIn(other, loop) && other.func != write->func && overlap(other, read))
          return "expected shared memory of " + write->func + " to stay alive in loop " +
                 loop->name + ", found " + other.func + " in its place";
    }
  }
  return "";
}

static std::string checkKernel(const For *block) {
  KernelReader kernel;
  block->accept(&kernel);
  auto limit = [](int64_t most, const char *what, int64_t found) {
    return "expected at most " + std::to_string(most) + what + ", found " + std::to_string(found);
  };
  if (kernel.sharedBytes > attn::GpuInfo::kSharedBytes)
    return limit(attn::GpuInfo::kSharedBytes, " bytes of shared memory", kernel.sharedBytes);
  if (kernel.threads > attn::GpuInfo::kMaxThreads)
    return limit(attn::GpuInfo::kMaxThreads, " threads in a block", kernel.threads);
  return checkLoops(kernel.accesses);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Whether a kernel has blocks; `loop` is its outermost loop.
static Expr hasBlocks(const For *loop) {
  Expr condition = loop->extent > 0;
  const LetStmt *let = loop->body.as<LetStmt>();
  const For *inner = (let ? let->body : loop->body).as<For>();
  if (!inner || inner->for_type != ForType::GPUBlock)
    return condition;
  Expr rest = hasBlocks(inner);
  return condition && (let ? Let::make(let->name, let->value, rest) : rest);
}

namespace {
/// Launches no kernel without blocks, which CUDA takes for an error.
class SkipEmptyLaunches : public IRMutator {
private:
  using IRMutator::visit;
  Stmt visit(const For *loop) override {
    if (loop->for_type != ForType::GPUBlock)
      return IRMutator::visit(loop);
    Expr condition = simplify(hasBlocks(loop));
    return is_const_one(condition) ? Stmt(loop) : IfThenElse::make(condition, loop);
  }
};

/// Checks the outermost loop of each kernel, and that no code is outside of kernels.
class Checker : public IRVisitor {
public:
  std::string error;

private:
  using IRVisitor::visit;
  void visit(const Store *store) override {
    if (error.empty())
      error = "expected all of a pipeline on the GPU, found " + store->name +
              " on the CPU; run halide-map-to-gpu first";
  }
  void visit(const For *loop) override {
    if (loop->for_type != ForType::GPUBlock)
      return IRVisitor::visit(loop);
    if (error.empty())
      error = checkKernel(loop);
  }
};
} // namespace

Stmt DevicePass::mutate(const Stmt &stmt) {
  DeviceMath math;
  ThreadRegisters registers;
  ShortFloats shortFloats;
  Stmt result = ThreadBarriers().mutate(TrimLoops().mutate(math.mutate(stmt)));
  result = shortFloats.mutate(registers.mutate(MergeConditions().mutate(result)));
  result = ReservedShared().mutate(result);
  Checker checker;
  result.accept(&checker);
  for (const std::string &found : {math.error, registers.error, shortFloats.error, checker.error})
    if (error.empty())
      error = found;
  return SkipEmptyLaunches().mutate(ThreadOrder().mutate(result));
}
