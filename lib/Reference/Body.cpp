//===- Body.cpp - a region as a function of scalars -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

FailureOr<Body> Body::prepare(Region &region, Environment &env) {
  Body body(env);
  Block &block = region.front();
  for (BlockArgument argument : block.getArguments())
    body.addSlot(argument);
  for (Operation &op : block.without_terminator())
    if (failed(body.addOp(&op)))
      return failure();
  body.yielded = body.getSlot(block.getTerminator()->getOperand(0));
  return body;
}

LogicalResult Body::addOp(Operation *op) {
  if (isa<tensor::ExtractOp>(op))
    return addExtract(op);
  if (isa<tensor::DimOp>(op))
    return addDim(op);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (failed(evaluateConstant(constant, *env)))
      return failure();
    addConstant(constant, env->get(constant).values[0]);
    return success();
  }
  FailureOr<ScalarFunction> function = getScalarFunction(op);
  if (failed(function))
    return failure();
  auto blurred = [op, function = *function, env = env](const Scalar *operands) {
    Scalar result = function(operands);
    if (isa<FloatType>(op->getResult(0).getType()))
      result.real = env->blur(result.real, op);
    return result;
  };
  addStep(op, blurred, op->getOperands());
  return success();
}

LogicalResult Body::addExtract(Operation *op) {
  auto extract = cast<tensor::ExtractOp>(op);
  Value tensor = extract.getTensor();
  auto read = [op, tensor, env = env](const Scalar *operands) {
    const Array &array = env->get(tensor);
    // Results of empty tensors are never used.
    if (array.values.empty())
      return Scalar{};
    int64_t linear = 0;
    for (auto [dim, size] : llvm::enumerate(array.shape)) {
      int64_t index = operands[dim].integer;
      if (index < 0 || index >= size) {
        env->reportOnce(op, "expected index " + Twine(dim) + " to be below " + Twine(size) +
                                ", found " + Twine(index));
        return Scalar{};
      }
      linear = linear * size + index;
    }
    return array.values[linear];
  };
  addStep(op, read, extract.getIndices());
  return success();
}

LogicalResult Body::addDim(Operation *op) {
  auto dim = cast<tensor::DimOp>(op);
  std::optional<int64_t> index = dim.getConstantIndex();
  if (!index)
    return op->emitError("expected a constant dimension");
  addConstant(dim, integer(env->get(dim.getSource()).shape[*index]));
  return success();
}

void Body::addStep(Operation *op, ScalarFunction function, ValueRange operands) {
  Step step{std::move(function), {}, 0, op->getResult(0).getType()};
  for (Value operand : operands)
    step.operands.push_back(getSlot(operand));
  step.result = addSlot(op->getResult(0));
  steps.push_back(std::move(step));
}

unsigned Body::addSlot(Value value) {
  slots.emplace_back();
  return slotOf[value] = slots.size() - 1;
}

void Body::addConstant(Value value, Scalar scalar) { slots[addSlot(value)] = scalar; }

/// A value from outside the region is a scalar.
unsigned Body::getSlot(Value value) {
  auto known = slotOf.find(value);
  if (known != slotOf.end())
    return known->second;
  addConstant(value, env->get(value).values[0]);
  return slotOf[value];
}

Scalar Body::operator()(ArrayRef<Scalar> arguments) {
  std::copy(arguments.begin(), arguments.end(), slots.begin());
  SmallVector<Scalar, 4> operands;
  for (const Step &step : steps) {
    operands.clear();
    for (unsigned slot : step.operands)
      operands.push_back(slots[slot]);
    Scalar result = step.function(operands.data());
    if (isa<FloatType>(step.type))
      result.real = env->round(result.real, step.type);
    slots[step.result] = result;
  }
  return slots[yielded];
}
