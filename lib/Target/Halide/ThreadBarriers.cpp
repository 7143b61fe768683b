//===- ThreadBarriers.cpp - drop redundant barriers -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadBarriers.h"

#include "KernelReader.h"

using namespace mlir;
using namespace mlir::halide;
using namespace ::Halide::Internal;

Stmt ThreadBarriers::visit(const For *loop) {
  if (loop->for_type == ForType::GPUBlock && !std::exchange(inKernel, true)) {
    privateMemory.clear();
    written = findStored(loop->body);
    Stmt result = visit(loop);
    inKernel = false;
    return result;
  }
  // The back edge joins the loop's end with its begin.
  lastBarrier.reset();
  Stmt result = IRMutator::visit(loop);
  lastBarrier.reset();
  return result;
}

Stmt ThreadBarriers::visit(const IfThenElse *branch) {
  mutate(branch->condition);
  std::optional<int64_t> before = lastBarrier;
  Stmt thenCase = mutate(branch->then_case), elseCase;
  std::optional<int64_t> afterThen = std::exchange(lastBarrier, before);
  if (branch->else_case.defined())
    elseCase = mutate(branch->else_case);
  if (lastBarrier)
    lastBarrier = afterThen ? std::optional(*afterThen & *lastBarrier) : std::nullopt;
  return IfThenElse::make(branch->condition, thenCase, elseCase);
}

Stmt ThreadBarriers::visit(const Allocate *allocate) {
  if (allocate->memory_type != ::Halide::MemoryType::GPUShared)
    privateMemory.insert(allocate->name);
  return IRMutator::visit(allocate);
}

Stmt ThreadBarriers::visit(const Evaluate *evaluate) {
  const Call *call = evaluate->value.as<Call>();
  if (!inKernel || !call || !call->is_intrinsic(Call::gpu_thread_barrier))
    return IRMutator::visit(evaluate);
  int64_t visible = *as_const_int(call->args[0]) | CodeGen_GPU_Dev::MemoryFenceType::Shared;
  if (lastBarrier && (visible & ~*lastBarrier) == 0)
    return Evaluate::make(0);
  lastBarrier = visible;
  return Evaluate::make(
      Call::make(call->type, Call::gpu_thread_barrier, {int(visible)}, Call::Intrinsic));
}

Stmt ThreadBarriers::visit(const Store *store) {
  Stmt result = IRMutator::visit(store);
  if (!privateMemory.count(store->name))
    lastBarrier.reset();
  return result;
}

::Halide::Expr ThreadBarriers::visit(const Load *load) {
  ::Halide::Expr result = IRMutator::visit(load);
  if (!privateMemory.count(load->name) && written.count(load->name))
    lastBarrier.reset();
  return result;
}
