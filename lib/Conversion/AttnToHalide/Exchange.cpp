//===- Exchange.cpp - ops that all ranks take part in ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors that are exchanged have two buffers: one that is computed with, and one that is received
// or computed meanwhile.
//
//===----------------------------------------------------------------------===//

#include "FunctionConverter.h"

#include "attnc/Dialect/Attn/Attributes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::attn;

/// A buffer of two of the tensor's sizes.
static Value allocateTwice(HostFunction &host, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> shape = {2};
  llvm::append_range(shape, type.getShape());
  SmallVector<Value> dynamic;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      dynamic.push_back(cast<Value>(host.getMixedSize(tensor, dim)));
  return host.allocate(MemRefType::get(shape, type.getElementType()), dynamic);
}

/// The view of one of the two.
static Value viewOfTwo(ImplicitLocOpBuilder &builder, Value tensor, Value buffer, Value number) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> offsets(type.getRank() + 1, builder.getIndexAttr(0)),
      strides(offsets.size(), builder.getIndexAttr(1)), sizes = {builder.getIndexAttr(1)};
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    sizes.push_back(type.isDynamicDim(dim)
                        ? OpFoldResult(memref::DimOp::create(builder, buffer, dim + 1).getResult())
                        : OpFoldResult(builder.getIndexAttr(type.getDimSize(dim))));
  offsets.front() = number;
  auto view = memref::SubViewOp::inferRankReducedResultType(
      type.getShape(), cast<MemRefType>(buffer.getType()), offsets, sizes, strides);
  return memref::SubViewOp::create(builder, cast<MemRefType>(view), buffer, offsets, sizes,
                                   strides);
}

/// Checks that the sizes of tensors, but for dimension `except`, are the same on all ranks.
static void requireAgreedSizes(HostFunction &host, ValueRange tensors, int64_t except = -1) {
  SmallVector<Value> sizes;
  for (Value tensor : tensors)
    for (int64_t dim = 0; dim < cast<RankedTensorType>(tensor.getType()).getRank(); ++dim)
      if (dim != except && cast<RankedTensorType>(tensor.getType()).isDynamicDim(dim))
        sizes.push_back(cast<Value>(host.getMixedSize(tensor, dim)));
  if (!sizes.empty())
    host::AgreeOp::create(host.getBuilder(), sizes);
}

static Value loadRanks(HostFunction &host) {
  ImplicitLocOpBuilder &builder = host.getBuilder();
  Value rank = host.allocate(MemRefType::get({2}, builder.getI32Type()));
  host::RankOp::create(builder, rank);
  Value one = arith::ConstantIndexOp::create(builder, 1);
  Value ranks = host::LoadOp::create(builder, builder.getI32Type(), rank, ValueRange{one});
  return arith::IndexCastOp::create(builder, builder.getIndexType(), ranks);
}

/// The elements of attn.places.
static Value buildPlaces(HostFunction &host, Value rows, ShardLayout layout) {
  ImplicitLocOpBuilder &builder = host.getBuilder();
  Value numbers = arith::ConstantIndexOp::create(builder, kLengthsPlace);
  Value size = arith::AddIOp::create(builder, numbers, loadRanks(host));
  Value places = host.allocate(MemRefType::get({ShapedType::kDynamic}, builder.getI32Type()),
                               ValueRange{size});
  host::PlacesOp::create(builder, host.getIndex(rows), static_cast<uint32_t>(layout), places);
  return places;
}

static LogicalResult verifyOnCpu(Operation *op, FunctionConverter &converter) {
  if (!converter.isOnGpu())
    return success();
  return op->emitOpError("expected a CPU as target of a function whose sequence is spread");
}

static LogicalResult convertPlaces(PlacesOp op, FunctionConverter &converter) {
  if (failed(verifyOnCpu(op, converter)))
    return failure();
  converter.getHost().setBuffer(op.getResult(),
                                buildPlaces(converter.getHost(), op.getRows(), op.getLayout()));
  return success();
}

/// Converts a region that yields `buffers`.
static LogicalResult convertBody(Block &body, ArrayRef<Value> buffers,
                                 FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  ValueRange yielded = body.getTerminator()->getOperands();
  for (auto [tensor, buffer] : llvm::zip_equal(yielded, buffers))
    if (tensor.getDefiningOp() && tensor.getDefiningOp()->getBlock() == &body &&
        !host.hasBuffer(tensor))
      host.setBuffer(tensor, buffer);
  if (failed(converter.convertBlock(body)))
    return failure();
  for (auto [tensor, buffer] : llvm::zip_equal(yielded, buffers))
    if (host.getBuffer(tensor) != buffer && failed(converter.copy(tensor.getLoc(), tensor, buffer)))
      return failure();
  return success();
}

namespace {
/// The two buffers of each of some tensors.
struct TwoBuffers {
  SmallVector<Value> tensors, buffers;

  TwoBuffers(HostFunction &host, ValueRange tensors) : tensors(tensors) {
    for (Value tensor : tensors)
      buffers.push_back(allocateTwice(host, tensor));
  }
  SmallVector<Value> view(HostFunction &host, Value number) const {
    SmallVector<Value> views;
    for (auto [tensor, buffer] : llvm::zip_equal(tensors, buffers))
      views.push_back(viewOfTwo(host.getBuilder(), tensor, buffer, number));
    return views;
  }
};
} // namespace

static LogicalResult copyAll(ValueRange tensors, ArrayRef<Value> buffers,
                             FunctionConverter &converter) {
  for (auto [tensor, buffer] : llvm::zip_equal(tensors, buffers))
    if (failed(converter.copy(tensor.getLoc(), tensor, buffer)))
      return failure();
  return success();
}

static void setBuffers(HostFunction &host, ValueRange tensors, ArrayRef<Value> buffers) {
  for (auto [tensor, buffer] : llvm::zip_equal(tensors, buffers))
    host.setBuffer(tensor, buffer);
}

static LogicalResult convertRing(RingOp op, FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  ImplicitLocOpBuilder &b = host.getBuilder();
  if (failed(verifyOnCpu(op, converter)))
    return failure();
  requireAgreedSizes(host, op.getBlocks());
  TwoBuffers blocks(host, op.getBlocks()), carried(host, op.getInits());
  Value zero = arith::ConstantIndexOp::create(b, 0), one = arith::ConstantIndexOp::create(b, 1),
        two = arith::ConstantIndexOp::create(b, 2);
  if (failed(copyAll(op.getBlocks(), blocks.view(host, zero), converter)) ||
      failed(copyAll(op.getInits(), carried.view(host, zero), converter)))
    return failure();

  Value ranks = loadRanks(host), turn = host.beginLoop(ranks);
  Value current = arith::RemUIOp::create(b, turn, two);
  Value next = arith::SubIOp::create(b, one, current);
  SmallVector<Value> here = blocks.view(host, current), coming = blocks.view(host, next);
  Value left = arith::SubIOp::create(b, ranks, turn);
  Value isBeforeLast = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, left, one);
  (void)host.buildIf(isBeforeLast, [&] {
    for (auto [from, into] : llvm::zip_equal(here, coming))
      host::PassOp::create(b, from, into);
    return success();
  });
  llvm::append_range(here, carried.view(host, current));
  setBuffers(host, op.getBody().getArguments(), here);
  if (failed(convertBody(op.getBody().front(), carried.view(host, next), converter)))
    return failure();
  host::WaitOp::create(b);
  host.endLoop();
  setBuffers(host, op.getResults(), carried.view(host, arith::RemUIOp::create(b, ranks, two)));
  return success();
}

static LogicalResult convertAllReduce(AllReduceOp op, FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  ImplicitLocOpBuilder &b = host.getBuilder();
  if (failed(verifyOnCpu(op, converter)))
    return failure();
  requireAgreedSizes(host, op.getInputs());
  SmallVector<Value> data, received, combined;
  for (Value input : op.getInputs())
    for (auto *buffers : {&data, &received, &combined})
      buffers->push_back(host.allocate(input));
  if (failed(copyAll(op.getInputs(), data, converter)))
    return failure();

  Value round = host.beginLoop(loadRanks(host)), isReceived;
  for (auto [from, into] : llvm::zip_equal(data, received))
    isReceived = host::TradeOp::create(b, b.getI1Type(), round, from, into);
  host::WaitOp::create(b);
  size_t count = data.size();
  Block &body = op.getBody().front();
  auto combine = [&] {
    setBuffers(host, body.getArguments().take_front(count), data);
    setBuffers(host, body.getArguments().take_back(count), received);
    return failure(failed(convertBody(body, combined, converter)) ||
                   failed(copyAll(body.getTerminator()->getOperands(), data, converter)));
  };
  if (failed(host.buildIf(isReceived, combine)))
    return failure();
  host.endLoop();
  setBuffers(host, op.getResults(), data);
  return success();
}

static LogicalResult convertAllGather(AllGatherOp op, FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  if (failed(verifyOnCpu(op, converter)))
    return failure();
  requireAgreedSizes(host, op.getInput(), op.getDim());
  FailureOr<Value> compact = converter.getCompact(op.getInput());
  if (failed(compact))
    return failure();
  Value all = host.allocate(op.getResult());
  ImplicitLocOpBuilder &b = host.getBuilder();
  host::GatherOp::create(b, *compact, host.getBuffer(op.getPlaces()), all,
                         static_cast<uint32_t>(op.getLayout()), op.getDim(), op.getHaloAttr());
  host.setBuffer(op.getResult(), all);
  return success();
}

void attn::addExchangeLowerings(Lowerings &lowerings) {
  lowerings.addView(convertPlaces);
  lowerings.addView(convertAllGather);
  lowerings.addView(convertRing);
  lowerings.addView(convertAllReduce);
}
