//===- MapToGpu.cpp - schedule pipelines on a GPU
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces a CPU schedule by a plain GPU schedule: one thread for each element of every stored
// func. This is correct for any pipeline, since schedules don't change the algorithm, and limited
// by memory bandwidth if each element is read once.
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Halide/Halide.h"
#include "attnc/Dialect/Halide/Passes.h"

namespace mlir::halide {
#define GEN_PASS_DEF_HALIDEMAPTOGPU
#include "attnc/Dialect/Halide/Passes.h.inc"
} // namespace mlir::halide

using namespace mlir;
using namespace mlir::halide;

/// Threads of a block along the two innermost dimensions: neighbours' reads coalesce.
static constexpr int64_t kThreadsX = 32, kThreadsY = 8, kThreads1D = 128;

static bool isDirective(Operation &op) {
  return isa<LoopsOp, SplitOp, FuseOp, ReorderOp, VectorizeOp, UnrollOp, ParallelOp, GpuBlockOp,
             GpuThreadOp, ComputeRootOp, StoreRootOp, ComputeAtOp, StoreAtOp, ComputeWithOp,
             StoreInOp, BoundExtentOp, BoundStorageOp, AlignBoundsOp, AlignStorageOp,
             ReorderStorageOp, AtomicOp, GpuSingleThreadOp, AllowRaceConditionsOp, NeverPartitionOp,
             RfactorOp, SpecializeOp, PrefetchOp>(op);
}

static bool isGpuDirective(Operation &op) { return isa<GpuBlockOp, GpuSingleThreadOp>(op); }

static bool hasGpuSchedule(PipelineOp pipeline) {
  return llvm::any_of(pipeline.getBody().front(), isGpuDirective);
}

/// The func in the pipeline that a func or loop belongs to, also by way of rfactor.
static Value getOwner(Value value) {
  if (isa<LoopType>(value.getType()))
    return getOwner(halide::getStage(value).func);
  auto rfactor = value.getDefiningOp<RfactorOp>();
  return rfactor ? getOwner(rfactor.getLoop()) : value;
}

/// Whether the directive names the func or one of its loops.
static bool isAbout(Operation &directive, Value func) {
  return llvm::is_contained(llvm::map_range(directive.getOperands(), getOwner), func);
}

/// Outputs, funcs with updates (which can't be inlined), and funcs at compute_root.
static bool isStored(halide::FuncOp func) {
  return llvm::any_of(func.getFunc().getUsers(), llvm::IsaPred<OutputOp, UpdateOp, ComputeRootOp>);
}

static bool isOutput(halide::FuncOp func) {
  return llvm::any_of(func.getFunc().getUsers(), llvm::IsaPred<OutputOp>);
}

/// Drops the directives of a func, or all of them without one.
static void dropSchedule(Block &body, Value func = {}) {
  SmallVector<Operation *> directives;
  for (Operation &op : body)
    if (isDirective(op) && (!func || isAbout(op, func)))
      directives.push_back(&op);
  for (Operation *op : llvm::reverse(directives))
    op->erase();
}

/// Whether iterations of the loop, or of a part of it, run in parallel.
static bool isParallel(Value loop) {
  return llvm::any_of(loop.getUsers(), [](Operation *user) {
    return isa<ParallelOp>(user) ||
           (isa<SplitOp, FuseOp>(user) && llvm::any_of(user->getResults(), isParallel));
  });
}

namespace {
/// The pure definition of a stored func, or an update.
struct StoredStage {
  halide::FuncOp func;
  std::optional<int64_t> update;
  /// The reduction loops that run in parallel on a CPU, by their numbers in the stage.
  SmallVector<unsigned> parallel;
};
} // namespace

/// None where a CPU runs them by atomic ops.
static SmallVector<unsigned> findParallelReductions(Value func, int64_t update) {
  SmallVector<unsigned> found;
  bool mayRace = llvm::any_of(func.getUsers(), [&](Operation *user) {
    auto races = dyn_cast<AllowRaceConditionsOp>(user);
    return races && races.getUpdate() == update;
  });
  if (!mayRace)
    return found;
  for (Operation *user : func.getUsers())
    if (auto loops = dyn_cast<LoopsOp>(user); loops && loops.getUpdate() == update)
      for (auto [number, loop] : llvm::enumerate(loops.getLoops()))
        if (isReductionLoop(loop) && isParallel(loop))
          found.push_back(number);
  return found;
}

static void addStages(halide::FuncOp func, SmallVectorImpl<StoredStage> &stages) {
  stages.push_back({func, std::nullopt, {}});
  for (size_t update = 0, count = getUpdates(func.getFunc()).size(); update < count; ++update)
    stages.push_back({func, update, findParallelReductions(func.getFunc(), update)});
}

/// Maps the pure loops of a stage, and those reduction loops that may run in parallel, to blocks of
/// threads; other reduction loops run inside a thread.
static void scheduleStage(OpBuilder &b, StoredStage stage) {
  Location loc = stage.func.getLoc();
  Value func = stage.func.getFunc();
  SmallVector<Value> pure, serial;
  auto loops = LoopsOp::create(b, loc, func, stage.update);
  for (auto [number, loop] : llvm::enumerate(loops.getLoops())) {
    bool isSerial = isReductionLoop(loop) && !llvm::is_contained(stage.parallel, number);
    (isSerial ? serial : pure).push_back(loop);
  }
  if (!stage.parallel.empty())
    AllowRaceConditionsOp::create(b, loc, func, loops.getUpdateAttr());
  if (pure.empty()) {
    GpuSingleThreadOp::create(b, loc, func, loops.getUpdateAttr());
    return;
  }
  SmallVector<Value> order(serial), blocks, threads;
  SmallVector<int64_t> sizes = pure.size() == 1 ? SmallVector<int64_t>{kThreads1D}
                                                : SmallVector<int64_t>{kThreadsX, kThreadsY};
  for (auto [loop, size] : llvm::zip(pure, sizes)) {
    auto split = SplitOp::create(b, loc, loop, size, TailStrategy::guard_with_if);
    threads.push_back(split.getInner());
    blocks.push_back(split.getOuter());
  }
  llvm::append_range(blocks, ArrayRef(pure).drop_front(sizes.size()));
  llvm::append_range(order, threads);
  llvm::append_range(order, blocks);
  ReorderOp::create(b, loc, order);
  // Only the first dimension of a grid may be long.
  Value block = blocks.front();
  for (Value outer : ArrayRef(blocks).drop_front())
    block = FuseOp::create(b, loc, block, outer);
  GpuBlockOp::create(b, loc, block);
  for (Value thread : threads)
    GpuThreadOp::create(b, loc, thread);
}

static void schedule(Block &body, ArrayRef<StoredStage> stages) {
  OpBuilder b = OpBuilder::atBlockEnd(&body);
  for (StoredStage stage : stages) {
    if (!stage.update && !isOutput(stage.func))
      ComputeRootOp::create(b, stage.func.getLoc(), stage.func.getFunc());
    scheduleStage(b, stage);
  }
}

static void mapToGpu(PipelineOp pipeline) {
  Block &body = pipeline.getBody().front();
  SmallVector<StoredStage> stages;
  for (auto func : body.getOps<halide::FuncOp>())
    if (isStored(func))
      addStages(func, stages);
  dropSchedule(body);
  schedule(body, stages);
}

/// Of a pipeline with GPU loops, the funcs at compute_root that have none.
static void mapRestToGpu(PipelineOp pipeline) {
  Block &body = pipeline.getBody().front();
  SmallVector<StoredStage> stages;
  auto isOnGpu = [&](Value func) {
    return llvm::any_of(body,
                        [&](Operation &op) { return isGpuDirective(op) && isAbout(op, func); });
  };
  for (auto func : body.getOps<halide::FuncOp>()) {
    bool isRoot = llvm::any_of(func.getFunc().getUsers(), llvm::IsaPred<ComputeRootOp>);
    if (!isRoot || isOnGpu(func.getFunc()))
      continue;
    addStages(func, stages);
    dropSchedule(body, func.getFunc());
  }
  schedule(body, stages);
}

namespace {
struct HalideMapToGpuPass : halide::impl::HalideMapToGpuBase<HalideMapToGpuPass> {
  using Base::Base;
  void runOnOperation() override {
    for (auto pipeline : getOperation().getOps<PipelineOp>())
      hasGpuSchedule(pipeline) ? mapRestToGpu(pipeline) : mapToGpu(pipeline);
  }
};
} // namespace
