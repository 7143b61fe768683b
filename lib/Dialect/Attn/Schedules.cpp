//===- Schedules.cpp - schedule attributes of the attn dialect ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shapes.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Machine/GpuInfo.h"

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

static LogicalResult verifyMultiple(EmitError emitError, StringRef name, int64_t found,
                                    StringRef unitName, int64_t unit) {
  if (found % unit == 0)
    return success();
  return emitError() << "expected " << name << " to be a multiple of " << unitName << " " << unit
                     << ", found " << found;
}

LogicalResult PrefillAttr::verify(EmitError emitError, int64_t rowTile, int64_t keyChunk,
                                  int64_t vectorWidth, int64_t scoreVectors, int64_t scoreKeys,
                                  int64_t contextRows, int64_t contextVectors, int64_t maxQLen) {
  std::pair<StringRef, int64_t> parameters[] = {{"row_tile", rowTile},
                                                {"key_chunk", keyChunk},
                                                {"vector_width", vectorWidth},
                                                {"score_vectors", scoreVectors},
                                                {"score_keys", scoreKeys},
                                                {"context_rows", contextRows},
                                                {"context_vectors", contextVectors}};
  for (auto [name, value] : parameters)
    if (failed(verifyPositive(emitError, name, value)))
      return failure();
  // Register tiles have no tail inside of a row tile or a key chunk. A division
  // keeps the product of hostile parameters from overflowing.
  if (failed(verifyMultiple(emitError, "row_tile", rowTile, "vector_width", vectorWidth)))
    return failure();
  if (rowTile / vectorWidth % scoreVectors != 0)
    return emitError() << "expected row_tile to be a multiple of vector_width "
                          "* score_vectors, "
                       << "found " << rowTile << " and " << vectorWidth << " * " << scoreVectors;
  if (failed(verifyMultiple(emitError, "row_tile", rowTile, "context_rows", contextRows)))
    return failure();
  if (keyChunk % kChains != 0)
    return emitError() << "expected key_chunk to be a multiple of " << kChains << ", found "
                       << keyChunk;
  return verifyMultiple(emitError, "key_chunk", keyChunk, "score_keys", scoreKeys);
}

LogicalResult DecodeAttr::verify(EmitError emitError, int64_t rowTile, int64_t sharedHeads,
                                 int64_t keyChunk, int64_t vectorWidth, int64_t scoreRows,
                                 int64_t scoreKeys, int64_t contextRows, int64_t contextVectors,
                                 int64_t keySplits, int64_t leastPart, int64_t maxQLen) {
  std::pair<StringRef, int64_t> parameters[] = {
      {"row_tile", rowTile},         {"shared_heads", sharedHeads},       {"key_chunk", keyChunk},
      {"vector_width", vectorWidth}, {"score_rows", scoreRows},           {"score_keys", scoreKeys},
      {"context_rows", contextRows}, {"context_vectors", contextVectors}, {"key_splits", keySplits},
      {"least_part", leastPart}};
  for (auto [name, value] : parameters)
    if (failed(verifyPositive(emitError, name, value)))
      return failure();
  // Register tiles have no tail inside of a row tile or a key chunk.
  std::pair<StringRef, int64_t> ofRows[] = {
      {"shared_heads", sharedHeads}, {"score_rows", scoreRows}, {"context_rows", contextRows}};
  for (auto [name, value] : ofRows)
    if (failed(verifyMultiple(emitError, "row_tile", rowTile, name, value)))
      return failure();
  if (failed(verifyMultiple(emitError, "key_chunk", keyChunk, "score_keys", scoreKeys)))
    return failure();
  return verifyMultiple(emitError, "key_chunk", keyChunk, "vector_width", vectorWidth);
}

LogicalResult GpuAttr::verify(EmitError emitError, int64_t rowTile, int64_t sharedHeads,
                              int64_t keyChunk, int64_t keySplits, int64_t threadsX,
                              int64_t threadsY, int64_t contextColumns, int64_t maxQLen) {
  std::pair<StringRef, int64_t> parameters[] = {{"row_tile", rowTile},
                                                {"shared_heads", sharedHeads},
                                                {"key_chunk", keyChunk},
                                                {"key_splits", keySplits},
                                                {"threads_x", threadsX},
                                                {"threads_y", threadsY},
                                                {"context_columns", contextColumns}};
  for (auto [name, value] : parameters)
    if (failed(verifyPositive(emitError, name, value)))
      return failure();
  constexpr int64_t most = GpuInfo::kMaxThreads;
  if (threadsX > most || threadsY > most || threadsX * threadsY > most)
    return emitError() << "expected at most " << most << " threads, found " << threadsX << " * "
                       << threadsY;
  // A thread's part of a tile has no tail.
  if (failed(verifyMultiple(emitError, "row_tile", rowTile, "shared_heads", sharedHeads)) ||
      failed(verifyMultiple(emitError, "row_tile", rowTile, "threads_y", threadsY)) ||
      failed(verifyMultiple(emitError, "key_chunk", keyChunk, "threads_x", threadsX)))
    return failure();
  if (contextColumns % 2 == 0)
    return success();
  return emitError() << "expected an even number of context_columns, found " << contextColumns;
}

//===----------------------------------------------------------------------===//
// Parameters against the op
//===----------------------------------------------------------------------===//

/// Heads that are computed together read one head of key and value.
static LogicalResult verifySharedHeads(AttentionOp op, int64_t sharedHeads) {
  int64_t heads = sizeOf(op.getQuery(), 1), kvHeads = sizeOf(op.getKey(), 1);
  int64_t group = bothStatic(heads, kvHeads) && kvHeads != 0 ? heads / kvHeads : 1;
  if (group % sharedHeads != 0)
    return op.emitOpError("expected shared_heads to divide ") << group << ", found " << sharedHeads;
  return success();
}

LogicalResult DecodeAttr::verifySchedule(Operation *scheduled) const {
  auto op = cast<AttentionOp>(scheduled);
  // attention_c7
  if (failed(verifySharedHeads(op, getSharedHeads())))
    return failure();
  int64_t headDim = sizeOf(op.getQuery(), 3);
  if (ShapedType::isDynamic(headDim) || headDim % getVectorWidth() != 0)
    return op.emitOpError("expected vector_width to divide head_dim, found ") << getVectorWidth();
  // attention_c10
  if (getKeySplits() != 1 && !op.getProbMod().empty())
    return op.emitOpError("expected key_splits 1 beside a prob region, found ") << getKeySplits();
  return success();
}

LogicalResult GpuAttr::verifySchedule(Operation *scheduled) const {
  auto op = cast<AttentionOp>(scheduled);
  // attention_c8
  if (failed(verifySharedHeads(op, getSharedHeads())))
    return failure();
  int64_t valueDim = sizeOf(op.getValue(), 3);
  int64_t columns = getThreadsX() * getContextColumns();
  if (ShapedType::isDynamic(valueDim) || columns < valueDim)
    return op.emitOpError("expected threads_x * context_columns to be at least value_dim, found ")
           << columns;
  return success();
}

TargetKind GpuAttr::getTargetKind() const { return TargetKind::gpu; }
