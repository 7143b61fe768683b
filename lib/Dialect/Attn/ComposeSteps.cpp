//===- ComposeSteps.cpp - compose steps into one region -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mask moves past the steps that preserve -inf, so that it is found at the end. After other
// steps, NaN of a hidden key is replaced by -inf, as `attn.modify_score` specifies.
//
//===----------------------------------------------------------------------===//

#include "ComposeSteps.h"

#include "Bodies.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;

static Value createInfinity(OpBuilder &builder, Location loc, Type element) {
  auto type = cast<FloatType>(element);
  auto infinity = APFloat::getInf(type.getFloatSemantics(), /*Negative=*/true);
  return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, infinity));
}

/// Whether a region may turn -inf into NaN.
static bool mayMakeNaN(Region &body) {
  return !llvm::all_of(body.front(), [](Operation &op) {
    return isa<YieldOp, arith::ConstantOp, arith::ExtFOp, arith::TruncFOp, math::ExpOp,
               math::TanhOp>(op);
  });
}

namespace {
class StepComposer {
public:
  StepComposer(OpBuilder &builder, Block *block) : b(builder), block(block) {
    value = block->getArgument(0);
  }

  void apply(Operation *step);
  Value finish() {
    hidePending();
    return value;
  }

private:
  void hidePending();
  Value keepHidden(Location loc, Value before, Value after);

  OpBuilder &b;
  Block *block;
  Value value;
  SmallVector<MaskOp> pending;
  /// Conditions of the masks applied so far.
  SmallVector<Value> conditions;
};
} // namespace

void StepComposer::hidePending() {
  for (MaskOp mask : pending) {
    Value condition = cloneBody(b, mask.getBody(), block->getArguments().drop_front());
    Value hidden = createInfinity(b, mask.getLoc(), value.getType());
    value = arith::SelectOp::create(b, mask.getLoc(), condition, value, hidden);
    conditions.push_back(condition);
  }
  pending.clear();
}

Value StepComposer::keepHidden(Location loc, Value before, Value after) {
  Value infinity = createInfinity(b, loc, after.getType());
  auto compare = [&](arith::CmpFPredicate predicate, Value x, Value y) -> Value {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  };
  Value isLost = arith::AndIOp::create(b, loc, compare(arith::CmpFPredicate::UNO, after, after),
                                       compare(arith::CmpFPredicate::OEQ, before, infinity));
  for (Value isVisible : conditions) {
    Value kept = arith::SelectOp::create(b, loc, isLost, infinity, after);
    after = arith::SelectOp::create(b, loc, isVisible, after, kept);
  }
  return after;
}

void StepComposer::apply(Operation *step) {
  if (auto mask = dyn_cast<MaskOp>(step)) {
    pending.push_back(mask);
    return;
  }
  Region &body = step->getRegion(0);
  if (!keepsHidden(body))
    hidePending();
  SmallVector<Value> arguments(block->getArguments());
  arguments.front() = value;
  Value before = value;
  value = cloneBody(b, body, arguments);
  if (!conditions.empty() && mayMakeNaN(body))
    value = keepHidden(step->getLoc(), before, value);
}

void attn::composeSteps(OpBuilder &builder, Region &body, ArrayRef<Operation *> steps, Type element,
                        Location loc) {
  if (steps.empty())
    return;
  OpBuilder::InsertionGuard guard(builder);
  StepComposer composer(builder, createBody(builder, body, element, loc));
  for (Operation *step : steps)
    composer.apply(step);
  YieldOp::create(builder, loc, composer.finish());
}
