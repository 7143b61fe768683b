//===- Environment.h - the values of a function being evaluated -*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_REFERENCE_ENVIRONMENT_H
#define ATTNC_LIB_REFERENCE_ENVIRONMENT_H

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/OpTable.h"
#include "attnc/Reference/Reference.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <functional>

namespace mlir::attn::reference {

class Environment {
public:
  explicit Environment(Arithmetic arithmetic) : arithmetic(arithmetic) {}

  Arithmetic getArithmetic() const { return arithmetic; }

  /// Valid until the next `set`.
  const Array &get(Value value) const { return values.find(value)->second; }
  /// Rounds as the arithmetic requires. Fails if the type has another shape.
  LogicalResult set(Value value, Array array);

  /// A scalar's value, such as an operand that is a size.
  int64_t getInteger(Value scalar) const { return get(scalar).values[0].integer; }
  /// Static sizes or offsets as they are, dynamic ones from their operands.
  SmallVector<int64_t> getIntegers(ArrayRef<OpFoldResult> mixed) const;

  int64_t getSize(const TensorDim &size) const { return get(size.tensor.value).shape[size.dim]; }
  /// The sizes of an op's first result.
  SmallVector<int64_t> getResultShape(AttnOpInterface op) const;

  /// A result of `op`, moved by 2 ulp under PlainAbove and PlainBelow.
  double blur(double value, Operation *op) const;
  double round(double value, Type type) const;
  void round(Array &array) const;

  /// Errors inside a loop: printed once, and `evaluate` fails in the end.
  void reportOnce(Operation *op, const Twine &message);
  bool hasFailed() const { return hasError; }

private:
  Arithmetic arithmetic;
  DenseMap<Value, Array> values;
  bool hasError = false;
};

/// A function of scalars.
using ScalarFunction = std::function<Scalar(const Scalar *operands)>;

/// The scalar function of an elementwise arith or math op; an error for unknown ops. The result is
/// not rounded.
FailureOr<ScalarFunction> getScalarFunction(Operation *op);

/// Reports `expected WHAT to be 4, found 5` at the op if they differ.
LogicalResult checkSize(Operation *op, const Twine &what, int64_t expected, int64_t found);

/// Calls `visit(index, linear)` for every element of a shape, in C order.
template <typename F>
void forEachIndex(ArrayRef<int64_t> shape, F visit) {
  SmallVector<int64_t> index(shape.size());
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  for (int64_t linear = 0; linear < count; ++linear) {
    visit(ArrayRef<int64_t>(index), linear);
    for (int64_t dim = shape.size() - 1; dim >= 0 && ++index[dim] == shape[dim]; --dim)
      index[dim] = 0;
  }
}

/// The linear position of an element.
int64_t getLinear(ArrayRef<int64_t> shape, ArrayRef<int64_t> index);

/// The functions that evaluate ops, called once size constraints are checked. Each file registers
/// those of its ops.
using Evaluators = OpTable<Environment &>;
void addAttention(Evaluators &evaluators);
void addLayers(Evaluators &evaluators);
void addMatmul(Evaluators &evaluators);
void addPackedRows(Evaluators &evaluators);
void addPages(Evaluators &evaluators);
void addQuantize(Evaluators &evaluators);
void addSequence(Evaluators &evaluators);
void addShapes(Evaluators &evaluators);
void addTensorOps(Evaluators &evaluators);

LogicalResult evaluateConstant(arith::ConstantOp op, Environment &env);
/// Evaluates every other op: one of arith or math.
LogicalResult evaluateElementwise(Operation *op, Environment &env);

LogicalResult reportUnknown(Operation *op);

} // namespace mlir::attn::reference

#endif // ATTNC_LIB_REFERENCE_ENVIRONMENT_H
