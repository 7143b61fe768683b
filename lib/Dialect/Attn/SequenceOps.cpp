//===- SequenceOps.cpp - verifiers of positions, caches and dropout -------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"

#include "Shapes.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// PositionsOp
//===----------------------------------------------------------------------===//

LogicalResult PositionsOp::verify() {
  int64_t rank = rankOf(getInput()), least = getOffset() ? 3 : 2;
  // positions_c1
  if (rank < least)
    return emitOpError("expected input of rank ") << least << " or more, found " << rank;
  // positions_c2
  int64_t width = sizeOf(getInput(), rank - 1);
  if (isRotary() && !ShapedType::isDynamic(width) && width % 2 != 0)
    return emitOpError("expected an even width to rotate, found ") << width;
  // positions_c3
  if (getOffset() && (failed(verifyRank(*this, "offset", getOffset(), 1)) ||
                      failed(verifySize(*this, "offset size", sizeOf(getOffset(), 0), "input",
                                        sizeOf(getInput(), 0)))))
    return failure();
  // positions_c4
  if (!(getBase().convertToDouble() > 0))
    return emitOpError("expected a positive base, found ") << getBaseAttr();
  return success();
}

LogicalResult PositionsOp::reifyResultShapes(OpBuilder &builder,
                                             ReifiedRankedShapedTypeDims &shapes) {
  return reifyLike(builder, *this, getInput(), shapes);
}

//===----------------------------------------------------------------------===//
// AppendCacheOp
//===----------------------------------------------------------------------===//

LogicalResult AppendCacheOp::verify() {
  Value cache = getCache(), rows = getRows(), length = getLength();
  // append_cache_c1
  if (failed(verifyElement(*this, "rows", rows, "cache", cache)))
    return failure();
  // append_cache_c2
  for (auto [dim, name] : {std::pair(0, "rows batch"), {1, "rows heads"}, {3, "rows width"}})
    if (failed(verifySize(*this, name, sizeOf(rows, dim), "cache", sizeOf(cache, dim))))
      return failure();
  // append_cache_c3
  return failure(
      failed(verifyRank(*this, "length", length, 1)) ||
      failed(verifySize(*this, "length size", sizeOf(length, 0), "cache", sizeOf(cache, 0))));
}

LogicalResult AppendCacheOp::reifyResultShapes(OpBuilder &builder,
                                               ReifiedRankedShapedTypeDims &shapes) {
  return reifyLike(builder, *this, getCache(), shapes);
}

//===----------------------------------------------------------------------===//
// DropoutOp
//===----------------------------------------------------------------------===//

LogicalResult DropoutOp::verify() {
  // dropout_c1
  double rate = getRate().convertToDouble();
  if (!(rate >= 0 && rate < 1))
    return emitOpError("expected a rate of at least 0 and below 1, found ") << getRateAttr();
  return success();
}

OpFoldResult DropoutOp::fold(FoldAdaptor) {
  return !getSeed() || getRate().isZero() ? getInput() : Value();
}

LogicalResult DropoutOp::reifyResultShapes(OpBuilder &builder,
                                           ReifiedRankedShapedTypeDims &shapes) {
  return reifyLike(builder, *this, getInput(), shapes);
}
