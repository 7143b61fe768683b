//===- SharedTile.cpp - rows of a matrix in shared memory -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedTile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::attn::nvvm;

/// Elements of a chunk, and rows of a matrix that is loaded at once.
static constexpr int64_t kChunk = 8;

Matrix::Matrix(KernelBuilder &k, const Buffer &buffer, Reg batch, Reg head)
    : base(buffer.at({batch, head})), rowStride(widen(buffer.strides[2])), element(buffer.element) {
  Type i64 = k.b().getI64Type();
  Reg address(k.b(), LLVM::PtrToIntOp::create(k.b(), i64, base));
  isAligned = ((address | (rowStride * 2)) & (kChunkBytes - 1)) == 0;
  auto known = Value(buffer.sizes[3]).getDefiningOp<arith::ConstantOp>();
  columns = cast<IntegerAttr>(known.getValue()).getInt();
}

/// The chunk of the row `above` rows below `row`, a multiple of 8: a constant of the instruction.
Reg SharedTile::chunkAddress(Reg row, Reg chunk, int64_t above) const {
  Reg swizzled = chunk ^ (row & (kChunk - 1));
  Reg address = sharedAddress(k, row * rowBytes + swizzled * kChunkBytes);
  return {k.b(), LLVM::GEPOp::create(k.b(), address.getType(), k.b().getI8Type(), address,
                                     ArrayRef<LLVM::GEPArg>{int32_t(offset + above * rowBytes)})};
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Each thread copies one chunk of every so many rows: a constant more in shared memory.
void SharedTile::startCopies(const Matrix &matrix, Reg first, Reg end) const {
  int64_t chunksOfRow = rowBytes / kChunkBytes, rowsAtOnce = threads / chunksOfRow;
  Reg thread = k.thread, chunk = thread % chunksOfRow, row = thread / chunksOfRow;
  auto copyRows = [&] {
    for (int64_t done = 0; done < rows; done += rowsAtOnce)
      copyChunk(matrix, row + done % kChunk, chunk, done - done % kChunk, first, end);
  };
  int64_t chunks = matrix.columns / kChunk;
  bool areWhole = chunks == chunksOfRow && rowsAtOnce <= rows;
  areWhole ? copyRows() : k.when((chunk < chunks) & (row < rows), copyRows);
}

/// Of a row beyond the end nothing is read.
void SharedTile::copyChunk(const Matrix &matrix, Reg row, Reg chunk, int64_t above, Reg first,
                           Reg end) const {
  Reg place = first + row + above, isIn = place < end;
  Reg element = widen(place) * matrix.rowStride + widen(chunk * kChunk);
  Reg from(k.b(), LLVM::GEPOp::create(k.b(), matrix.base.getType(), matrix.element, matrix.base,
                                      ArrayRef<LLVM::GEPArg>{Value(element)}));
  Reg to = chunkAddress(row, chunk, above);
  auto copy = [&]() -> Regs {
    startCopy(k, to, from, isIn);
    return {};
  };
  auto move = [&]() -> Regs {
    moveChunk(from, isIn, to);
    return {};
  };
  k.choose(matrix.isAligned, copy, move);
}

/// Element by element.
void SharedTile::moveChunk(Reg from, Reg isIn, Reg to) const {
  Type i16 = k.b().getIntegerType(16);
  auto load = [&] {
    Regs elements;
    for (int32_t i = 0; i < kChunk; ++i) {
      Reg at(k.b(),
             LLVM::GEPOp::create(k.b(), from.getType(), i16, from, ArrayRef<LLVM::GEPArg>{i}));
      elements.push_back(k.load(at, i16));
    }
    return elements;
  };
  Regs elements = k.choose(isIn, load, [&] { return Regs(kChunk, Reg::constant(k.b(), i16, 0)); });
  Value chunk = LLVM::UndefOp::create(k.b(), VectorType::get({kChunk}, i16));
  for (auto [index, element] : llvm::enumerate(elements))
    chunk = LLVM::InsertElementOp::create(k.b(), chunk, element, k.i32(index));
  LLVM::StoreOp::create(k.b(), chunk, to, /*alignment=*/kChunkBytes);
}

//===----------------------------------------------------------------------===//
// Operands of products
//===----------------------------------------------------------------------===//

/// Four 8 x 8 matrices: of 16 rows and two chunks, whose halves of the rows come first if
/// `rowsFirst`.
Regs SharedTile::load(Reg row, int64_t above, Reg chunk, bool rowsFirst, bool isTransposed) const {
  Reg lane = k.thread % kLanes, matrix = lane / kChunk;
  Reg low = matrix % 2, high = matrix / 2;
  Reg rowOfLane = row + lane % kChunk + (rowsFirst ? low : high) * kChunk;
  Reg chunkOfLane = chunk ^ (rowsFirst ? high : low); // the first is even
  return loadMatrices(k, chunkAddress(rowOfLane, chunkOfLane, above), isTransposed);
}

Regs SharedTile::loadLeft(Reg row, int64_t depth) const {
  return load(row, 0, k.i32(depth / kChunk), /*rowsFirst=*/true, /*isTransposed=*/false);
}
Regs SharedTile::loadTransposedRight(int64_t row, int64_t depth) const {
  return load(k.i32(0), row, k.i32(depth / kChunk), /*rowsFirst=*/false, /*isTransposed=*/false);
}
Regs SharedTile::loadRight(int64_t row, Reg chunk) const {
  return load(k.i32(0), row, chunk, /*rowsFirst=*/true, /*isTransposed=*/true);
}
