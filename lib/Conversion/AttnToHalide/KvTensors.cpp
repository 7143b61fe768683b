//===- KvTensors.cpp - keys and values in memory -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KvTensors.h"

#include "AttentionBlocks.h"

#include <numeric>

using namespace mlir;
using namespace mlir::attn;

/// The size of a page is known if it is static: a key's page and row then take no division.
KvTensors::KvTensors(PipelineBuilder &p, AttentionOp op)
    : p(p), keys(p.input("key", op.getKey(), /*knownDims=*/op.getPages() ? 2 : 1)),
      values(p.input("value", op.getValue(), /*knownDims=*/op.getPages() ? 2 : 1)),
      keyScales(getScales("key_scales", op.getKeyScales(), op.getKey())),
      valueScales(getScales("value_scales", op.getValueScales(), op.getValue())) {
  if (op.getPages())
    pages.emplace(p, getPagedTensors(op), p.extent(keys, 2), p.extent(keys, 1),
                  min(p.extent(keys, 3), p.extent(values, 3)));
  if (op.getKvOffsets())
    packed.emplace(p, /*prefix=*/"kv_", op.getKvOffsets(), p.extent(keys, 1));
}

KvTensors::Scales KvTensors::getScales(StringRef name, Value scales, Value rows) const {
  if (!scales)
    return {};
  int64_t count = cast<RankedTensorType>(scales.getType()).getDimSize(3),
          dims = cast<RankedTensorType>(rows.getType()).getDimSize(3);
  return {p.input(name, scales, /*knownDims=*/1), count, dims / count};
}

Scalar KvTensors::getNumKeys() const { return pages ? pages->getNumKeys() : p.extent(keys, 1); }

Scalar KvTensors::getNumHeads() const { return p.extent(keys, 2); }

bool KvTensors::areWidened() const {
  return !keys.getElementType().isF32() || !values.getElementType().isF32();
}

int64_t KvTensors::countKeyVectors(int64_t lanes) const {
  return 512 / (keys.getElementType().getIntOrFloatBitWidth() * lanes);
}

int64_t KvTensors::countKeysOfRun(int64_t keys) const {
  std::optional<int64_t> pageSize = getConstantIntValue(Value(pages->getPageSize()));
  return pageSize ? std::gcd(*pageSize, keys) : 1;
}

KvTensors::Place KvTensors::placeOf(Scalar number, Scalar kvHead, Scalar b) const {
  if (pages)
    return {pages->rowOf(number), pages->pageOf(number, kvHead, b)};
  return {number, Scalar()};
}

KvTensors::Place KvTensors::placeFrom(Scalar start, Scalar number) const {
  Scalar last = packed->getTotal() - 1;
  return {unsafePromiseClamped(min(start, last) + number, p.i32(0), last), Scalar()};
}

KvTensors::Place KvTensors::withBounds(Place place) const {
  return {unsafePromiseClamped(place.row, p.i32(0), pages->getPageSize() - 1),
          unsafePromiseClamped(place.page, p.i32(0), pages->getNumPages() - 1)};
}

Scalar KvTensors::key(Scalar d, Place place, Scalar kvHead, Scalar b) const {
  return widenFactor(read(keys, d, place, kvHead, b));
}

Scalar KvTensors::keyElement(Scalar d, Place place, Scalar kvHead, Scalar b) const {
  return read(keys, d, place, kvHead, b);
}

Scalar KvTensors::valueElement(Scalar d, Place place, Scalar kvHead, Scalar b) const {
  return read(values, d, place, kvHead, b);
}

Scalar KvTensors::value(Scalar d, Place place, Scalar kvHead, Scalar b) const {
  return widenFactor(read(values, d, place, kvHead, b));
}

Scalar KvTensors::Scales::blockOf(Scalar d) const {
  Scalar first = Scalar::constant(d.b(), d.b().getI32Type(), 0);
  return count == 1 ? first : unsafePromiseClamped(d / dimsOfBlock, first, first + (count - 1));
}

Scalar KvTensors::scale(const Scales &of, Scalar n, Place place, Scalar kvHead, Scalar b) const {
  return widenFactor(read(of.scales, n, place, kvHead, b));
}

Scalar KvTensors::keyPair(Scalar pair, Place place, Scalar kvHead, Scalar b) const {
  return pairOf(read(keys, pair * 2, place, kvHead, b), read(keys, pair * 2 + 1, place, kvHead, b));
}

Scalar KvTensors::valuePair(Scalar d, Place first, Place second, Scalar kvHead, Scalar b) const {
  return pairOf(read(values, d, first, kvHead, b), read(values, d, second, kvHead, b));
}

Scalar KvTensors::read(Func rows, Scalar d, Place place, Scalar kvHead, Scalar b) const {
  return rows(d, place.row, kvHead, pages ? place.page : packed ? p.i32(0) : b);
}
