//===- CheckFirst.cpp - refuse a call before anything is written ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Host/Host.h"
#include "attnc/Dialect/Host/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::host {
#define GEN_PASS_DEF_HOSTCHECKFIRST
#include "attnc/Dialect/Host/Passes.h.inc"
} // namespace mlir::host

using namespace mlir;
using namespace mlir::host;

namespace {
/// The buffers whose elements an op reads and writes, without views.
struct Effects {
  SmallVector<Value> reads, writes;
  bool areKnown = true;
};

class Mover {
public:
  explicit Mover(Block &block) : block(block) {}
  void run();

private:
  void findNeeded();
  bool mayMove(Operation &op, const Effects &effects);

  Block &block;
  llvm::DenseMap<Operation *, Effects> effectsOf;
  /// What requirements depend on, themselves included.
  llvm::DenseSet<Operation *> needed;
  /// Of ops that stay: those behind the first one that writes, and the buffers that they touch.
  llvm::DenseSet<Operation *> staying;
  llvm::DenseSet<Value> touched, written;
};
} // namespace

static Effects getEffects(Operation &op) {
  Effects effects;
  if (auto load = dyn_cast<LoadOp>(op)) {
    effects.reads.push_back(getViewedBuffer(load.getBuffer()));
    return effects;
  }
  if (auto rank = dyn_cast<RankOp>(op)) {
    effects.writes.push_back(getViewedBuffer(rank.getBuffer()));
    return effects;
  }
  if (auto places = dyn_cast<PlacesOp>(op)) {
    effects.areKnown = false; // all ranks exchange in one order
    effects.writes.push_back(getViewedBuffer(places.getBuffer()));
    return effects;
  }
  if (auto gather = dyn_cast<GatherOp>(op)) {
    effects.areKnown = false;
    effects.reads = {getViewedBuffer(gather.getFrom()), getViewedBuffer(gather.getPlaces())};
    effects.writes.push_back(getViewedBuffer(gather.getInto()));
    return effects;
  }
  if (op.getNumRegions() > 0) {
    effects.areKnown = false;
    for (Operation &inner : op.getRegion(0).getOps()) {
      Effects nested = getEffects(inner);
      effects.reads.append(nested.reads);
      effects.writes.append(nested.writes);
    }
    return effects;
  }
  auto call = dyn_cast<CallOp>(op);
  attn::KernelOpInterface kernel = call ? call.getKernel() : attn::KernelOpInterface();
  effects.areKnown = kernel || isa<RequireOp, memref::AllocOp>(op) || isMemoryEffectFree(&op);
  if (!kernel)
    return effects;
  for (auto [buffer, parameter] : llvm::zip_equal(call.getBuffers(), kernel.getParameters())) {
    if (parameter.isRead())
      effects.reads.push_back(getViewedBuffer(buffer));
    if (parameter.isWritten())
      effects.writes.push_back(getViewedBuffer(buffer));
  }
  return effects;
}

void Mover::findNeeded() {
  llvm::DenseSet<Value> read;
  for (Operation &op : llvm::reverse(block)) {
    const Effects &effects = effectsOf[&op] = getEffects(op);
    auto isRead = [&](Value buffer) { return read.contains(buffer); };
    auto isNeeded = [&](Operation *user) { return needed.contains(user); };
    if (!isa<RequireOp>(op) && llvm::none_of(effects.writes, isRead) &&
        llvm::none_of(op.getUsers(), isNeeded))
      continue;
    needed.insert(&op);
    read.insert_range(effects.reads);
  }
}

/// Whether the op does the same ahead of those that stay, and writes nothing of the caller's.
bool Mover::mayMove(Operation &op, const Effects &effects) {
  auto isCallers = [](Value buffer) { return isa<BlockArgument>(buffer); };
  auto stays = [&](Value operand) { return staying.contains(operand.getDefiningOp()); };
  return needed.contains(&op) && effects.areKnown && llvm::none_of(effects.writes, isCallers) &&
         llvm::none_of(op.getOperands(), stays) &&
         llvm::none_of(effects.writes, [&](Value buffer) { return touched.contains(buffer); }) &&
         llvm::none_of(effects.reads, [&](Value buffer) { return written.contains(buffer); });
}

void Mover::run() {
  findNeeded();
  Operation *first = nullptr;
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    const Effects &effects = effectsOf[&op];
    if (mayMove(op, effects)) {
      if (first)
        op.moveBefore(first);
      continue;
    }
    if (!first && effects.areKnown && effects.writes.empty())
      continue;
    first = first ? first : &op;
    staying.insert(&op);
    touched.insert_range(effects.reads);
    touched.insert_range(effects.writes);
    written.insert_range(effects.writes);
  }
}

namespace {
struct HostCheckFirstPass : host::impl::HostCheckFirstBase<HostCheckFirstPass> {
  using Base::Base;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isHostFunction(function) && function.getBody().hasOneBlock())
        Mover(function.getBody().front()).run();
  }
};
} // namespace
