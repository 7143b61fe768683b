//===- Dropout.cpp - dropout as a region ----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Dropout.h"

#include "Bodies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// 32-bit words held in i64 values.
class Words {
public:
  explicit Words(ImplicitLocOpBuilder &b) : b(b) {}

  Value constant(int64_t value) { return arith::ConstantIntOp::create(b, value, 64); }
  Value low(Value x) { return arith::AndIOp::create(b, x, constant(0xffffffff)); }
  Value high(Value x) { return arith::ShRUIOp::create(b, x, constant(32)); }
  Value exclusiveOr(Value x, Value y) { return arith::XOrIOp::create(b, x, y); }

  /// The first word of Philox2x32-10.
  Value philox(Value index, Value seed);

private:
  ImplicitLocOpBuilder &b;
};
} // namespace

Value Words::philox(Value index, Value seed) {
  constexpr int64_t kMultiplier = 0xd256d193, kKeyStep = 0x9e3779b9;
  Value first = low(index), second = exclusiveOr(high(index), high(seed)), key = low(seed);
  for (int round = 0; round < 10; ++round) {
    Value product = arith::MulIOp::create(b, first, constant(kMultiplier));
    first = exclusiveOr(exclusiveOr(high(product), key), second);
    second = low(product);
    key = low(arith::AddIOp::create(b, key, constant(kKeyStep)));
  }
  return first;
}

/// The index in C order of the element at `indices`.
static Value linearIndex(ImplicitLocOpBuilder &b, ValueRange sizes, ValueRange indices) {
  Type i64 = b.getI64Type();
  Value linear = arith::ConstantIntOp::create(b, 0, 64);
  for (auto [size, index] : llvm::zip_equal(sizes, indices)) {
    Value row = arith::MulIOp::create(b, linear, arith::IndexCastOp::create(b, i64, size));
    linear = arith::AddIOp::create(b, row, arith::IndexCastOp::create(b, i64, index));
  }
  return linear;
}

/// Builds the dropped-out element at the insertion point.
static Value buildElement(ImplicitLocOpBuilder &b, DropoutOp op, ValueRange sizes, Value element,
                          ValueRange indices) {
  Words words(b);
  double rate = op.getRate().convertToDouble();
  Value seed = tensor::ExtractOp::create(b, op.getSeed(), ValueRange());
  Value word = words.philox(linearIndex(b, sizes, indices), seed);
  Value stays = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, word,
                                      words.constant(int64_t(rate * 0x1p32)));
  auto constant = [&](double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(element.getType(), value)).getResult();
  };
  Value grown = arith::MulFOp::create(b, element, constant(1 / (1 - rate)));
  return arith::SelectOp::create(b, stays, grown, constant(0));
}

static Value generate(ImplicitLocOpBuilder &b, DropoutOp op, ValueRange sizes) {
  RankedTensorType type = op.getType();
  SmallVector<Value> dynamic;
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (type.isDynamicDim(dim))
      dynamic.push_back(size);
  return tensor::GenerateOp::create(
      b, type, dynamic, [&](OpBuilder &builder, Location loc, ValueRange indices) {
        ImplicitLocOpBuilder inner(loc, builder);
        Value element = tensor::ExtractOp::create(inner, op.getInput(), indices);
        tensor::YieldOp::create(inner, buildElement(inner, op, sizes, element, indices));
      });
}

static Value modifyProb(ImplicitLocOpBuilder &b, DropoutOp op, ValueRange sizes) {
  auto modify = ModifyProbOp::create(b, op.getType(), op.getInput());
  OpBuilder::InsertionGuard guard(b);
  Block *block = createBody(b, modify.getBody(), op.getType().getElementType(), op.getLoc());
  Value element = block->getArgument(0);
  YieldOp::create(b, buildElement(b, op, sizes, element, block->getArguments().drop_front()));
  return modify;
}

void attn::expandDropout(DropoutOp op, RewriterBase &rewriter) {
  if (!op.getSeed())
    return rewriter.replaceOp(op, op.getInput());
  ImplicitLocOpBuilder b(op.getLoc(), op);
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < op.getType().getRank(); ++dim)
    sizes.push_back(b.createOrFold<tensor::DimOp>(op.getInput(), dim));
  bool isProb = op.getType().getRank() == 4 &&
                isa_and_nonnull<SoftmaxOp, ModifyProbOp>(op.getInput().getDefiningOp());
  rewriter.replaceOp(op, isProb ? modifyProb(b, op, sizes) : generate(b, op, sizes));
}
