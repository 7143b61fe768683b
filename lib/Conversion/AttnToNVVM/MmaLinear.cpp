//===- MmaLinear.cpp - linear layers on tensor cores ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread block computes a tile of rows x features, a part of it each warp, whose sums stay in
// registers. Slices of the input and of the weights go through a ring of stages in shared memory:
// while one is multiplied, the next ones are copied. The epilogue is applied to the sums where they
// are.
//
//===----------------------------------------------------------------------===//

#include "MmaLinear.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::nvvm;

static constexpr int64_t kThreads = LinearTiles::kWarps * kLanes;
/// Registers of a lane for a tile of sums.
static constexpr int64_t kTileSums = 4;

MmaLinear::MmaLinear(OpBuilder &builder, StringRef name, LinearOp op, ArrayRef<MapOp> epilogue,
                     MmaLinearAttr schedule)
    : k(builder, op.getLoc(), name), op(op), epilogue(epilogue), sizes(schedule),
      resultType(epilogue.empty() ? op.getResult().getType()
                                  : MapOp(epilogue.back()).getResult().getType()),
      input(k.input("input", op.getInput())), weight(k.input("weight", op.getWeight())),
      inputTile(k, 0, sizes.rowBlock, sizes.rowBytes(), kThreads),
      weightTile(k, sizes.weightOffset(), sizes.featureBlock, sizes.rowBytes(), kThreads),
      depthOfAll(cast<RankedTensorType>(op.getInput().getType()).getShape().back()) {
  if (op.getBias())
    bias = k.input("bias", op.getBias());
}

/// Adjacent blocks share weights.
void MmaLinear::findPlace() {
  rows = input.countRows();
  features = weight.sizes[0];
  Reg tiles = (rows + (sizes.rowBlock - 1)) / sizes.rowBlock;
  firstRow = k.block % tiles * sizes.rowBlock;
  firstFeature = k.block / tiles * sizes.featureBlock;
  Reg warp = k.thread / kLanes;
  lane = k.thread % kLanes;
  warpFeature = warp % sizes.warpsAlongFeatures() * sizes.warpFeatures();
  warpRow = warp / sizes.warpsAlongFeatures() * sizes.warpRows();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

void MmaLinear::copySlice(Reg first, Reg stage) {
  inputTile.behind(stage).startCopies(Matrix::ofRows(k, input).slice(k, first, sizes.depth),
                                      firstRow, rows);
  weightTile.behind(stage).startCopies(Matrix::ofRows(k, weight).slice(k, first, sizes.depth),
                                       firstFeature, features);
}

/// The products of the slice in a stage.
void MmaLinear::addProducts(Regs &sums, Reg stage) {
  Type element = input.element;
  SharedTile left = inputTile.behind(stage), right = weightTile.behind(stage);
  for (int64_t depth = 0; depth < sizes.depth; depth += kTileDepth) {
    SmallVector<Regs> rowTiles;
    for (int64_t row = 0; row < sizes.warpRows(); row += kTileRows)
      rowTiles.push_back(left.loadLeft(warpRow, row, depth));
    for (int64_t feature = 0; feature < sizes.warpFeatures(); feature += 2 * kTileColumns) {
      Regs pair = right.loadTransposedRight(warpFeature, feature, depth);
      for (auto [index, rowTile] : llvm::enumerate(rowTiles))
        for (int64_t half : {0, 1}) {
          int64_t tile =
              index * (sizes.warpFeatures() / kTileColumns) + feature / kTileColumns + half;
          auto sum = MutableArrayRef(sums).slice(tile * kTileSums, kTileSums);
          llvm::copy(multiply(k, rowTile, ArrayRef(pair).slice(2 * half, 2), sum, element),
                     sum.begin());
        }
    }
  }
}

/// A group of copies for each slice, also where nothing is left to copy: the last but stages - 2
/// are done when a slice is multiplied. Its stage is free again at the next step's barrier.
Regs MmaLinear::buildSums() {
  int64_t ahead = sizes.stages - 1, end = ahead * sizes.stageBytes();
  for (int64_t slice = 0; slice < ahead; ++slice) {
    if (slice * sizes.depth < depthOfAll)
      copySlice(k.i32(slice * sizes.depth), k.i32(slice * sizes.stageBytes()));
    endCopyGroup(k);
  }
  auto next = [&](Reg stage) {
    return select(stage == k.i32(end), k.i32(0), stage + sizes.stageBytes());
  };
  int64_t tiles = sizes.warpRows() / kTileRows * sizes.warpFeatures() / kTileColumns;
  Regs state(tiles * kTileSums, k.f32(0));
  state.append({k.i32(0), k.i32(end)});
  Regs done =
      k.loop(k.i32(0), k.i32(depthOfAll), sizes.depth, state, [&](Reg first, ArrayRef<Reg> regs) {
        Reg stage = regs[regs.size() - 2], toFill = regs.back();
        Regs sums(regs.drop_back(2));
        waitForCopyGroups(k, ahead - 1);
        barrier(k);
        Reg further = first + ahead * sizes.depth;
        k.when(further < k.i32(depthOfAll), [&] { copySlice(further, toFill); });
        endCopyGroup(k);
        addProducts(sums, stage);
        sums.append({next(stage), next(toFill)});
        return sums;
      });
  return Regs(ArrayRef(done).drop_back(2));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Whether all features of all tiles exist.
bool MmaLinear::isWhole() const {
  int64_t known = resultType.getShape().back();
  return !ShapedType::isDynamic(known) && known % sizes.featureBlock == 0;
}

/// The lane's first feature of a tile.
Reg MmaLinear::featureOf(int64_t tile) const {
  return firstFeature + warpFeature + lane % 4 * 2 + tile * kTileColumns;
}

/// Coordinates of sizes 1 are 0; missing ones repeat the operand.
Reg MmaLinear::readOperand(Value tensor, ArrayRef<Reg> place) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Regs at(place.take_back(type.getRank()));
  for (auto [index, size] : llvm::zip(at, type.getShape()))
    if (size == 1)
      index = k.i32(0);
  return k.loadElement(k.input("operand", tensor), at, type.getElementType());
}

/// The element of the result at `place`.
Reg MmaLinear::finish(Reg sum, ArrayRef<Reg> place) {
  Value before = op.getResult();
  for (MapOp map : epilogue) {
    Regs arguments = llvm::map_to_vector(map.getInputs(), [&](Value operand) {
      return operand == before ? sum : readOperand(operand, place);
    });
    sum = RegionInliner(k, map.getBody()).inlined(arguments);
    before = map.getResult();
  }
  return sum;
}

void MmaLinear::storePair(ArrayRef<Reg> place, ArrayRef<Reg> sums, ArrayRef<Reg> addends) {
  Reg last = features - 1, count = isWhole() ? k.i32(2) : features - place.back();
  Regs elements, at(place);
  for (int64_t i : {0, 1}) {
    at.back() = isWhole() ? place.back() + i : min(place.back() + i, last);
    elements.push_back(finish(bias ? sums[i] + addends[i] : sums[i], at));
  }
  Type element = result->element;
  if (!element.isF32())
    return k.storePair(pack(k, elements[0], elements[1], element), result->at(place), count);
  for (int64_t i : {0, 1}) {
    at.back() = place.back() + i;
    k.when(count > k.i32(i), [&] { k.store(elements[i], result->at(at)); });
  }
}

/// Of the lane's features of the block.
Regs MmaLinear::loadBias() {
  Regs addends;
  for (int64_t tile = 0; tile < sizes.warpFeatures() / kTileColumns; ++tile)
    for (int64_t i : {0, 1}) {
      Reg feature = min(featureOf(tile) + i, features - 1);
      addends.push_back(convert(k.load(bias->at({feature}), bias->element), k.b().getF32Type()));
    }
  return addends;
}

void MmaLinear::storeResults(ArrayRef<Reg> sums) {
  result = k.output("result", resultType);
  int64_t tiles = sizes.warpFeatures() / kTileColumns;
  Regs addends = bias ? loadBias() : Regs(2 * tiles);
  for (int64_t r = 0; r < sizes.warpRows() / kTileColumns; ++r) {
    Reg row = firstRow + warpRow + lane / 4 + r * kTileColumns;
    k.when(row < rows, [&] {
      Regs place = input.splitRow(row);
      place.push_back(Reg());
      for (int64_t tile = 0; tile < tiles; ++tile) {
        place.back() = featureOf(tile);
        storePair(place, sums.slice((r / 2 * tiles + tile) * kTileSums + r % 2 * 2, 2),
                  ArrayRef(addends).slice(2 * tile, 2));
      }
    });
  }
}

BuiltKernel MmaLinear::build() {
  readPosition(k);
  findPlace();
  storeResults(buildSums());
  int64_t outer = resultType.getRank() - 1;
  return k.finish({{0, 0, outer, sizes.rowBlock}, {1, 0, 1, sizes.featureBlock}}, kThreads,
                  sizes.sharedBytes());
}
