//===- Schedules.cpp - schedule attributes of the attn dialect ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shapes.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/LinearSchedules.h"
#include "attnc/Dialect/Attn/TensorCores.h"
#include "attnc/Machine/CpuInfo.h"
#include "attnc/Machine/GpuInfo.h"
#include "attnc/Machine/Target.h"

using namespace mlir;
using namespace mlir::attn;

#include "attnc/Dialect/Attn/ScheduleAttrInterface.cpp.inc"

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

using EmitError = function_ref<InFlightDiagnostic()>;

static LogicalResult verifyPositive(EmitError emitError, StringRef name, int64_t found) {
  if (found > 0)
    return success();
  return emitError() << "expected a positive " << name << ", found " << found;
}

static LogicalResult verifyPositive(EmitError emitError,
                                    ArrayRef<std::pair<StringRef, int64_t>> parameters) {
  for (auto [name, value] : parameters)
    if (failed(verifyPositive(emitError, name, value)))
      return failure();
  return success();
}

static LogicalResult verifyMultiple(EmitError emitError, StringRef name, int64_t found,
                                    StringRef unitName, int64_t unit) {
  if (found % unit == 0)
    return success();
  return emitError() << "expected " << name << " to be a multiple of " << unitName << " " << unit
                     << ", found " << found;
}

/// Query blocks and register tiles are unrolled: LLVM takes minutes for thousands of rows or
/// vectors. No CPU has so many registers by far.
static constexpr int64_t kMostRows = 1024, kMostLanes = 64;
/// Scores of so many keys and of kMostRows rows take 256 MiB.
static constexpr int64_t kMostKeys = 65536;

static LogicalResult verifyAtMost(EmitError emitError, StringRef name, int64_t found,
                                  int64_t most) {
  if (found <= most)
    return success();
  return emitError() << "expected " << name << " of at most " << most << ", found " << found;
}

/// Of a tile of registers, rows or keys × vectors.
static LogicalResult verifyTile(EmitError emitError, std::pair<StringRef, int64_t> rows,
                                std::pair<StringRef, int64_t> columns) {
  auto [rowsName, rowCount] = rows;
  auto [columnsName, columnCount] = columns;
  if (rowCount <= kMostTileVectors / columnCount)
    return success();
  return emitError() << "expected " << rowsName << " * " << columnsName << " of at most "
                     << kMostTileVectors << ", found " << rowCount << " * " << columnCount;
}

static LogicalResult verifyUpTo(EmitError emitError, StringRef name, int64_t value, int64_t most) {
  if (value < 0)
    return emitError() << "expected " << name << " of at least 0, found " << value;
  return verifyAtMost(emitError, name, value, most);
}

/// Keys and the locality of their prefetches.
static LogicalResult verifyFetches(EmitError emitError, int64_t keysAhead, int64_t locality) {
  constexpr int64_t kMostAhead = 4096, kMostLocality = 3;
  return failure(failed(verifyUpTo(emitError, "fetch_ahead", keysAhead, kMostAhead)) ||
                 failed(verifyAtMost(emitError, "fetch_locality", locality, kMostLocality)));
}

/// Halide takes numKeys / minSplitKeys for positive in a loop over KV blocks if minSplitKeys is at
/// most kvBlock, and moves a division by it out of the loop, where it may be 0.
static LogicalResult verifyMinSplitKeys(EmitError emitError, int64_t kvSplits, int64_t minSplitKeys,
                                        int64_t kvBlock) {
  if (kvSplits == 1 || minSplitKeys > kvBlock)
    return success();
  return emitError() << "expected min_split_keys above kv_block " << kvBlock << ", found "
                     << minSplitKeys;
}

/// Rows and columns of a tile.
static constexpr int64_t kTileSide = 16;

LogicalResult PrefillAttr::verify(EmitError emitError, int64_t qBlock, int64_t kvBlock,
                                  int64_t vectorWidth, int64_t scoreVectors, int64_t scoreKeys,
                                  int64_t contextRows, int64_t contextVectors, Products products,
                                  int64_t fetchAhead, int64_t fetchLocality, int64_t copyKvBlocks,
                                  int64_t packedHeads, int64_t kvSplits, int64_t minSplitKeys,
                                  int64_t maxQLen) {
  std::pair<StringRef, int64_t> parameters[] = {{"q_block", qBlock},
                                                {"kv_block", kvBlock},
                                                {"vector_width", vectorWidth},
                                                {"score_vectors", scoreVectors},
                                                {"score_keys", scoreKeys},
                                                {"context_rows", contextRows},
                                                {"context_vectors", contextVectors},
                                                {"fetch_locality", fetchLocality},
                                                {"packed_heads", packedHeads},
                                                {"kv_splits", kvSplits},
                                                {"min_split_keys", minSplitKeys}};
  if (failed(verifyPositive(emitError, parameters)) ||
      failed(verifyAtMost(emitError, "q_block", qBlock, kMostRows)) ||
      failed(verifyAtMost(emitError, "kv_block", kvBlock, kMostKeys)) ||
      failed(verifyAtMost(emitError, "vector_width", vectorWidth, kMostLanes)) ||
      failed(verifyFetches(emitError, fetchAhead, fetchLocality)) ||
      failed(verifyUpTo(emitError, "copy_kv_blocks", copyKvBlocks, /*most=*/1)) ||
      failed(verifyTile(emitError, {"score_vectors", scoreVectors}, {"score_keys", scoreKeys})) ||
      failed(verifyTile(emitError, {"context_rows", contextRows},
                        {"context_vectors", contextVectors})))
    return failure();
  // Register tiles have no tail inside of a query block or a KV block. A division
  // keeps the product of hostile parameters from overflowing.
  if (failed(verifyMultiple(emitError, "q_block", qBlock, "vector_width", vectorWidth)))
    return failure();
  if (qBlock / vectorWidth % scoreVectors != 0)
    return emitError() << "expected q_block to be a multiple of vector_width "
                          "* score_vectors, "
                       << "found " << qBlock << " and " << vectorWidth << " * " << scoreVectors;
  if (failed(verifyMultiple(emitError, "q_block", qBlock, "context_rows", contextRows)) ||
      failed(verifyMultiple(emitError, "q_block", qBlock, "packed_heads", packedHeads)))
    return failure();
  if (products == Products::bf16_tiles && (vectorWidth != kTileSide || kvBlock % (2 * kTileSide)))
    return emitError() << "expected a vector_width of " << kTileSide
                       << " and a kv_block that is a multiple of " << 2 * kTileSide
                       << " beside products bf16_tiles, found " << vectorWidth << " and "
                       << kvBlock;
  if (kvBlock % kAccumulators != 0)
    return emitError() << "expected kv_block to be a multiple of " << kAccumulators << ", found "
                       << kvBlock;
  if (failed(verifyMinSplitKeys(emitError, kvSplits, minSplitKeys, kvBlock)))
    return failure();
  return verifyMultiple(emitError, "kv_block", kvBlock, "score_keys", scoreKeys);
}

LogicalResult DecodeAttr::verify(EmitError emitError, int64_t qBlock, int64_t packedHeads,
                                 int64_t kvBlock, int64_t vectorWidth, int64_t scoreRows,
                                 int64_t scoreKeys, int64_t contextRows, int64_t contextVectors,
                                 Products products, int64_t fetchAhead, int64_t fetches,
                                 int64_t fetchLocality, int64_t fetchBlocks,
                                 int64_t interleavedHeads, int64_t kvSplits, int64_t minSplitKeys,
                                 int64_t maxQLen) {
  std::pair<StringRef, int64_t> parameters[] = {{"q_block", qBlock},
                                                {"packed_heads", packedHeads},
                                                {"kv_block", kvBlock},
                                                {"vector_width", vectorWidth},
                                                {"score_rows", scoreRows},
                                                {"score_keys", scoreKeys},
                                                {"context_rows", contextRows},
                                                {"context_vectors", contextVectors},
                                                {"fetches", fetches},
                                                {"fetch_locality", fetchLocality},
                                                {"kv_splits", kvSplits},
                                                {"min_split_keys", minSplitKeys},
                                                {"interleaved_heads", interleavedHeads}};
  if (failed(verifyPositive(emitError, parameters)))
    return failure();
  constexpr int64_t kMostFetches = 4;
  if (failed(verifyFetches(emitError, fetchAhead, fetchLocality)) ||
      failed(verifyAtMost(emitError, "fetches", fetches, kMostFetches)) ||
      failed(verifyAtMost(emitError, "kv_block", kvBlock, kMostKeys)) ||
      failed(verifyUpTo(emitError, "fetch_blocks", fetchBlocks, kMostFetches)) ||
      failed(verifyAtMost(emitError, "vector_width", vectorWidth, kMostLanes)) ||
      failed(verifyTile(emitError, {"score_rows", scoreRows}, {"score_keys", scoreKeys})) ||
      failed(verifyTile(emitError, {"context_rows", contextRows},
                        {"context_vectors", contextVectors})))
    return failure();
  if (qBlock > kMostRows / interleavedHeads)
    return emitError() << "expected q_block * interleaved_heads of at most " << kMostRows
                       << ", found " << qBlock << " * " << interleavedHeads;
  // Register tiles have no tail inside of a query block or a KV block.
  std::pair<StringRef, int64_t> ofRows[] = {
      {"packed_heads", packedHeads}, {"score_rows", scoreRows}, {"context_rows", contextRows}};
  for (auto [name, value] : ofRows)
    if (failed(verifyMultiple(emitError, "q_block", qBlock, name, value)))
      return failure();
  if (products == Products::bf16_tiles)
    return emitError() << "expected products f32 or bf16_pairs, found bf16_tiles";
  if (failed(verifyMultiple(emitError, "kv_block", kvBlock, "score_keys", scoreKeys)))
    return failure();
  if (products == Products::bf16_pairs && (vectorWidth % 2 != 0 || kvBlock % (2 * vectorWidth)))
    return emitError() << "expected an even vector_width and a kv_block that is a multiple of "
                          "twice that beside products bf16_pairs, found "
                       << vectorWidth << " and " << kvBlock;
  if (failed(verifyMinSplitKeys(emitError, kvSplits, minSplitKeys, kvBlock)))
    return failure();
  return verifyMultiple(emitError, "kv_block", kvBlock, "vector_width", vectorWidth);
}

LogicalResult GpuAttr::verify(EmitError emitError, int64_t qBlock, int64_t packedHeads,
                              int64_t kvBlock, int64_t kvSplits, int64_t threadsX, int64_t threadsY,
                              int64_t contextColumns, int64_t maxQLen) {
  std::pair<StringRef, int64_t> parameters[] = {{"q_block", qBlock},
                                                {"packed_heads", packedHeads},
                                                {"kv_block", kvBlock},
                                                {"kv_splits", kvSplits},
                                                {"threads_x", threadsX},
                                                {"threads_y", threadsY},
                                                {"context_columns", contextColumns}};
  if (failed(verifyPositive(emitError, parameters)))
    return failure();
  constexpr int64_t most = GpuInfo::kMaxThreads;
  if (threadsX > most || threadsY > most || threadsX * threadsY > most)
    return emitError() << "expected at most " << most << " threads, found " << threadsX << " * "
                       << threadsY;
  // The rows and keys of each thread have no tail.
  if (failed(verifyMultiple(emitError, "q_block", qBlock, "packed_heads", packedHeads)) ||
      failed(verifyMultiple(emitError, "q_block", qBlock, "threads_y", threadsY)) ||
      failed(verifyMultiple(emitError, "kv_block", kvBlock, "threads_x", threadsX)) ||
      failed(verifyTile(emitError, {"q_block / threads_y", qBlock / threadsY},
                        {"kv_block / threads_x", kvBlock / threadsX})))
    return failure();
  if (contextColumns % 2 == 0)
    return success();
  return emitError() << "expected an even number of context_columns, found " << contextColumns;
}

/// Rows and keys are multiplied 16 at a time.
LogicalResult MmaAttr::verify(EmitError emitError, int64_t qBlock, int64_t kvBlock,
                              int64_t warpRows, int64_t packedHeads, int64_t kvSplits,
                              int64_t maxQLen) {
  constexpr int64_t kTile = 16, kMost = 128;
  std::pair<StringRef, int64_t> parameters[] = {{"q_block", qBlock}, {"kv_block", kvBlock}};
  for (auto [name, value] : parameters) {
    if (failed(verifyPositive(emitError, name, value)) ||
        failed(verifyMultiple(emitError, name, value, "a tile's", kTile)) ||
        failed(verifyAtMost(emitError, name, value, kMost)))
      return failure();
  }
  if (warpRows != kTile && warpRows != 2 * kTile)
    return emitError() << "expected warp_rows to be 16 or 32, found " << warpRows;
  constexpr int64_t kMostSplits = 64;
  if (failed(verifyMultiple(emitError, "q_block", qBlock, "warp_rows", warpRows)) ||
      failed(verifyPositive(emitError, "packed_heads", packedHeads)) ||
      failed(verifyAtMost(emitError, "packed_heads", packedHeads, qBlock)) ||
      failed(verifyPositive(emitError, "kv_splits", kvSplits)))
    return failure();
  return verifyAtMost(emitError, "kv_splits", kvSplits, kMostSplits);
}

LogicalResult LinearAttr::verify(EmitError emitError, int64_t rowTile, int64_t vectors,
                                 int64_t vectorWidth, int64_t rowBlock, Products products,
                                 bool packed, int64_t maxRows) {
  std::pair<StringRef, int64_t> parameters[] = {{"row_tile", rowTile},
                                                {"vectors", vectors},
                                                {"vector_width", vectorWidth},
                                                {"row_block", rowBlock}};
  if (failed(verifyPositive(emitError, parameters)) ||
      failed(verifyAtMost(emitError, "vector_width", vectorWidth, kMostLanes)) ||
      failed(verifyTile(emitError, {"row_tile", rowTile}, {"vectors", vectors})) ||
      failed(verifyMultiple(emitError, "row_block", rowBlock, "row_tile", rowTile)))
    return failure();
  if (products == Products::bf16_tiles && vectors * vectorWidth % kTileSide != 0)
    return emitError() << "expected vectors * vector_width to be a multiple of " << kTileSide
                       << " beside products bf16_tiles, found " << vectors << " * " << vectorWidth;
  if (!packed && products != Products::f32)
    return emitError() << "expected products f32 of weights that are not packed, found "
                       << stringifyProducts(products);
  return verifyAtMost(emitError, "row_block", rowBlock, getMostBlockRows(vectors * vectorWidth));
}

/// A warpgroup computes 64 rows; products of numerators and values take 16 keys at a time.
LogicalResult WgmmaAttr::verify(EmitError emitError, int64_t qBlock, int64_t kvBlock,
                                int64_t stages, int64_t maxQLen) {
  constexpr int64_t kMostRows = 192, kMostKeys = 256, kMostStages = 4;
  if (failed(verifyPositive(emitError, "q_block", qBlock)) ||
      failed(verifyMultiple(emitError, "q_block", qBlock, "a warpgroup's", 64)) ||
      failed(verifyAtMost(emitError, "q_block", qBlock, kMostRows)) ||
      failed(verifyPositive(emitError, "kv_block", kvBlock)) ||
      failed(verifyMultiple(emitError, "kv_block", kvBlock, "a tile's", 16)) ||
      failed(verifyAtMost(emitError, "kv_block", kvBlock, kMostKeys)) ||
      failed(verifyPositive(emitError, "stages", stages)))
    return failure();
  return verifyAtMost(emitError, "stages", stages, kMostStages);
}

/// A warp has at most 64 rows of sums in registers, and at least 16 features, as many as it loads
/// at once.
LogicalResult MmaLinearAttr::verify(EmitError emitError, int64_t rowBlock, int64_t featureBlock,
                                    int64_t depth, int64_t stages, int64_t maxRows) {
  std::tuple<StringRef, int64_t, int64_t, int64_t> powers[] = {
      {"row_block", rowBlock, 16, 128},
      {"feature_block", featureBlock, 64, 128},
      {"depth", depth, 32, 64}};
  for (auto [name, value, least, most] : powers)
    if (value < least || value > most || !llvm::isPowerOf2_64(value))
      return emitError() << "expected " << name << " to be a power of 2 from " << least << " to "
                         << most << ", found " << value;
  constexpr int64_t kFewest = 2, kMost = 4;
  if (stages < kFewest || stages > kMost)
    return emitError() << "expected " << kFewest << " to " << kMost << " stages, found " << stages;
  int64_t bytes = 2 * (rowBlock + featureBlock) * depth * stages;
  if (bytes <= GpuInfo::kSharedBytes)
    return success();
  return emitError() << "expected stages of at most " << GpuInfo::kSharedBytes
                     << " bytes of shared memory, found " << bytes;
}

//===----------------------------------------------------------------------===//
// Parameters against the op
//===----------------------------------------------------------------------===//

/// Packed heads share one key/value head.
static LogicalResult verifySharedHeads(AttentionOp op, int64_t packedHeads) {
  int64_t group = op.getGroupSize().value_or(1);
  if (group % packedHeads != 0)
    return op.emitOpError("expected packed_heads to divide ") << group << ", found " << packedHeads;
  return success();
}

/// attention_c10: where one prob of a row is NaN all are, but a prob region may zero some, which no
/// KV split alone can know.
static LogicalResult verifyKvSplits(AttentionOp op, int64_t kvSplits) {
  if (kvSplits != 1 && !op.getProbMod().empty())
    return op.emitOpError("expected kv_splits 1 beside a prob region, found ") << kvSplits;
  return success();
}

/// attention_c15
static LogicalResult verifyProducts(AttentionOp op, Products products) {
  auto query = op.getQuery().getType();
  if (products == Products::f32)
    return success();
  if (op.isWidened())
    return op.emitOpError("expected key and value as they are stored beside products ")
           << stringifyProducts(products) << ", found " << op.getKey().getType() << " and "
           << op.getValue().getType();
  if (!query.getElementType().isBF16() || query.getDimSize(3) % 2 != 0)
    return op.emitOpError("expected bf16 elements and an even head_dim beside products ")
           << stringifyProducts(products) << ", found " << query;
  return success();
}

LogicalResult PrefillAttr::verifySchedule(Operation *scheduled) const {
  auto op = cast<AttentionOp>(scheduled);
  if (failed(verifyProducts(op, getProducts())))
    return failure();
  // attention_c7
  return failure(failed(verifySharedHeads(op, getPackedHeads())) ||
                 failed(verifyKvSplits(op, getKvSplits())));
}

static std::string describeTiles(const Target &target, bool hasTiles) {
  std::string name = target.getArch() == "arm-64" ? "bfmmla" : "AMX (tdpbf16ps)";
  return "products of bf16 tiles by " + name +
         (hasTiles ? "" : " where a call finds it, else in f32, as the target lacks it");
}

static std::string describe(Products products, StringRef target) {
  CpuInfo cpu = CpuInfo::fromTarget(target);
  if (products == Products::f32)
    return "";
  if (products == Products::bf16_tiles && cpu.hasTileCode)
    return describeTiles(Target(target), cpu.hasTiles);
  return cpu.hasBF16Pairs ? "products of bf16 pairs by vdpbf16ps"
                          : "products of bf16 pairs in f32, as the target lacks vdpbf16ps";
}

std::string PrefillAttr::describeProducts(StringRef target) const {
  return describe(getProducts(), target);
}

std::string DecodeAttr::describeProducts(StringRef target) const {
  return describe(getProducts(), target);
}

LogicalResult DecodeAttr::verifySchedule(Operation *scheduled) const {
  auto op = cast<AttentionOp>(scheduled);
  // attention_c7
  if (failed(verifyProducts(op, getProducts())) || failed(verifySharedHeads(op, getPackedHeads())))
    return failure();
  bool inPairs = getProducts() == Products::bf16_pairs;
  int64_t headDim = sizeOf(op.getQuery(), 3), dims = getVectorWidth() * (inPairs ? 2 : 1);
  if (ShapedType::isDynamic(headDim) || headDim % dims != 0)
    return op.emitOpError("expected ")
           << (inPairs ? "2 * " : "") << "vector_width to divide head_dim, found " << dims;
  int64_t heads = sizeOf(op.getQuery(), 1), headsOfTask = getPackedHeads() * getInterleavedHeads();
  if (getInterleavedHeads() != 1 && (ShapedType::isDynamic(heads) || heads % headsOfTask != 0))
    return op.emitOpError("expected packed_heads * interleaved_heads to divide num_q_heads, found ")
           << getPackedHeads() << " * " << getInterleavedHeads();
  return verifyKvSplits(op, getKvSplits());
}

LogicalResult GpuAttr::verifySchedule(Operation *scheduled) const {
  auto op = cast<AttentionOp>(scheduled);
  // attention_c8
  if (failed(verifySharedHeads(op, getPackedHeads())))
    return failure();
  int64_t valueDim = sizeOf(op.getValue(), 3);
  int64_t columns = getThreadsX() * getContextColumns();
  if (ShapedType::isDynamic(valueDim) || columns < valueDim)
    return op.emitOpError("expected threads_x * context_columns to be at least value_dim, found ")
           << columns;
  return verifyKvSplits(op, getKvSplits());
}

TargetKind GpuAttr::getTargetKind() const { return TargetKind::gpu; }

/// attention_c14
static LogicalResult verifyTensorCores(AttentionOp op) {
  StringRef obstacle = findTensorCoreObstacle(op);
  if (obstacle.empty())
    return success();
  return op.emitOpError("expected an op that tensor cores compute, but ") << obstacle;
}

/// attention_c14
static LogicalResult verifyTiles(AttentionOp op, const TensorCoreTiles &tiles, int64_t mostBytes) {
  if (tiles.sharedBytes() <= mostBytes)
    return success();
  return op.emitOpError("expected tiles of at most ")
         << mostBytes << " bytes of shared memory, found " << tiles.sharedBytes();
}

LogicalResult MmaAttr::verifySchedule(Operation *scheduled) const {
  auto op = cast<AttentionOp>(scheduled);
  // attention_c8
  if (failed(verifyTensorCores(op)) || failed(verifySharedHeads(op, getPackedHeads())) ||
      failed(verifyKvSplits(op, getKvSplits())))
    return failure();
  return verifyTiles(op, TensorCoreTiles(op, *this), GpuInfo::kSharedBytes);
}

TargetKind MmaAttr::getTargetKind() const { return TargetKind::gpu; }

/// Sums of more products, one after the other in f32, would err as much as rounding to bf16 does.
static constexpr int64_t kMostPairFeatures = 65536;

bool attn::mayMultiplyPairs(LinearOp op) {
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  return weight.getElementType().isBF16() && !weight.isDynamicDim(1) &&
         weight.getDimSize(1) <= kMostPairFeatures;
}

/// linear_c6
static LogicalResult verifyInPlace(LinearOp op, LinearAttr schedule) {
  if (mayStayInPlace(op, schedule.getVectorWidth()))
    return success();
  return op.emitOpError("expected packed weights where they are constant, not f32, f16 or bf16, or "
                        "in_features are not known to be a multiple of vector_width ")
         << schedule.getVectorWidth() << ", found " << op.getWeight().getType();
}

LogicalResult LinearAttr::verifySchedule(Operation *scheduled) const {
  auto op = cast<LinearOp>(scheduled);
  if (getProducts() != Products::f32 && !mayMultiplyPairs(op))
    return op.emitOpError("expected a bf16 weight with at most ")
           << kMostPairFeatures << " in_features beside products "
           << stringifyProducts(getProducts()) << ", found " << op.getWeight().getType();
  constexpr int64_t kFewestLanes = 4; // else LLVM makes vectors of its own, wrong with AVX-512
  if (op.isInteger() && getVectorWidth() < kFewestLanes)
    return op.emitOpError("expected a vector_width of at least ")
           << kFewestLanes << " beside products of i8, found " << getVectorWidth();
  if (!getPacked() && failed(verifyInPlace(op, *this)))
    return failure();
  for (auto other : op.getScheduleAttr().getAsRange<ScheduleAttrInterface>())
    if (auto linear = dyn_cast<LinearAttr>(other);
        !linear ||
        (getPacked() && linear.getPacked() &&
         std::tuple(linear.getVectors(), linear.getVectorWidth(), linear.getProducts()) !=
             std::tuple(getVectors(), getVectorWidth(), getProducts())))
      return op.emitOpError("expected schedules with the same vectors, vector_width and products, "
                            "as they share packed weights, found ")
             << other << " beside " << *this;
  return success();
}

std::string LinearAttr::describeProducts(StringRef target) const {
  return describe(getProducts(), target);
}
int64_t LinearAttr::getMaxQLen() const { return getMaxRows(); }
StringRef LinearAttr::getLimitName() const { return "rows"; }

LogicalResult WgmmaAttr::verifySchedule(Operation *scheduled) const {
  auto op = cast<AttentionOp>(scheduled);
  if (failed(verifyTensorCores(op)))
    return failure();
  if (StringRef obstacle = findWarpgroupObstacle(op); !obstacle.empty())
    return op.emitOpError("expected an op that products of warpgroups compute, but ") << obstacle;
  return verifyTiles(op, TensorCoreTiles(op, *this), GpuInfo::kMaxSharedBytes);
}

TargetKind WgmmaAttr::getTargetKind() const { return TargetKind::gpu; }

LogicalResult MmaLinearAttr::verifySchedule(Operation *scheduled) const {
  StringRef obstacle = findTensorCoreObstacle(cast<LinearOp>(scheduled));
  if (obstacle.empty())
    return success();
  return scheduled->emitOpError("expected an op that tensor cores compute, but ") << obstacle;
}

int64_t MmaLinearAttr::getMaxQLen() const { return getMaxRows(); }
StringRef MmaLinearAttr::getLimitName() const { return "rows"; }
TargetKind MmaLinearAttr::getTargetKind() const { return TargetKind::gpu; }

LogicalResult attn::verifySchedules(Operation *op, ArrayAttr schedules, bool isOfLinear) {
  if (schedules.empty())
    return op->emitOpError("expected a schedule, found none");
  for (auto schedule : schedules.getAsRange<ScheduleAttrInterface>()) {
    if (isa<LinearAttr, MmaLinearAttr>(schedule) != isOfLinear)
      return op->emitOpError("expected schedules of ")
             << (isOfLinear ? "linear layers" : "attention") << ", found " << schedule;
    if (failed(schedule.verifySchedule(op)))
      return failure();
  }
  StringRef limitName = isOfLinear ? "max_rows" : "max_q_len";
  int64_t before = 0;
  for (Attribute schedule : schedules.getValue().drop_back()) {
    int64_t limit = cast<ScheduleAttrInterface>(schedule).getMaxQLen();
    if (limit <= before)
      return op->emitOpError("expected a ")
             << limitName << " above " << before << ", found " << limit;
    before = limit;
  }
  int64_t limit = cast<ScheduleAttrInterface>(schedules.getValue().back()).getMaxQLen();
  if (limit != 0)
    return op->emitOpError("expected a last schedule without ") << limitName << ", found " << limit;
  return success();
}
