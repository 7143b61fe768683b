//===- TensorOps.cpp - slices, reshapes and the like ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

static LogicalResult evaluate(tensor::DimOp op, Environment &env) {
  const Array &source = env.get(op.getSource());
  int64_t dim = env.getInteger(op.getIndex());
  if (dim < 0 || dim >= source.getRank())
    return op.emitError("expected a dimension below ") << source.getRank() << ", found " << dim;
  Array size(op.getType(), {});
  size.values[0] = integer(source.shape[dim]);
  return env.set(op, std::move(size));
}

static LogicalResult evaluate(tensor::ExtractOp op, Environment &env) {
  const Array &source = env.get(op.getTensor());
  SmallVector<int64_t> index;
  for (auto [operand, size] : llvm::zip(op.getIndices(), source.shape)) {
    index.push_back(env.getInteger(operand));
    if (index.back() < 0 || index.back() >= size)
      return op.emitError("expected an index below ") << size << ", found " << index.back();
  }
  Array element(source.elementType, {});
  element.values[0] = source.values[getLinear(source.shape, index)];
  return env.set(op, std::move(element));
}

/// The same elements under another shape.
static LogicalResult reshape(Operation *op, const Array &source, ArrayRef<int64_t> shape,
                             Environment &env) {
  Array result = source;
  result.shape.assign(shape.begin(), shape.end());
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  if (failed(checkSize(op, "the number of elements", source.size(), count)))
    return failure();
  return env.set(op->getResult(0), std::move(result));
}

static LogicalResult evaluate(tensor::CastOp op, Environment &env) {
  Array copy = env.get(op.getSource());
  return env.set(op, std::move(copy));
}

static LogicalResult evaluate(tensor::ExpandShapeOp op, Environment &env) {
  return reshape(op, env.get(op.getSrc()), env.getIntegers(op.getMixedOutputShape()), env);
}

static LogicalResult evaluate(tensor::CollapseShapeOp op, Environment &env) {
  const Array &source = env.get(op.getSrc());
  SmallVector<int64_t> shape;
  for (const auto &group : op.getReassociationIndices()) {
    shape.push_back(1);
    for (int64_t dim : group)
      shape.back() *= source.shape[dim];
  }
  return reshape(op, source, shape, env);
}

static LogicalResult evaluate(tensor::ReshapeOp op, Environment &env) {
  SmallVector<int64_t> shape;
  for (Scalar size : env.get(op.getShape()).values)
    shape.push_back(size.integer);
  return reshape(op, env.get(op.getSource()), shape, env);
}

static LogicalResult evaluate(tensor::FromElementsOp op, Environment &env) {
  Array result(op.getType().getElementType(), op.getType().getShape());
  for (auto [value, operand] : llvm::zip(result.values, op.getElements()))
    value = env.get(operand).values[0];
  return env.set(op, std::move(result));
}

/// The shape of a new tensor, by its type and the sizes that this leaves open.
static FailureOr<SmallVector<int64_t>> getShape(Operation *op, ValueRange dynamic,
                                                Environment &env) {
  SmallVector<int64_t> shape(cast<RankedTensorType>(op->getResult(0).getType()).getShape());
  auto next = dynamic.begin();
  for (int64_t &size : shape) {
    if (ShapedType::isDynamic(size))
      size = env.getInteger(*next++);
    if (size < 0)
      return op->emitOpError("expected sizes of at least 0, found ") << size;
  }
  return shape;
}

static LogicalResult evaluate(tensor::EmptyOp op, Environment &env) {
  FailureOr<SmallVector<int64_t>> shape = getShape(op, op.getDynamicSizes(), env);
  return failed(shape) ? failure() : env.set(op, Array(op.getType().getElementType(), *shape));
}

static LogicalResult evaluate(tensor::SplatOp op, Environment &env) {
  FailureOr<SmallVector<int64_t>> shape = getShape(op, op.getDynamicSizes(), env);
  if (failed(shape))
    return failure();
  Array result(op.getType().getElementType(), *shape);
  std::fill(result.values.begin(), result.values.end(), env.get(op.getInput()).values[0]);
  return env.set(op, std::move(result));
}

static LogicalResult evaluate(tensor::GenerateOp op, Environment &env) {
  FailureOr<SmallVector<int64_t>> shape = getShape(op, op.getDynamicExtents(), env);
  FailureOr<Body> body = Body::prepare(op.getBody(), env);
  if (failed(shape) || failed(body))
    return failure();
  Array result(op.getType().getElementType(), *shape);
  forEachIndex(*shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    result.values[linear] = (*body)(llvm::map_to_vector(at, integer));
  });
  return env.set(op, std::move(result));
}

namespace {
/// The elements of a tensor selected by a slice.
struct Slice {
  SmallVector<int64_t> offsets, sizes, strides;

  template <typename OpTy>
  Slice(OpTy op, Environment &env)
      : offsets(env.getIntegers(op.getMixedOffsets())), sizes(env.getIntegers(op.getMixedSizes())),
        strides(env.getIntegers(op.getMixedStrides())) {}

  LogicalResult check(Operation *op, ArrayRef<int64_t> whole) const {
    for (auto [dim, size] : llvm::enumerate(whole)) {
      int64_t last = offsets[dim] + (sizes[dim] - 1) * strides[dim];
      if (sizes[dim] < 0 || (sizes[dim] > 0 && (std::min(offsets[dim], last) < 0 ||
                                                std::max(offsets[dim], last) >= size)))
        return op->emitError("expected a slice within size ")
               << size << " of dimension " << dim << ", found offset " << offsets[dim] << ", size "
               << sizes[dim] << ", stride " << strides[dim];
    }
    return success();
  }

  int64_t getLinear(ArrayRef<int64_t> whole, ArrayRef<int64_t> at) const {
    int64_t linear = 0;
    for (auto [dim, size] : llvm::enumerate(whole))
      linear = linear * size + offsets[dim] + at[dim] * strides[dim];
    return linear;
  }
};
} // namespace

/// `sizes` without the dimensions that the result's type drops.
static SmallVector<int64_t> dropDims(ArrayRef<int64_t> sizes, const llvm::SmallBitVector &dropped) {
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (!dropped.test(dim))
      shape.push_back(size);
  return shape;
}

static LogicalResult evaluate(tensor::ExtractSliceOp op, Environment &env) {
  const Array &source = env.get(op.getSource());
  Slice slice(op, env);
  if (failed(slice.check(op, source.shape)))
    return failure();
  Array result(source.elementType, dropDims(slice.sizes, op.getDroppedDims()));
  forEachIndex(slice.sizes, [&](ArrayRef<int64_t> at, int64_t linear) {
    result.values[linear] = source.values[slice.getLinear(source.shape, at)];
  });
  return env.set(op, std::move(result));
}

static LogicalResult evaluate(tensor::InsertSliceOp op, Environment &env) {
  const Array &source = env.get(op.getSource());
  Array result = env.get(op.getDest());
  Slice slice(op, env);
  int64_t count = 1;
  for (int64_t size : slice.sizes)
    count *= size;
  if (failed(slice.check(op, result.shape)) ||
      failed(checkSize(op, "the number of elements", count, source.size())))
    return failure();
  forEachIndex(slice.sizes, [&](ArrayRef<int64_t> at, int64_t linear) {
    result.values[slice.getLinear(result.shape, at)] = source.values[linear];
  });
  return env.set(op, std::move(result));
}

static LogicalResult evaluate(tensor::PadOp op, Environment &env) {
  const Array &source = env.get(op.getSource());
  SmallVector<int64_t> low = env.getIntegers(op.getMixedLowPad()),
                       high = env.getIntegers(op.getMixedHighPad()), shape;
  for (auto [dim, size, before, after] : llvm::enumerate(source.shape, low, high)) {
    if (before < 0 || after < 0)
      return op.emitError("expected no negative padding, found ")
             << before << " and " << after << " of dimension " << dim;
    shape.push_back(before + size + after);
  }
  FailureOr<Body> padding = Body::prepare(op.getRegion(), env);
  if (failed(padding))
    return failure();
  Array result(source.elementType, shape);
  forEachIndex(shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    result.values[linear] = (*padding)(llvm::map_to_vector(at, integer));
  });
  forEachIndex(source.shape, [&](ArrayRef<int64_t> at, int64_t linear) {
    SmallVector<int64_t> to(at);
    for (auto [coord, before] : llvm::zip_equal(to, low))
      coord += before;
    result.values[getLinear(shape, to)] = source.values[linear];
  });
  return env.set(op, std::move(result));
}

static LogicalResult evaluate(tensor::ConcatOp op, Environment &env) {
  auto inputs = llvm::map_to_vector(op.getInputs(), [&](Value v) { return &env.get(v); });
  int64_t axis = op.getDim(), total = 0;
  for (const Array *input : inputs) {
    for (int64_t dim = 0; dim < input->getRank(); ++dim)
      if (dim != axis && failed(checkSize(op, "dimension " + Twine(dim) + " of every operand",
                                          inputs[0]->shape[dim], input->shape[dim])))
        return failure();
    total += input->shape[axis];
  }
  SmallVector<int64_t> shape = inputs[0]->shape;
  shape[axis] = total;
  Array result(inputs[0]->elementType, shape);
  int64_t offset = 0;
  for (const Array *input : inputs) {
    forEachIndex(input->shape, [&](ArrayRef<int64_t> at, int64_t linear) {
      SmallVector<int64_t> to(at);
      to[axis] += offset;
      result.values[getLinear(shape, to)] = input->values[linear];
    });
    offset += input->shape[axis];
  }
  return env.set(op, std::move(result));
}

void reference::addTensorOps(Evaluators &evaluators) {
  evaluators.add<tensor::DimOp>(::evaluate);
  evaluators.add<tensor::ExtractOp>(::evaluate);
  evaluators.add<tensor::CastOp>(::evaluate);
  evaluators.add<tensor::ExpandShapeOp>(::evaluate);
  evaluators.add<tensor::CollapseShapeOp>(::evaluate);
  evaluators.add<tensor::ReshapeOp>(::evaluate);
  evaluators.add<tensor::FromElementsOp>(::evaluate);
  evaluators.add<tensor::EmptyOp>(::evaluate);
  evaluators.add<tensor::SplatOp>(::evaluate);
  evaluators.add<tensor::GenerateOp>(::evaluate);
  evaluators.add<tensor::ExtractSliceOp>(::evaluate);
  evaluators.add<tensor::InsertSliceOp>(::evaluate);
  evaluators.add<tensor::PadOp>(::evaluate);
  evaluators.add<tensor::ConcatOp>(::evaluate);
}
