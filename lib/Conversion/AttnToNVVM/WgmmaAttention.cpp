//===- WgmmaAttention.cpp - fused attention of warpgroups -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread block computes a query block, 64 rows a warpgroup; one warpgroup more copies tiles to a
// ring of stages in shared memory. A step starts the products of a KV block's keys, then those of
// the last one's numerators with its values, which run while scores become numerators. Warpgroups
// start theirs in turn, so that one has the tensor cores while another computes exponentials
// (FlashAttention 3, arXiv:2407.08608).
//
//===----------------------------------------------------------------------===//

#include "WgmmaAttention.h"

#include "SharedBarrier.h"
#include "Warpgroup.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::nvvm;

/// Barriers of the block: of threads that compute rows, and of the first warpgroup's turn, which
/// those of others follow.
static constexpr int64_t kRowsBarrier = 1, kTurnBarrier = 2;
/// Barriers in shared memory: of the query; of keys and of values, two for each stage.
static constexpr int64_t kQueryBarrier = 0, kFirstBarrier = 1;
/// Columns of a panel of a tile, and of a box.
static constexpr int64_t kPanelColumns = 64;

WgmmaAttention::WgmmaAttention(OpBuilder &builder, StringRef name, AttentionOp op,
                               WgmmaAttr schedule)
    : FragmentAttention(builder, name, op, {op, schedule}, TileLayout::panels,
                        /*partialTypes=*/{}),
      warpgroups(sizes.qBlock / kWarpgroupRows),
      queryMap(k.tensorMap(op.getQuery(), {1, 1, sizes.qBlock, kPanelColumns})),
      keyStream{k.tensorMap(op.getKey(), {1, 1, sizes.kvBlock, kPanelColumns}),
                keyTile,
                sizes.keyOffset(),
                sizes.keyRowBytes(),
                kFirstBarrier,
                {}},
      valueStream{k.tensorMap(op.getValue(), {1, 1, sizes.kvBlock, kPanelColumns}),
                  valueTile,
                  sizes.valueOffset(),
                  sizes.valueRowBytes(),
                  kFirstBarrier + 2 * sizes.stages,
                  {}} {
  hasAlignedRows = true; // tensor maps describe no others
}

void WgmmaAttention::synchronize() { barrier(k, k.i32(kRowsBarrier), threads); }

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

Reg WgmmaAttention::barrierAt(int64_t number) {
  return sharedAddress(k, k.i32(sizes.barrierOffset() + 8 * number));
}

Reg WgmmaAttention::filled(const Stream &stream, const Turn &turn) {
  return sharedAddress(k, turn.stage * 8 + (sizes.barrierOffset() + 8 * stream.firstBarrier));
}

Reg WgmmaAttention::freed(const Stream &stream, const Turn &turn) {
  int64_t first = stream.firstBarrier + sizes.stages;
  return sharedAddress(k, turn.stage * 8 + (sizes.barrierOffset() + 8 * first));
}

WgmmaAttention::Turn WgmmaAttention::turnOf(Reg block) const {
  return {block % sizes.stages, block / sizes.stages & 1};
}

/// A stage is filled by one thread, and freed by each warp that computes.
void WgmmaAttention::initBarriers() {
  k.when(k.thread == 0, [&] {
    initBarrier(k, barrierAt(kQueryBarrier), 1);
    for (const Stream *stream : {&keyStream, &valueStream})
      for (int64_t stage = 0; stage < sizes.stages; ++stage) {
        initBarrier(k, barrierAt(stream->firstBarrier + stage), 1);
        initBarrier(k, barrierAt(stream->firstBarrier + sizes.stages + stage), threads / kLanes);
      }
    fenceBarriers(k);
  });
  barrier(k);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// A box for each panel. What lies outside of the tensor becomes zeros.
void WgmmaAttention::copyRows(Reg map, int64_t offset, Reg before, int64_t rows, int64_t rowBytes,
                              ArrayRef<Reg> place, Reg barrier) {
  constexpr int64_t kPanelBytes = 2 * kPanelColumns;
  arriveForBytes(k, barrier, rows * rowBytes);
  for (int64_t panel = 0; panel < rowBytes / kPanelBytes; ++panel)
    startBoxCopy(k, sharedAddress(k, before + (offset + panel * rows * kPanelBytes)), map,
                 {k.i32(panel * kPanelColumns), place[2], place[1], place[0]}, barrier);
}

/// The phase that ends when a stage is freed comes before the one that ends when it is filled.
void WgmmaAttention::fill(const Stream &stream, const Turn &turn, Reg first) {
  waitForPhase(k, freed(stream, turn), turn.parity ^ 1);
  copyRows(stream.map, stream.offset, turn.stage * (sizes.kvBlock * stream.rowBytes), sizes.kvBlock,
           stream.rowBytes, {getKeyBatch(), at.kvHead, firstKey ? firstKey + first : first},
           filled(stream, turn));
}

/// What a multiprocessor's registers give two or three warpgroups that compute.
std::optional<WgmmaAttention::RegisterCounts> WgmmaAttention::getRegisterCounts() const {
  if (warpgroups == 1)
    return std::nullopt;
  return warpgroups == 2 ? RegisterCounts{24, 240} : RegisterCounts{32, 160};
}

void WgmmaAttention::produce() {
  if (std::optional<RegisterCounts> counts = getRegisterCounts())
    lowerRegisters(k, counts->copying);
  auto fillStages = [&] {
    copyRows(queryMap, /*offset=*/0, k.i32(0), sizes.qBlock, sizes.keyRowBytes(),
             {getQueryBatch(), at.firstHead, at.start ? at.start + at.firstRow : at.firstRow},
             barrierAt(kQueryBarrier));
    k.loop(visible.low, visible.high, sizes.kvBlock, k.i32(0),
           [&](Reg first, ArrayRef<Reg> block) -> Regs {
             Turn turn = turnOf(block[0]);
             fill(keyStream, turn, first);
             fill(valueStream, turn, first);
             return {block[0] + 1};
           });
  };
  k.when((k.thread == threads) & (visible.low < visible.high), fillStages);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The descriptor of the tile of a stage.
Reg WgmmaAttention::startOf(const Stream &stream, const Turn &turn) {
  int64_t rows = sizes.kvBlock * (stream.rowBytes / (2 * kPanelColumns));
  return stream.start + widen(turn.stage * (rows * 2 * kPanelColumns / kChunkBytes));
}

Regs WgmmaAttention::startKeys(const Turn &turn) {
  Regs left, right;
  Reg start = startOf(keyStream, turn);
  for (int64_t depth = 0; depth < sizes.headDim; depth += kTileDepth) {
    left.push_back(queryTile.describeColumns(queryStart, depth));
    right.push_back(keyTile.describeColumns(start, depth));
  }
  return startProducts(k, left, right, sizes.kvBlock, element);
}

Regs WgmmaAttention::startValues(const Turn &turn, const Step &step) {
  Regs right;
  Reg start = startOf(valueStream, turn);
  for (int64_t row = 0; row < sizes.kvBlock; row += kTileDepth)
    right.push_back(valueTile.describeRows(start, row));
  return startProductsInRegisters(k, step.state.context, step.numerators, right, element);
}

void WgmmaAttention::release(const Stream &stream, const Turn &turn) {
  arriveIf(k, at.lane == 0, freed(stream, turn));
}

/// Waits until the warpgroup before has started its products, the first one for the last one's of
/// the step before.
void WgmmaAttention::takeTensorCores() {
  if (warpgroups > 1)
    barrier(k, warpgroup + kTurnBarrier, 2 * kWarpgroupThreads);
}

/// `isLast`: after the last step nobody waits for the last warpgroup.
void WgmmaAttention::passTensorCores(Reg isLast) {
  if (warpgroups == 1)
    return;
  Reg isLastGroup = warpgroup == warpgroups - 1;
  Reg next = select(isLastGroup, k.i32(kTurnBarrier), warpgroup + (kTurnBarrier + 1));
  passBarrierIf(k, isNot(isLastGroup & isLast), next, 2 * kWarpgroupThreads);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Makes the products of a block numerators, and adds them up in `sums`.
Shift WgmmaAttention::weigh(RowState &state, Regs &scores, Reg first, Regs &sums) {
  scores = buildScores(scores, first);
  Shift shift = findLargest(state, scores);
  state.maximum = k.choose(
      shift.isAny, [&] { return moveMaxima(state.maximum, shift); }, [&] { return state.maximum; });
  sums.assign(countRows(), k.f32(0));
  exponentiate(scores, sums, state.maximum);
  return shift;
}

Regs WgmmaAttention::packBlock(Regs &scores, Reg first) {
  Regs packed;
  modifyNumerators(scores, first);
  for (int64_t depth = 0; depth < sizes.kvBlock; depth += kTileDepth)
    llvm::append_range(packed, packNumerators(scores, depth)[0]);
  return packed;
}

WgmmaAttention::Step WgmmaAttention::addFirst() {
  Turn turn{k.i32(0), k.i32(0)};
  Step step{startRows(), {}};
  waitForPhase(k, filled(keyStream, turn), turn.parity);
  Regs scores = waitForProducts(k, /*rest=*/0, startKeys(turn));
  release(keyStream, turn);
  weigh(step.state, scores, visible.low, step.state.sum);
  step.numerators = packBlock(scores, visible.low);
  return step;
}

/// Block number `block`, whose first key is `first`.
WgmmaAttention::Step WgmmaAttention::addBlock(Step step, Reg first, Reg block) {
  Turn turn = turnOf(block), before = turnOf(block - 1);
  waitForPhase(k, filled(keyStream, turn), turn.parity);
  takeTensorCores();
  Regs scores = startKeys(turn);
  waitForPhase(k, filled(valueStream, before), before.parity);
  Regs context = startValues(before, step);
  passTensorCores(first + sizes.kvBlock >= visible.high);
  scores = waitForProducts(k, /*rest=*/1, scores);
  release(keyStream, turn);
  Regs sums, maxima = step.state.maximum;
  Shift shift = weigh(step.state, scores, first, sums);
  Regs all(context);
  llvm::append_range(all, scores);
  llvm::append_range(all, sums);
  all = waitForProducts(k, /*rest=*/0, all);
  release(valueStream, before);
  step.state.context = Regs(ArrayRef(all).take_front(context.size()));
  scores = Regs(ArrayRef(all).slice(context.size(), scores.size()));
  Regs regs = k.choose(
      shift.isAny, [&] { return rescaleFrom(maxima, step.state).pack(); },
      [&] { return step.state.pack(); });
  step.state = RowState::unpack(regs, countRows());
  for (auto [sum, added] : llvm::zip(step.state.sum, ArrayRef(all).take_back(countRows())))
    sum = sum + added;
  step.numerators = packBlock(scores, first);
  return step;
}

RowState WgmmaAttention::addLast(Step step, Reg block) {
  Turn turn = turnOf(block);
  waitForPhase(k, filled(valueStream, turn), turn.parity);
  step.state.context = waitForProducts(k, /*rest=*/0, startValues(turn, step));
  return step.state;
}

/// All blocks of the visible keys.
RowState WgmmaAttention::addBlocks() {
  waitForPhase(k, barrierAt(kQueryBarrier), k.i32(0));
  Step step = addFirst();
  Reg second = visible.low + sizes.kvBlock;
  if (warpgroups > 1)
    passBarrierIf(k, (warpgroup == warpgroups - 1) & (second < visible.high), k.i32(kTurnBarrier),
                  2 * kWarpgroupThreads);
  Regs regs = step.state.pack();
  int64_t count = regs.size();
  llvm::append_range(regs, step.numerators);
  regs.push_back(k.i32(1));
  auto unpack = [&](ArrayRef<Reg> regs) {
    return Step{RowState::unpack(regs.take_front(count), countRows()),
                Regs(regs.drop_front(count).drop_back())};
  };
  regs = k.loop(second, visible.high, sizes.kvBlock, regs, [&](Reg first, ArrayRef<Reg> regs) {
    Step next = addBlock(unpack(regs), first, regs.back());
    Regs result = next.state.pack();
    llvm::append_range(result, next.numerators);
    result.push_back(regs.back() + 1);
    return result;
  });
  return addLast(unpack(regs), regs.back() - 1);
}

void WgmmaAttention::consume() {
  if (std::optional<RegisterCounts> counts = getRegisterCounts())
    raiseRegisters(k, counts->computing);
  warpgroup = readFirstLane(k, k.thread / kWarpgroupThreads);
  queryStart = queryTile.describe(warpgroup * kWarpgroupRows);
  keyStream.start = keyTile.describe(k.i32(0));
  valueStream.start = valueTile.describe(k.i32(0));
  Regs end = k.choose(
      visible.low < visible.high, [&] { return addBlocks().pack(); },
      [&] { return startRows().pack(); });
  finishRows(RowState::unpack(end, countRows()));
}

BuiltKernel WgmmaAttention::build(BuiltKernel fallback) {
  whenServed([&] {
    findKeys();
    initBarriers();
    Reg isProducer = readFirstLane(k, k.thread / kWarpgroupThreads) == warpgroups;
    k.when(isProducer, [&] { produce(); });
    k.when(isNot(isProducer), [&] { consume(); });
  });
  BuiltKernel built = k.finish(countBlocks(), threads + kWarpgroupThreads, sizes.sharedBytes());
  built.fallback = fallback.kernel;
  return built;
}
