//===- ScoreFactors.cpp - constant factors of query and key ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreFactors.h"
#include "Bodies.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// A tensor without its constant factor, which moves to the score's scale.
struct Unscaled {
  Value tensor;
  double scale;
};
} // namespace

/// `value` as `multiply`, of which `element` is an operand, multiplies it.
static std::optional<Unscaled> unscale(const APFloat &scale, Operation *multiply, Value element,
                                       Value tensor) {
  if (!llvm::is_contained(multiply->getOperands(), element))
    return std::nullopt;
  std::optional<double> product = scaledBy(scale, multiply, element);
  return product ? std::optional<Unscaled>({tensor, *product}) : std::nullopt;
}

/// Removes a constant factor from a product of whole tensors or a map.
static std::optional<Unscaled> unscale(const APFloat &scale, Value value) {
  Operation *op = value.getDefiningOp();
  if (auto map = dyn_cast_or_null<MapOp>(op)) {
    Operation *multiply = yieldedValue(map.getBody()).getDefiningOp();
    Value input = map.getInputs().front();
    if (map.getInputs().size() != 1 || input.getType() != value.getType() || !multiply)
      return std::nullopt;
    return unscale(scale, multiply, map.getBody().getArgument(0), input);
  }
  if (op && op->getNumOperands() == 2)
    for (Value factored : op->getOperands())
      if (std::optional<Unscaled> unscaled = unscale(scale, op, factored, factored))
        return unscaled;
  return std::nullopt;
}

/// Whether `op` only moves elements and has one user.
static bool movesForOne(Operation *op) {
  return isa_and_nonnull<SplitHeadsOp, TransposeOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
             op) &&
         op->hasOneUse();
}

/// Moves one constant factor of an operand into the scale, also through ops that move elements.
static bool absorbFactor(RewriterBase &rewriter, ScoreOp op, OpOperand &operand) {
  OpOperand *place = &operand;
  while (movesForOne(place->get().getDefiningOp()))
    place = &place->get().getDefiningOp()->getOpOperand(0);
  std::optional<Unscaled> unscaled = unscale(op.getScale(), place->get());
  if (!unscaled)
    return false;
  Operation *multiply = place->get().getDefiningOp();
  rewriter.modifyOpInPlace(place->getOwner(), [&] { place->set(unscaled->tensor); });
  rewriter.modifyOpInPlace(op, [&] { op.setScaleAttr(rewriter.getF64FloatAttr(unscaled->scale)); });
  if (isOpTriviallyDead(multiply))
    rewriter.eraseOp(multiply);
  return true;
}

void attn::absorbFactors(RewriterBase &rewriter, ScoreOp op) {
  for (OpOperand &operand : op->getOpOperands())
    while (absorbFactor(rewriter, op, operand)) {
    }
}
