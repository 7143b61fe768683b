//===- SelectSchedule.cpp - choose schedule parameters --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/GpuTile.h"
#include "attnc/Dialect/Attn/MaskAnalysis.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Dialect/Attn/ProbRegion.h"
#include "attnc/Machine/CpuInfo.h"
#include "attnc/Machine/GpuInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <numeric>

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNSELECTSCHEDULE
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// A window in which the keys that only some rows of a tile see are a good part of all: a
/// smaller tile has fewer of them.
static std::optional<int64_t> findNarrowWidth(MaskAnalysis &mask) {
  constexpr int64_t kNarrow = 512;
  std::optional<int64_t> width = mask.getWidth();
  return width && *width > 0 && *width <= kNarrow ? width : std::nullopt;
}

/// Whether almost all rows see so many keys that these and their values, which every tile of
/// rows reads anew, come from far away each time.
static bool hasFarKeys(AttentionOp op, MaskAnalysis &mask) {
  constexpr int64_t kNearBytes = 12 << 20;
  auto key = op.getKey().getType(), value = op.getValue().getType();
  if (key.isDynamicDim(2))
    return false;
  int64_t bytes = key.getDimSize(2) * (key.getDimSize(3) + value.getDimSize(3)) *
                  key.getElementTypeBitWidth() / 8;
  bool boundsOneSide =
      op.getMask().empty() ||
      (!mask.getWidth() && llvm::all_of(op.getMask().getOps(), [](Operation &each) {
        return isa<arith::ConstantOp, arith::AddIOp, arith::SubIOp, arith::CmpIOp, YieldOp>(each);
      }));
  return bytes > kNearBytes && boundsOneSide;
}

namespace {
/// Chooses among the kernels of a CPU for one op.
class CpuSelector {
public:
  CpuSelector(AttentionOp op, const CpuInfo &cpu)
      : op(op), mask(op.getMask()), lanes(cpu.lanes(32)), isWide(cpu.vectorRegisters >= 32),
        isPlain(!isWide && cpu.vectorBytes == 16), headDim(op.getQuery().getType().getDimSize(3)),
        valueVectors(llvm::divideCeil(op.getValue().getType().getDimSize(3), lanes)),
        width(findNarrowWidth(mask)) {}

  ArrayAttr select();

private:
  Attribute prefill(int64_t qBlock, int64_t maxQLen = 0);
  int64_t kvBlock(int64_t qBlock);
  /// Whether one chunk has all keys that a tile sees.
  bool isOneChunk(int64_t qBlock);
  Attribute decode(int64_t rowsOfHead, int64_t maxQLen = 0);
  int64_t kvSplits(int64_t packedHeads);
  int64_t bestRowTile(int64_t rows);

  AttentionOp op;
  MaskAnalysis mask;
  int64_t lanes;
  /// 32 vector registers, not 16.
  bool isWide;
  /// Products and sums take an instruction each, and a register between them.
  bool isPlain;
  int64_t headDim, valueVectors;
  /// Keys that a row sees at most; nothing where that is all or not known to be few.
  std::optional<int64_t> width;
};
} // namespace

static int64_t largestDivisor(int64_t n, int64_t limit) {
  int64_t divisor = std::max<int64_t>(std::min(n, limit), 1);
  while (n % divisor != 0)
    --divisor;
  return divisor;
}

/// Query heads whose rows one tile holds, so that keys and values are read once for all.
static int64_t getPackedHeads(AttentionOp op) {
  int64_t heads = op.getQuery().getType().getDimSize(1),
          kvHeads = op.getKey().getType().getDimSize(1);
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(kvHeads) || kvHeads == 0)
    return 1;
  return largestDivisor(heads / kvHeads, 8);
}

/// Where a tile sees few keys, all are one chunk: nothing is rescaled. Else that costs as much for
/// few keys as for many, but scores of many leave the nearest cache. They are computed of whole
/// chunks: behind a mask's last key a smaller one wastes less, and those of a window are as many as
/// fit it. Where vectors are short, so may the stack be: wasm's holds 64 KB.
int64_t CpuSelector::kvBlock(int64_t qBlock) {
  constexpr int64_t kSmall = 64, kMasked = 96, kLarge = 128;
  if (isOneChunk(qBlock))
    return llvm::alignTo(std::max<int64_t>(*getMostKeys(op, mask, qBlock), 1), 16);
  if (!width && (isPlain || qBlock > 48))
    return kSmall;
  if (!width)
    return op.getMask().empty() && isWide ? kLarge : kMasked;
  int64_t keys = *width + qBlock - 1;
  return llvm::alignTo(llvm::divideCeil(keys, llvm::divideCeil(keys, kMasked)), 16);
}

bool CpuSelector::isOneChunk(int64_t qBlock) {
  constexpr int64_t kMostKeys = 384;
  std::optional<int64_t> keys = getMostKeys(op, mask, qBlock);
  return keys && *keys <= kMostKeys && !isPlain;
}

/// Scores and context take three quarters of the registers each, in turns; scores half of them
/// where a product has to be in one before it is added. The values of a large or masked chunk of
/// all keys come from far away for each group of rows: fewer groups, of fewer vectors.
Attribute CpuSelector::prefill(int64_t qBlock, int64_t maxQLen) {
  constexpr int64_t kNearKeys = 128;
  int64_t vectors = largestDivisor(qBlock / lanes, isPlain ? 4 : 3);
  int64_t scoreKeys = isWide ? 8 : isPlain ? 2 : 4;
  int64_t contextVectors =
      isWide ? (valueVectors <= 6 ? valueVectors : 4) : std::min<int64_t>(valueVectors, 2);
  if (isWide && isOneChunk(qBlock) && (width || kvBlock(qBlock) > kNearKeys))
    contextVectors = std::min<int64_t>(valueVectors, 2);
  int64_t contextRows =
      largestDivisor(qBlock, std::min<int64_t>((isWide ? 24 : 12) / contextVectors, 12));
  return PrefillAttr::get(op->getContext(), qBlock, kvBlock(qBlock), lanes, vectors, scoreKeys,
                          contextRows, contextVectors, maxQLen);
}

/// Eight sums at least hide the latency of one.
Attribute CpuSelector::decode(int64_t rowsOfHead, int64_t maxQLen) {
  int64_t shared = getPackedHeads(op), rows = rowsOfHead * shared;
  int64_t scoreRows = largestDivisor(rows, isWide ? 4 : 2);
  int64_t contextRows = largestDivisor(rows, isWide ? 6 : 4);
  int64_t contextVectors =
      largestDivisor(valueVectors, std::min<int64_t>((isWide ? 24 : 12) / contextRows, 8));
  return DecodeAttr::get(op->getContext(), rows, shared, /*kv_block=*/64, lanes, scoreRows,
                         /*score_keys=*/scoreRows < 3 && isWide ? 8 : 4, contextRows,
                         contextVectors, kvSplits(shared), /*min_split_keys=*/1024, maxQLen);
}

/// As many parts of the keys as make tasks for all cores of a large machine. Those of a window
/// are few, and a prob region may want to see all of a row's probs.
int64_t CpuSelector::kvSplits(int64_t packedHeads) {
  constexpr int64_t kTasks = 32;
  auto query = op.getQuery().getType();
  if (mask.getWidth() || !op.getProbMod().empty())
    return 1;
  int64_t tasks = query.isDynamicDim(1) ? 1 : query.getDimSize(1) / packedHeads;
  if (!query.isDynamicDim(0))
    tasks *= query.getDimSize(0);
  return llvm::divideCeil(kTasks, std::clamp<int64_t>(tasks, 1, kTasks));
}

/// The tile that wastes least on rows that are not there; a row of a small tile costs more.
int64_t CpuSelector::bestRowTile(int64_t rows) {
  std::pair<int64_t, double> costOfRow[] = {{48, 1.0}, {32, 1.05}, {16, 1.3}};
  auto cost = [&](std::pair<int64_t, double> tile) {
    return llvm::divideCeil(rows, tile.first) * tile.first * tile.second;
  };
  return llvm::min_element(costOfRow, [&](auto a, auto b) { return cost(a) < cost(b); })->first;
}

/// A known q_len has one kernel; for others a call chooses by its own. More rows than a
/// handful fill the lanes.
ArrayAttr CpuSelector::select() {
  constexpr int64_t kFewRows = 4, kNarrowTile = 32, kFarTile = 192;
  int64_t rows = op.getQuery().getType().getDimSize(2);
  bool canDecode = headDim % lanes == 0;
  SmallVector<Attribute> schedules;
  if (!ShapedType::isDynamic(rows)) {
    bool isDecode = canDecode && rows > 0 && rows <= kFewRows && rows * getPackedHeads(op) <= 16;
    int64_t qBlock = bestRowTile(rows);
    if (isWide && rows >= kFarTile && hasFarKeys(op, mask))
      qBlock = kFarTile;
    schedules = {isDecode ? decode(rows) : prefill(width ? std::min(qBlock, kNarrowTile) : qBlock)};
  } else {
    if (canDecode)
      schedules.push_back(decode(1, 1));
    schedules.append({prefill(16, 16)});
    if (!width)
      schedules.push_back(prefill(32, 128));
    schedules.push_back(prefill(width ? kNarrowTile : 48));
  }
  return ArrayAttr::get(op->getContext(), schedules);
}

//===----------------------------------------------------------------------===//
// GPU
//===----------------------------------------------------------------------===//

namespace {
/// Chooses among the kernels of a GPU for one op.
class GpuSelector {
public:
  /// `mostBytes` is what a tile may take of shared memory.
  GpuSelector(AttentionOp op, int64_t mostBytes)
      : op(op), mostBytes(mostBytes), headDim(op.getQuery().getType().getDimSize(3)),
        valueDim(op.getValue().getType().getDimSize(3)) {}

  /// Null where no tile fits into shared memory.
  ArrayAttr select();

private:
  GpuAttr tile(ArrayRef<int64_t> rowTiles, int64_t packedHeads, int64_t threadsX, int64_t threadsY,
               int64_t kvSplits, int64_t maxQLen = 0);
  int64_t sharedBytes(int64_t rows, int64_t chunk, int64_t threadsX, int64_t columns);

  AttentionOp op;
  int64_t mostBytes, headDim, valueDim;
};
} // namespace

/// The number of chunks, the query, a maximum and a sum of each row, and what comes and goes with
/// a chunk: the keys and each thread's maxima, and then the weights and the values. Halide puts the
/// weights where of the two what is nearest to them in size was, and the values where the other
/// was.
int64_t GpuSelector::sharedBytes(int64_t rows, int64_t chunk, int64_t threadsX, int64_t columns) {
  int64_t keys = chunk * getRowDistance(headDim), maxima = rows * threadsX,
          weights = rows * getWeightDistance(chunk), values = chunk * threadsX * columns;
  bool isInKeys = std::abs(keys - weights) < std::abs(weights - maxima);
  int64_t ofChunk = isInKeys ? std::max(keys, weights) + std::max(maxima, values)
                             : std::max(maxima, weights) + std::max(keys, values);
  return sizeof(float) * (kChunkCountElements + rows * (getRowDistance(headDim) + 2) + ofChunk);
}

/// The tile that does most between two barriers, of those that fit; null where none does. What a
/// thread has of it is unrolled: at most as much as there are registers for.
GpuAttr GpuSelector::tile(ArrayRef<int64_t> rowTiles, int64_t packedHeads, int64_t threadsX,
                          int64_t threadsY, int64_t kvSplits, int64_t maxQLen) {
  // Of a chunk's context, the context, the sum, the maximum, and the scores; the others are for
  // operands.
  constexpr int64_t kRegisters = 190;
  int64_t columns = 2 * llvm::divideCeil(valueDim, 2 * threadsX);
  int64_t bestRows = 0, bestChunk = 0;
  for (int64_t rows : rowTiles)
    for (int64_t keys : {8, 6, 4, 2, 1})
      if (int64_t chunk = keys * threadsX, rowsOfThread = rows / std::gcd(rows, threadsY);
          chunk <= 64 && rows * chunk > bestRows * bestChunk &&
          (rowsOfThread == 1 || rowsOfThread * (2 * columns + 2 + keys) <= kRegisters) &&
          sharedBytes(rows, chunk, threadsX, columns) <= mostBytes)
        std::tie(bestRows, bestChunk) = std::pair(rows, chunk);
  if (bestRows == 0)
    return {};
  return GpuAttr::get(op->getContext(), bestRows, packedHeads, bestChunk, kvSplits, threadsX,
                      std::gcd(bestRows, threadsY), columns, maxQLen);
}

/// Few rows leave most of a GPU idle: their keys are split, too.
ArrayAttr GpuSelector::select() {
  constexpr int64_t kFewRows = 4, kKvSplits = 8;
  int64_t rows = op.getQuery().getType().getDimSize(2), shared = getPackedHeads(op);
  bool isOpen = ShapedType::isDynamic(rows), isFew = !isOpen && rows > 0 && rows <= kFewRows;
  GpuAttr prefill =
      tile({64, 56, 48, 40, 32, 24, 16, 8}, 1, /*threadsX=*/8, /*threadsY=*/8, /*kvSplits=*/1);
  GpuAttr decode;
  if (isOpen || isFew)
    decode = tile({(isFew ? rows : 1) * shared}, shared, /*threadsX=*/32, /*threadsY=*/8, kKvSplits,
                  /*maxQLen=*/isOpen ? 1 : 0);
  SmallVector<Attribute> schedules;
  if (decode)
    schedules.push_back(decode);
  if (prefill && !(isFew && decode))
    schedules.push_back(prefill);
  bool isServed =
      !schedules.empty() && cast<ScheduleAttrInterface>(schedules.back()).getMaxQLen() == 0;
  return isServed ? ArrayAttr::get(op->getContext(), schedules) : ArrayAttr();
}

/// Where no tile leaves room for a second block, one may take all that there is.
static ArrayAttr selectOnGpu(AttentionOp op, GpuInfo gpu) {
  ArrayAttr schedules = GpuSelector(op, gpu.getTileBytes()).select();
  return schedules ? schedules : GpuSelector(op, GpuInfo::kSharedBytes).select();
}

//===----------------------------------------------------------------------===//
// Any target
//===----------------------------------------------------------------------===//

StringRef attn::findObstacle(AttentionOp op) {
  auto query = op.getQuery().getType(), value = op.getValue().getType();
  Type element = query.getElementType();
  if (element.isF64())
    return "elements are f64";
  if (query.isDynamicDim(3) || value.isDynamicDim(3))
    return "head_dim or value_dim is open";
  // Probs are changed before their row is normalised.
  if (!op.getProbMod().empty() && !ProbRegion(op.getProbMod()).isLinear())
    return "the prob region is not linear in the prob";
  return "";
}

StringRef attn::getReasonForNoKernel(AttentionOp op, StringRef target) {
  if (StringRef obstacle = findObstacle(op); !obstacle.empty())
    return obstacle;
  std::optional<GpuInfo> gpu = GpuInfo::fromTarget(target);
  if (!gpu || selectOnGpu(op, *gpu))
    return "";
  return "no tile fits into the 48 KB of a GPU's shared memory";
}

/// A schedule that a person wrote is for a GPU or for a CPU, as the target is: the other one's
/// loops would be dropped, and the score stored.
static LogicalResult verifyTargetKind(AttentionOp op, TargetKind kind) {
  for (auto schedule : op.getScheduleAttr().getAsRange<ScheduleAttrInterface>())
    if (schedule.getTargetKind() != kind)
      return op.emitOpError("expected a schedule for a ")
             << (kind == TargetKind::gpu ? "GPU" : "CPU") << ", as the target is, found "
             << schedule;
  return success();
}

namespace {
struct AttnSelectSchedulePass : attn::impl::AttnSelectScheduleBase<AttnSelectSchedulePass> {
  using Base::Base;
  void runOnOperation() override {
    CpuInfo cpu = CpuInfo::fromTarget(target);
    std::optional<GpuInfo> gpu = GpuInfo::fromTarget(target);
    bool isValid = true;
    getOperation().walk([&](AttentionOp op) {
      if (op.getSchedule())
        isValid &= succeeded(verifyTargetKind(op, gpu ? TargetKind::gpu : TargetKind::cpu));
      else if (getReasonForNoKernel(op, target).empty())
        op.setScheduleAttr(gpu ? selectOnGpu(op, *gpu) : CpuSelector(op, cpu).select());
    });
    if (!isValid)
      signalPassFailure();
  }
};
} // namespace
