//===- PipelineBuilder.cpp - write halide pipelines as Halide reads -------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineBuilder.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Algorithm
//===----------------------------------------------------------------------===//

PipelineBuilder::PipelineBuilder(OpBuilder &outer, Location loc, StringRef name)
    : builder(loc, outer), pipeline(halide::PipelineOp::create(builder, name)) {
  builder.setInsertionPointToEnd(&pipeline.getBody().front());
}

Scalar Func::operator()(ArrayRef<Scalar> coords) const {
  SmallVector<Value> values(coords.begin(), coords.end());
  auto &b = pipeline->b();
  return {b, halide::AtOp::create(b, getElementType(), value, values)};
}

/// Extents of a tensor, innermost first; dynamic from dimension `knownDims` on.
static SmallVector<int64_t> getExtents(RankedTensorType type, int64_t knownDims) {
  SmallVector<int64_t> extents(llvm::reverse(type.getShape()));
  for (int64_t dim = knownDims; dim < type.getRank(); ++dim)
    extents[dim] = ShapedType::kDynamic;
  return extents;
}

Func PipelineBuilder::input(StringRef name, Value tensor, int64_t knownDims) {
  for (auto [known, func] : llvm::zip(inputTensors, inputs))
    if (known == tensor)
      return func;
  auto type = cast<RankedTensorType>(tensor.getType());
  // Inputs are created first, so that any body may read them.
  OpBuilder::InsertionGuard guard(builder);
  if (inputs.empty())
    builder.setInsertionPointToStart(&pipeline.getBody().front());
  else
    builder.setInsertionPointAfterValue(inputs.back());
  auto op = halide::InputOp::create(builder, name, getKernelType(type.getElementType()),
                                    getExtents(type, knownDims));
  inputTensors.push_back(tensor);
  inputs.push_back({*this, op});
  return inputs.back();
}

SmallVector<Scalar> PipelineBuilder::scalars(ValueRange values) {
  return llvm::map_to_vector(values, [&](Value v) { return Scalar(builder, v); });
}

Func PipelineBuilder::func(StringRef name, ArrayRef<StringRef> vars, Type elementType, Body body) {
  auto op = halide::FuncOp::create(builder, name, getKernelType(elementType), vars,
                                   [&](OpBuilder &inner, Location, ValueRange args) {
                                     OpBuilder::InsertionGuard guard(builder);
                                     builder.restoreInsertionPoint(inner.saveInsertionPoint());
                                     halide::YieldOp::create(builder, body(scalars(args)));
                                   });
  return {*this, op.getFunc()};
}

void PipelineBuilder::update(Func f, ArrayRef<StringRef> vars, ArrayRef<Reduction> reductions,
                             function_ref<Update(ArrayRef<Scalar>, ArrayRef<Scalar>)> body) {
  auto domain = llvm::map_to_vector(reductions, [&](const Reduction &r) {
    return halide::ReductionVar{r.name, i32(0), r.extent};
  });
  halide::UpdateOp::create(
      builder, f, vars, domain, [&](OpBuilder &inner, Location, ValueRange args) {
        OpBuilder::InsertionGuard guard(builder);
        builder.restoreInsertionPoint(inner.saveInsertionPoint());
        Update u =
            body(scalars(args.take_front(vars.size())), scalars(args.drop_front(vars.size())));
        SmallVector<Value> at(u.coords.begin(), u.coords.end());
        halide::YieldOp::create(builder, u.value, at, u.where);
      });
}

void PipelineBuilder::output(Func f, RankedTensorType type, int64_t knownDims) {
  halide::OutputOp::create(builder, f, getExtents(type, knownDims));
}

Scalar PipelineBuilder::extent(Func input, int64_t dim) {
  auto op = Value(input).getDefiningOp<halide::InputOp>();
  int64_t known = op.getExtents()[dim];
  if (!ShapedType::isDynamic(known))
    return i32(known);
  // Extents are created beside the inputs, also if a body asks for them.
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(op);
  return {builder, halide::ExtentOp::create(builder, input, dim)};
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

SmallVector<Loop> PipelineBuilder::loops(Func f, std::optional<int64_t> update) {
  return llvm::to_vector_of<Loop>(halide::LoopsOp::create(builder, f, update).getLoops());
}

static void appendNames(ArrayAttr vars, SmallVectorImpl<StringRef> &names) {
  llvm::append_range(names, vars.getAsValueRange<StringAttr>());
}

static SmallVector<StringRef> getVars(Func f) {
  SmallVector<StringRef> names;
  appendNames(Value(f).getDefiningOp<halide::FuncOp>().getVars(), names);
  return names;
}

StageLoops PipelineBuilder::stage(Func f, std::optional<int64_t> update) {
  SmallVector<StringRef> names;
  if (update) {
    halide::UpdateOp op = halide::getUpdates(f)[*update];
    appendNames(op.getVars(), names);
    appendNames(op.getRvars(), names);
  } else {
    names = getVars(f);
  }
  return {names, loops(f, update)};
}

int64_t PipelineBuilder::dim(Func f, StringRef name) {
  SmallVector<StringRef> names = getVars(f);
  auto *found = llvm::find(names, name);
  assert(found != names.end() && "the func has no such variable");
  return found - names.begin();
}

std::pair<Loop, Loop> PipelineBuilder::split(Loop loop, int64_t factor, halide::TailStrategy tail) {
  auto op = halide::SplitOp::create(builder, loop, factor, tail);
  return {op.getOuter(), op.getInner()};
}

Loop PipelineBuilder::fuse(Loop inner, Loop outer) {
  return halide::FuseOp::create(builder, inner, outer);
}

void PipelineBuilder::reorder(ArrayRef<Loop> loops) { halide::ReorderOp::create(builder, loops); }
Func PipelineBuilder::rfactor(Loop loop) {
  return {*this, halide::RfactorOp::create(builder, loop).getIntermediate()};
}
void PipelineBuilder::vectorize(Loop loop) { halide::VectorizeOp::create(builder, loop); }
void PipelineBuilder::unroll(Loop loop) { halide::UnrollOp::create(builder, loop); }
void PipelineBuilder::parallel(Loop loop) { halide::ParallelOp::create(builder, loop); }
void PipelineBuilder::gpuBlock(Loop loop) { halide::GpuBlockOp::create(builder, loop); }
void PipelineBuilder::gpuThread(Loop loop) { halide::GpuThreadOp::create(builder, loop); }
void PipelineBuilder::spreadOverThreads(ArrayRef<Loop> own, ArrayRef<Loop> inner,
                                        ArrayRef<Loop> threads, ArrayRef<Loop> outer) {
  SmallVector<Loop> order = llvm::to_vector(own);
  for (ArrayRef<Loop> loops : {inner, threads, outer})
    llvm::append_range(order, loops);
  reorder(order);
  for (Loop loop : threads)
    gpuThread(loop);
}
void PipelineBuilder::computeRoot(Func f) { halide::ComputeRootOp::create(builder, f); }
void PipelineBuilder::computeAt(Func f, Loop loop) {
  halide::ComputeAtOp::create(builder, f, loop);
}
void PipelineBuilder::storeIn(Func f, halide::MemoryType memory) {
  halide::StoreInOp::create(builder, f, memory);
}
void PipelineBuilder::boundExtent(Func f, int64_t dim, int64_t extent) {
  halide::BoundExtentOp::create(builder, f, dim, extent);
}
void PipelineBuilder::boundStorage(Func f, int64_t dim, int64_t extent) {
  halide::BoundStorageOp::create(builder, f, dim, extent);
}
void PipelineBuilder::alignBounds(Func f, int64_t dim, int64_t modulus) {
  halide::AlignBoundsOp::create(builder, f, dim, modulus);
}
void PipelineBuilder::alignStorage(Func f, int64_t dim, int64_t modulus) {
  halide::AlignStorageOp::create(builder, f, dim, modulus);
}
void PipelineBuilder::reorderStorage(Func f, ArrayRef<int64_t> order) {
  halide::ReorderStorageOp::create(builder, f, order);
}
void PipelineBuilder::atomic(Func f, int64_t update) {
  halide::AtomicOp::create(builder, f, builder.getI64IntegerAttr(update));
}
void PipelineBuilder::allowRaceConditions(Func f, int64_t update) {
  halide::AllowRaceConditionsOp::create(builder, f, builder.getI64IntegerAttr(update));
}

void PipelineBuilder::neverPartition(Func f, std::optional<int64_t> update) {
  halide::NeverPartitionOp::create(builder, f,
                                   update ? builder.getI64IntegerAttr(*update) : IntegerAttr());
}

Loop PipelineBuilder::vectorizeBy(Loop loop, int64_t lanes, halide::TailStrategy tail) {
  auto [outer, inner] = split(loop, lanes, tail);
  vectorize(inner);
  return outer;
}
