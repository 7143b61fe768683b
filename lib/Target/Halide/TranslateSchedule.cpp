//===- TranslateSchedule.cpp - schedule directives
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Translator.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::halide;
namespace H = ::Halide;

static H::TailStrategy toHalide(TailStrategy tail) {
  switch (tail) {
  case TailStrategy::automatic:
    return H::TailStrategy::Auto;
  case TailStrategy::round_up:
    return H::TailStrategy::RoundUp;
  case TailStrategy::guard_with_if:
    return H::TailStrategy::GuardWithIf;
  case TailStrategy::predicate:
    return H::TailStrategy::Predicate;
  case TailStrategy::shift_inwards:
    return H::TailStrategy::ShiftInwards;
  }
  llvm_unreachable("unknown tail strategy");
}

static H::MemoryType toHalide(MemoryType memory) {
  switch (memory) {
  case MemoryType::automatic:
    return H::MemoryType::Auto;
  case MemoryType::heap:
    return H::MemoryType::Heap;
  case MemoryType::stack:
    return H::MemoryType::Stack;
  case MemoryType::register_:
    return H::MemoryType::Register;
  case MemoryType::gpu_shared:
    return H::MemoryType::GPUShared;
  case MemoryType::gpu_texture:
    return H::MemoryType::GPUTexture;
  }
  llvm_unreachable("unknown memory type");
}

//===----------------------------------------------------------------------===//
// Stages and loops
//===----------------------------------------------------------------------===//

H::Stage Translator::getStage(Value func, std::optional<int64_t> update) {
  H::Func &definition = getFunc(func);
  return update ? definition.update(*update) : H::Stage(definition);
}

H::LoopLevel Translator::getLevel(Value loop, int stageIndex) {
  const Loop &at = getLoop(loop);
  return H::LoopLevel(at.func, at.var, stageIndex);
}

void Translator::defineLoops(ValueRange handles, Value func, std::optional<int64_t> update,
                             H::Stage stage) {
  const auto &vars = stageVars.at({func.getAsOpaquePointer(), update.value_or(-1)});
  for (auto [handle, var] : llvm::zip(handles, vars))
    loops.insert({handle.getAsOpaquePointer(), Loop{getFunc(func), stage, var}});
}

/// Names follow the structure of the stage alone, so that stages with the same splits can be
/// computed with each other.
H::VarOrRVar Translator::makeLoopVar(Value loop) {
  halide::Stage stage = halide::getStage(loop);
  StageKey key{stage.func.getAsOpaquePointer(), stage.update.value_or(-1)};
  auto [names, isNew] = loopNames.try_emplace({key, stage.specialization});
  if (isNew)
    for (const H::VarOrRVar &var : stageVars.at(key))
      names->second.insert(var.name());
  std::string name = getFreshName(names->second, getLoopName(loop));
  return isReductionLoop(loop) ? H::VarOrRVar(H::RVar(name)) : H::VarOrRVar(H::Var(name));
}

void Translator::split(SplitOp op) {
  Loop source = getLoop(op.getLoop());
  H::VarOrRVar outer = makeLoopVar(op.getOuter());
  H::VarOrRVar inner = makeLoopVar(op.getInner());
  source.stage.split(source.var, outer, inner, int(op.getFactor()), toHalide(op.getTail()));
  loops.insert({op.getOuter().getAsOpaquePointer(), Loop{source.func, source.stage, outer}});
  loops.insert({op.getInner().getAsOpaquePointer(), Loop{source.func, source.stage, inner}});
}

void Translator::fuse(FuseOp op) {
  Loop inner = getLoop(op.getInner()), outer = getLoop(op.getOuter());
  H::VarOrRVar fused = makeLoopVar(op.getFused());
  outer.stage.fuse(inner.var, outer.var, fused);
  loops.insert({op.getFused().getAsOpaquePointer(), Loop{outer.func, outer.stage, fused}});
}

bool Translator::translateLoopDirective(Operation *op) {
  auto onLoop = [&](Value value, auto directive) {
    Loop &loop = getLoop(value);
    directive(loop.stage, loop.var);
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](LoopsOp loops) {
        std::optional<int64_t> update = loops.getUpdate();
        defineLoops(loops.getLoops(), loops.getFunc(), update, getStage(loops.getFunc(), update));
        return true;
      })
      .Case([&](SplitOp split) { return this->split(split), true; })
      .Case([&](FuseOp fuse) { return this->fuse(fuse), true; })
      .Case([&](ReorderOp reorder) {
        std::vector<H::VarOrRVar> vars;
        for (Value loop : reorder.getLoops())
          vars.push_back(getLoop(loop).var);
        if (!vars.empty())
          getLoop(reorder.getLoops().front()).stage.reorder(vars);
        return true;
      })
      .Case([&](VectorizeOp any) {
        return onLoop(any.getLoop(), [](auto &s, auto &v) { s.vectorize(v); }), true;
      })
      .Case([&](UnrollOp any) {
        return onLoop(any.getLoop(), [](auto &s, auto &v) { s.unroll(v); }), true;
      })
      .Case([&](ParallelOp any) {
        return onLoop(any.getLoop(), [](auto &s, auto &v) { s.parallel(v); }), true;
      })
      .Case([&](GpuBlockOp any) {
        return onLoop(any.getLoop(), [](auto &s, auto &v) { s.gpu_blocks(v); }), true;
      })
      .Case([&](GpuThreadOp any) {
        return onLoop(any.getLoop(), [](auto &s, auto &v) { s.gpu_threads(v); }), true;
      })
      .Default([](Operation *) { return false; });
}

//===----------------------------------------------------------------------===//
// Funcs
//===----------------------------------------------------------------------===//

bool Translator::translateFuncDirective(Operation *op) {
  auto var = [&](auto dimOp) { return getFunc(dimOp.getFunc()).args()[dimOp.getDim()]; };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](ComputeRootOp any) { return getFunc(any.getFunc()).compute_root(), true; })
      .Case([&](StoreRootOp any) { return getFunc(any.getFunc()).store_root(), true; })
      .Case([&](ComputeAtOp any) {
        return getFunc(any.getFunc()).compute_at(getLevel(any.getLoop())), true;
      })
      .Case([&](StoreAtOp any) {
        return getFunc(any.getFunc()).store_at(getLevel(any.getLoop())), true;
      })
      .Case([&](StoreInOp any) {
        return getFunc(any.getFunc()).store_in(toHalide(any.getMemory())), true;
      })
      .Case([&](BoundExtentOp any) {
        return getFunc(any.getFunc()).bound_extent(var(any), int(any.getSize())), true;
      })
      .Case([&](BoundStorageOp any) {
        return getFunc(any.getFunc()).bound_storage(var(any), int(any.getSize())), true;
      })
      .Case([&](AlignBoundsOp any) {
        return getFunc(any.getFunc()).align_bounds(var(any), int(any.getSize())), true;
      })
      .Case([&](AlignStorageOp any) {
        return getFunc(any.getFunc()).align_storage(var(any), int(any.getSize())), true;
      })
      .Case([&](ReorderStorageOp any) {
        H::Func &func = getFunc(any.getFunc());
        std::vector<H::Var> order;
        for (int64_t dim : any.getOrder())
          order.push_back(func.args()[dim]);
        return func.reorder_storage(order), true;
      })
      .Default([](Operation *) { return false; });
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Loop levels count stages: 0 is the pure definition.
static int getStageIndex(Value loop) {
  halide::Stage stage = halide::getStage(loop);
  return stage.update ? int(*stage.update) + 1 : 0;
}

void Translator::rfactor(RfactorOp op) {
  Loop source = getLoop(op.getLoop());
  halide::Stage stage = halide::getStage(op.getLoop());
  const void *key = op.getIntermediate().getAsOpaquePointer();
  H::Var preserved(
      getFreshName(varNames[stage.func.getAsOpaquePointer()], source.var.name() + "_u"));
  H::Func intermediate = source.stage.rfactor(source.var.rvar, preserved);
  std::vector<H::VarOrRVar> pureVars;
  for (const H::Var &var : getFunc(stage.func).args())
    pureVars.emplace_back(var);
  pureVars.emplace_back(preserved);
  std::vector<H::VarOrRVar> updateVars = pureVars;
  for (const RemainingLoop &loop : getRemainingLoops(op))
    updateVars.push_back(loop.handle ? getLoop(loop.handle).var : H::RVar(loop.name));
  stageVars[{key, -1}] = std::move(pureVars);
  stageVars[{key, 0}] = std::move(updateVars);
  funcs[key] = intermediate;
}

void Translator::prefetch(PrefetchOp op) {
  Loop &loop = getLoop(op.getLoop());
  int offset = op.getOffset();
  auto image = images.find(op.getFunc().getAsOpaquePointer());
  if (image == images.end())
    loop.stage.prefetch(getFunc(op.getFunc()), loop.var, loop.var, offset);
  else
    loop.stage.prefetch(image->second.parameter(), loop.var, loop.var, offset);
}

bool Translator::translateStageDirective(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](AtomicOp any) { return getStage(any.getFunc(), any.getUpdate()).atomic(), true; })
      .Case([&](GpuSingleThreadOp any) {
        return getStage(any.getFunc(), any.getUpdate()).gpu_single_thread(), true;
      })
      .Case([&](AllowRaceConditionsOp any) {
        return getStage(any.getFunc(), any.getUpdate()).allow_race_conditions(), true;
      })
      .Case([&](NeverPartitionOp any) {
        return getStage(any.getFunc(), any.getUpdate()).never_partition_all(), true;
      })
      .Case([&](ComputeWithOp any) {
        H::LoopLevel level = getLevel(any.getLoop(), getStageIndex(any.getLoop()));
        return getStage(any.getFunc(), any.getUpdate()).compute_with(level), true;
      })
      .Case([&](SpecializeOp any) {
        std::optional<int64_t> update = any.getUpdate();
        H::Stage special = getStage(any.getFunc(), update).specialize(exprs.at(any.getCondition()));
        return defineLoops(any.getLoops(), any.getFunc(), update, special), true;
      })
      .Case([&](RfactorOp any) { return rfactor(any), true; })
      .Case([&](PrefetchOp any) { return prefetch(any), true; })
      .Default([](Operation *) { return false; });
}
