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

/// Elements of a chunk, chunks of 128 bytes, which all banks hold at once, and rows that may differ
/// in their swizzle.
static constexpr int64_t kChunk = 8, kChunks = 8, kSwizzledRows = 8;

//===----------------------------------------------------------------------===//
// Rows in global memory
//===----------------------------------------------------------------------===//

Reg PageTable::startOf(KernelBuilder &k, Reg sequence) const {
  return k.loadWithin(*offsets, {sequence}, k.i32(0), getMaxPages());
}

Regs PageTable::placeOf(KernelBuilder &k, Reg i, Reg head) const {
  if (offsets)
    return {clamp(startOf(k, batch) + i, k.i32(0), getMaxPages() - 1)};
  if (entries.sizes.size() == 2)
    return {batch, i};
  return {batch, head / (numHeads / entries.sizes[1]), i};
}

Reg PageTable::isFollowed(KernelBuilder &k, Reg i) const {
  if (offsets)
    return i < startOf(k, batch + 1) - startOf(k, batch);
  if (!lengths)
    return {};
  Reg length = k.load(lengths->at({batch}), lengths->element);
  return convert(i * pageSize, length.getType()) < length;
}

/// Entries have been checked; the clamps keep a caller's later writes, and keys that are not
/// copied, from harm. An entry behind the sequence's end is not followed.
Reg PageTable::pageOf(KernelBuilder &k, Reg entry, Reg head) const {
  Reg i = clamp(entry, k.i32(0), getMaxPages() - 1);
  Reg page = k.loadWithin(entries, placeOf(k, i, head), k.i32(0), numPages - 1);
  Reg followed = isFollowed(k, i);
  return Value(followed) ? select(followed, page, k.i32(0)) : page;
}

static Matrix makeMatrix(KernelBuilder &k, const Buffer &buffer, ArrayRef<Reg> indices,
                         ArrayRef<Reg> strides, std::function<Reg(Reg)> offset) {
  Reg base = buffer.at(indices);
  Type i64 = k.b().getI64Type();
  Reg bytes(k.b(), LLVM::PtrToIntOp::create(k.b(), i64, base));
  for (Reg stride : strides)
    bytes = bytes | (stride * 2);
  auto known = Value(buffer.sizes.back()).getDefiningOp<arith::ConstantOp>();
  return {base, std::move(offset), cast<IntegerAttr>(known.getValue()).getInt(), buffer.element,
          (bytes & (kChunkBytes - 1)) == 0};
}

/// Where the first row of a head is.
static Regs placeOfHead(Reg batch, Reg head, Reg first) {
  return first ? Regs{batch, head, first} : Regs{batch, head};
}

Matrix Matrix::ofHead(KernelBuilder &k, const Buffer &buffer, Reg batch, Reg head, Reg first) {
  Reg stride = widen(buffer.strides[2]);
  Matrix rows = makeMatrix(k, buffer, placeOfHead(batch, head, first), {stride},
                           [stride](Reg row) { return widen(row) * stride; });
  rows.rowStride = stride;
  return rows;
}

Matrix Matrix::ofPackedHeads(KernelBuilder &k, const Buffer &buffer, Reg batch, Reg head,
                             int64_t heads, Reg first) {
  if (heads == 1)
    return ofHead(k, buffer, batch, head, first);
  Reg headStride = widen(buffer.strides[1]), rowStride = widen(buffer.strides[2]);
  Regs place = placeOfHead(batch, head, first);
  return makeMatrix(k, buffer, place, {headStride, rowStride}, [=](Reg row) {
    return widen(row / heads) * rowStride + widen(row % heads) * headStride;
  });
}

Matrix Matrix::ofPages(KernelBuilder &k, const Buffer &pool, const PageTable &table, Reg head) {
  Reg pageStride = widen(pool.strides[0]), rowStride = widen(pool.strides[2]);
  return makeMatrix(k, pool, {k.i32(0), head}, {pageStride, rowStride}, [=, &k](Reg key) {
    Reg page = table.pageOf(k, key / table.pageSize, head), row = key % table.pageSize;
    return widen(page) * pageStride + widen(row) * rowStride;
  });
}

Matrix Matrix::ofRows(KernelBuilder &k, const Buffer &buffer) {
  Regs strides;
  for (Reg stride : ArrayRef(buffer.strides).drop_back())
    strides.push_back(widen(stride));
  return makeMatrix(k, buffer, {}, strides, [buffer, strides](Reg row) {
    Reg offset;
    for (auto [index, stride] : llvm::zip(buffer.splitRow(row), strides))
      offset = offset ? offset + widen(index) * stride : widen(index) * stride;
    return offset;
  });
}

static Reg offsetPointer(KernelBuilder &k, Reg pointer, Type element, Reg count) {
  return {k.b(), LLVM::GEPOp::create(k.b(), pointer.getType(), element, pointer,
                                     ArrayRef<LLVM::GEPArg>{Value(count)})};
}

/// Addresses of adjacent rows are sums of one of them and what is the same in all KV blocks.
Reg Matrix::rowAddress(KernelBuilder &k, Reg row, int64_t above) const {
  if (!rowStride)
    return offsetPointer(k, base, element, offset(row + above));
  Reg start = offsetPointer(k, base, element, offset(row));
  return above == 0 ? start : offsetPointer(k, start, element, rowStride * above);
}

Matrix Matrix::slice(KernelBuilder &k, Reg first, int64_t count) const {
  Matrix part = *this;
  part.base = offsetPointer(k, base, element, first);
  part.columns = count;
  if (columns % count != 0)
    part.rest = k.i32(columns) - first;
  return part;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

SharedTile SharedTile::behind(Reg bytes) const {
  SharedTile tile = *this;
  tile.base = base ? base + bytes : bytes;
  return tile;
}

/// Chunks of a row that are swizzled together.
int64_t SharedTile::chunksAtOnce() const { return std::min(rowBytes / kChunkBytes, kChunks); }

Reg SharedTile::chunkAddress(const ChunkPlace &place) const {
  int64_t chunks = chunksAtOnce(), rowsOfLine = kChunks / chunks;
  Reg line = rowsOfLine == 1 ? place.row : place.row / rowsOfLine;
  Reg swizzled = place.chunk ^ (line & (chunks - 1));
  Reg bytesBefore = place.row * rowBytes + swizzled * kChunkBytes;
  Reg address = sharedAddress(k, base ? bytesBefore + base : bytesBefore);
  int64_t bytes = offset + place.above * rowBytes + place.left / kChunks * panelBytes;
  return {k.b(), LLVM::GEPOp::create(k.b(), address.getType(), k.b().getI8Type(), address,
                                     ArrayRef<LLVM::GEPArg>{int32_t(bytes)})};
}

/// Eight threads copy eight chunks of a row at once, four a row of four: the addresses of further
/// chunks and rows differ by constants.
void SharedTile::startCopies(const Matrix &matrix, Reg first, Reg end) const {
  int64_t rowsAtOnce = threads / chunksAtOnce();
  Reg row = k.thread / chunksAtOnce();
  auto copyRows = [&](bool isAligned) -> Regs {
    for (int64_t done = 0; done < rows; done += rowsAtOnce) {
      auto copy = [&] {
        copyRow(matrix, row + done % kSwizzledRows, done - done % kSwizzledRows, first, end,
                isAligned);
      };
      done + rowsAtOnce <= rows ? copy() : k.when(row < rows - done, copy);
    }
    return {};
  };
  k.choose(matrix.isAligned, [&] { return copyRows(true); }, [&] { return copyRows(false); });
}

/// Of a row from the end on nothing is read.
void SharedTile::copyRow(const Matrix &matrix, Reg row, int64_t above, Reg first, Reg end,
                         bool isAligned) const {
  int64_t atOnce = chunksAtOnce();
  Reg chunk = k.thread % atOnce, place = first + row, isIn = k.i32(above) < end - place;
  Reg start = offsetPointer(k, matrix.rowAddress(k, place, above), matrix.element, chunk * kChunk);
  int64_t chunks = llvm::alignTo(matrix.columns, kTileDepth) / kChunk;
  for (int64_t left = 0; left < chunks; left += atOnce) {
    Reg from = offsetPointer(k, start, matrix.element, k.i32(left * kChunk));
    int64_t columns = std::min(matrix.columns - left * kChunk, atOnce * kChunk);
    Reg present = matrix.rest                 ? matrix.rest - left * kChunk
                  : columns % kTileDepth != 0 ? k.i32(columns)
                                              : Reg();
    // The elements of the chunk that are among the columns.
    Reg count = present ? clamp(present - chunk * kChunk, k.i32(0), k.i32(kChunk)) : Reg();
    ChunkPlace to{row, chunk, above, left};
    auto copy = [&] {
      isAligned ? copyChunk(from, isIn, count, to) : moveChunk(from, isIn, count, to);
    };
    left + atOnce <= chunks ? copy() : k.when(chunk < chunks - left, copy);
  }
}

/// `count` elements, then zeros; all of the chunk's without a count.
void SharedTile::copyChunk(Reg from, Reg isIn, Reg count, const ChunkPlace &to) const {
  Reg bytes = count ? count * 2 : k.i32(kChunkBytes);
  startCopy(k, chunkAddress(to), from, select(isIn, bytes, k.i32(0)));
}

/// Element by element.
void SharedTile::moveChunk(Reg from, Reg isIn, Reg count, const ChunkPlace &to) const {
  Type i16 = k.b().getIntegerType(16);
  Value chunk = LLVM::UndefOp::create(k.b(), VectorType::get({kChunk}, i16));
  auto load = [&](int32_t begin, int32_t end, Reg isRead) {
    auto read = [&] {
      Regs elements;
      for (int32_t i = begin; i < end; ++i) {
        Reg at(k.b(),
               LLVM::GEPOp::create(k.b(), from.getType(), i16, from, ArrayRef<LLVM::GEPArg>{i}));
        elements.push_back(k.load(at, i16));
      }
      return elements;
    };
    Regs zeros(end - begin, Reg::constant(k.b(), i16, 0));
    for (auto [i, element] : llvm::enumerate(k.choose(isRead, read, [&] { return zeros; })))
      chunk = LLVM::InsertElementOp::create(k.b(), chunk, element, k.i32(begin + i));
  };
  if (!count)
    load(0, kChunk, isIn);
  else
    for (int32_t i = 0; i < kChunk; ++i)
      load(i, i + 1, isIn & (count > k.i32(i)));
  LLVM::StoreOp::create(k.b(), chunk, chunkAddress(to), /*alignment=*/kChunkBytes);
}

//===----------------------------------------------------------------------===//
// Operands of products
//===----------------------------------------------------------------------===//

/// Four 8 x 8 matrices: of 16 rows and two chunks, whose halves of the rows come first if
/// `rowsFirst`. The place's chunk is even.
Regs SharedTile::load(ChunkPlace place, bool rowsFirst, bool isTransposed) const {
  Reg lane = k.thread % kLanes, matrix = lane / kChunk;
  Reg low = matrix % 2, high = matrix / 2;
  place.row = place.row + lane % kChunk + (rowsFirst ? low : high) * kChunk;
  place.chunk = place.chunk ^ (rowsFirst ? high : low);
  return loadMatrices(k, chunkAddress(place), isTransposed);
}

SharedTile::ChunkPlace SharedTile::placeOf(Reg row, int64_t above, int64_t column) const {
  int64_t chunk = column / kChunk;
  return {row, k.i32(chunk % kChunks), above, chunk - chunk % kChunks};
}

/// The matrix descriptor of wgmma: chunks swizzled within 128 bytes, groups of 8 rows 1024 bytes
/// apart, and `panelBytes` from columns to the next 64, which only a right operand along its rows
/// has.
Reg SharedTile::describe(Reg row) const {
  constexpr int64_t kSwizzle128 = int64_t(1) << 62, kGroupBytes = kSwizzledRows * kPanelBytes;
  Type i64 = k.b().getI64Type();
  Reg bytes = row * rowBytes + offset;
  Reg address(k.b(),
              LLVM::PtrToIntOp::create(k.b(), i64, sharedAddress(k, base ? bytes + base : bytes)));
  return address / kChunkBytes | address.constant(kSwizzle128 | kGroupBytes / kChunkBytes << 32 |
                                                  panelBytes / kChunkBytes << 16);
}

Reg SharedTile::describeColumns(Reg start, int64_t column) const {
  int64_t chunk = column / kChunk;
  return start + (chunk / kChunks * panelBytes / kChunkBytes + chunk % kChunks);
}

Reg SharedTile::describeRows(Reg start, int64_t row) const {
  return start + row * rowBytes / kChunkBytes;
}

Regs SharedTile::loadLeft(Reg row, int64_t above, int64_t depth) const {
  return load(placeOf(row, above, depth), /*rowsFirst=*/true, /*isTransposed=*/false);
}
Regs SharedTile::loadTransposedRight(Reg row, int64_t above, int64_t depth) const {
  return load(placeOf(row, above, depth), /*rowsFirst=*/false, /*isTransposed=*/false);
}
Regs SharedTile::loadRight(int64_t row, int64_t column) const {
  return load(placeOf(k.i32(0), row, column), /*rowsFirst=*/true, /*isTransposed=*/true);
}
/// The chunk's panel is found in the place's bytes before the tile.
Regs SharedTile::loadRight(int64_t row, Reg chunk) const {
  return behind(chunk / kChunks * panelBytes)
      .load({k.i32(0), chunk % kChunks, row, /*left=*/0}, /*rowsFirst=*/true,
            /*isTransposed=*/true);
}
