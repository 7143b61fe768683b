//===- Output.cpp - context and lse of a query block ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaAttention.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::nvvm;

/// The first `count` of two elements at `address`, in one store if it is a multiple of 4.
static void storePair(KernelBuilder &k, Reg pair, Reg address, Reg count) {
  Type i16 = k.b().getIntegerType(16), i64 = k.b().getI64Type();
  Reg place(k.b(), LLVM::PtrToIntOp::create(k.b(), i64, address));
  auto whole = [&]() -> Regs {
    k.store(pair, address);
    return {};
  };
  auto halves = [&]() -> Regs {
    Reg next(k.b(), LLVM::GEPOp::create(k.b(), address.getType(), i16, address,
                                        ArrayRef<LLVM::GEPArg>{1}));
    Reg high(k.b(), arith::ShRUIOp::create(k.b(), pair, k.i32(16)));
    k.when(count >= 1, [&] { k.store(convert(pair, i16), address); });
    k.when(count >= 2, [&] { k.store(convert(high, i16), next); });
    return {};
  };
  k.choose(((place & 3) == 0) & (count >= 2), whole, halves);
}

/// A pair for each of the lane's rows, of each tile in turn.
void MmaAttention::storePairs(ArrayRef<Reg> pairs, Reg firstColumn) {
  int64_t columns = op.getResult().getType().getDimSize(3);
  for (int64_t r : {0, 1})
    k.when(at.row[r] < qLen, [&] {
      for (size_t i = r; i < pairs.size(); i += 2) {
        Reg column = firstColumn + at.column + int64_t(i) / 2 * kTileColumns;
        Reg count = columns == sizes.valueDim ? k.i32(2) : k.i32(columns) - column;
        storePair(k, pairs[i], context->at({at.batch, at.head, at.row[r], column}), count);
      }
    });
}

/// A row without visible keys has the context 0.
void MmaAttention::storeContext(const RowState &state) {
  Reg inverse[2];
  for (int64_t r : {0, 1})
    inverse[r] = select(state.total[r] == k.f32(0), k.f32(0), k.f32(1) / state.total[r]);
  Regs pairs;
  for (size_t i = 0; i < state.context.size(); i += 2) {
    Reg factor = inverse[i % 4 / 2];
    pairs.push_back(
        nvvm::pack(k, state.context[i] * factor, state.context[i + 1] * factor, element));
  }
  storePairs(pairs, k.i32(0));
  Reg never = Reg::constant(k.b(), k.b().getI1Type(), 0);
  storeLse(state, {never, never});
}

/// A score of inf makes the sum NaN, as a score of NaN does.
void MmaAttention::storeLse(const RowState &state, ArrayRef<Reg> isOfNaN) {
  if (!lse)
    return;
  constexpr double kLn2 = 0.6931471805599453;
  Reg inf = k.f32(std::numeric_limits<float>::infinity());
  for (int64_t r : {0, 1}) {
    Reg isStored = (at.lane % 4 == 0) & (at.row[r] < qLen);
    Reg known = (state.maximum[r] + log2(k, state.sum[r])) * k.f32(kLn2);
    known = select(state.sum[r] == k.f32(0), k.minusInf(), known);
    Reg isInf = isNaN(state.sum[r]) & (state.maximum[r] == inf) & isNot(isOfNaN[r]);
    Reg stored = convert(select(isInf, inf, known), lse->element);
    k.when(isStored, [&] { k.store(stored, lse->at({at.batch, at.head, at.row[r]})); });
  }
}
