//===- PipelineBuilder.h - write halide pipelines as Halide reads -*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators on scalars and calls of funcs build arith ops and halide.at, so that
// an algorithm in this folder reads as it would in Halide.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_PIPELINEBUILDER_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_PIPELINEBUILDER_H

#include "attnc/Dialect/Attn/IndexRange.h"
#include "attnc/Dialect/Attn/ScheduleAttrInterface.h"
#include "attnc/Dialect/Halide/Halide.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <limits>

namespace mlir::attn {

/// A number known when a kernel is built. Integers keep all bits.
class Number {
public:
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Number(T value) : real(value) {
    if constexpr (std::is_integral_v<T>)
      integer = value;
  }

  /// An attribute of `type`; an integer type requires an integer.
  TypedAttr getAttr(Builder &builder, Type type) const;

private:
  std::optional<int64_t> integer;
  double real;
};

/// A scalar; operators build arith ops at the insertion point.
class Scalar {
public:
  Scalar() = default;
  Scalar(ImplicitLocOpBuilder &builder, Value value) : builder(&builder), value(value) {}

  operator Value() const { return value; }
  Type getType() const { return value.getType(); }
  ImplicitLocOpBuilder &b() const { return *builder; }

  static Scalar constant(ImplicitLocOpBuilder &builder, Type type, Number c);
  /// A constant of this scalar's type.
  Scalar constant(Number c) const { return constant(*builder, getType(), c); }

  Scalar operator-() const;
  Scalar operator!() const;

private:
  ImplicitLocOpBuilder *builder = nullptr;
  Value value;
};

Scalar operator+(Scalar x, Scalar y);
Scalar operator-(Scalar x, Scalar y);
Scalar operator*(Scalar x, Scalar y);
/// Integer division rounds as in Halide: towards minus infinity for a positive divisor.
Scalar operator/(Scalar x, Scalar y);
Scalar operator%(Scalar x, Scalar y);
Scalar operator<(Scalar x, Scalar y);
Scalar operator<=(Scalar x, Scalar y);
Scalar operator>(Scalar x, Scalar y);
Scalar operator>=(Scalar x, Scalar y);
Scalar operator==(Scalar x, Scalar y);
Scalar operator&&(Scalar x, Scalar y);

/// The sum, as a function.
inline Scalar plus(Scalar x, Scalar y) { return x + y; }

inline Scalar operator+(Scalar x, Number y) { return x + x.constant(y); }
inline Scalar operator-(Scalar x, Number y) { return x - x.constant(y); }
inline Scalar operator*(Scalar x, Number y) { return x * x.constant(y); }
inline Scalar operator/(Scalar x, Number y) { return x / x.constant(y); }
inline Scalar operator%(Scalar x, Number y) { return x % x.constant(y); }
inline Scalar operator<(Scalar x, Number y) { return x < x.constant(y); }
inline Scalar operator>(Scalar x, Number y) { return x > x.constant(y); }
inline Scalar operator==(Scalar x, Number y) { return x == x.constant(y); }

Scalar min(Scalar x, Scalar y);
Scalar max(Scalar x, Scalar y);
inline Scalar min(Scalar x, Number y) { return min(x, x.constant(y)); }
inline Scalar max(Scalar x, Number y) { return max(x, x.constant(y)); }
/// The float maximum that costs one instruction: if one operand is NaN, either operand.
Scalar machineMax(Scalar x, Scalar y);
Scalar clamp(Scalar x, Scalar low, Scalar high);
Scalar select(Scalar condition, Scalar yes, Scalar no);
/// To another integer or float type; the same type is a no-op.
Scalar convert(Scalar x, Type type);
/// Bitcasts a float to an integer of its width, and back.
Scalar bits(Scalar x);
Scalar fromBits(Scalar x, Type type);
Scalar operator&(Scalar x, Scalar y);
Scalar operator|(Scalar x, Scalar y);
Scalar operator<<(Scalar x, Scalar y);
Scalar operator||(Scalar x, Scalar y);
Scalar exp(Scalar x);
Scalar tanh(Scalar x);
/// 2^x for -126 <= x < 128 and NaN; anything where x is less.
Scalar boundedExp2(Scalar x);
/// The same as accurate as bf16.
Scalar exp2BF16(Scalar x);
/// 2^x for x < 128 and NaN, by a GPU's fast instruction; denormal results are 0.
Scalar deviceExp2(Scalar x);
Scalar round(Scalar x);
Scalar log(Scalar x);
/// log(x) of 0 and of positive normal numbers; anything of others.
Scalar boundedLog(Scalar x);
Scalar sqrt(Scalar x);
Scalar strictFloat(Scalar x);
Scalar likely(Scalar x);
/// Returns x and prefetches `element`, read from an input, into the L2 cache, or with a `locality`
/// of 3 into L1.
Scalar fetchAhead(Scalar x, Scalar element, int64_t locality = 2);
/// Returns x and stores `stored` to `element`, read from an output, if `where` holds. For the body
/// of a func that is not inlined.
Scalar storeBeside(Scalar x, Scalar stored, Scalar element, Scalar where = {});
/// `x`, which an update computes and stores only where the condition holds.
Scalar storeWhere(Scalar x, Scalar condition);
/// Two bf16 in an i32, as they lie in memory; two f32, rounded.
Scalar pairOf(Scalar low, Scalar high);
Scalar roundBF16Pair(Scalar low, Scalar high);
/// acc plus the products of two pairs.
Scalar dotBF16Pair(Scalar acc, Scalar a, Scalar b);
/// Four i8 in an i32, as they lie in memory; acc plus the products of two such quads.
Scalar quadOf(ArrayRef<Scalar> bytes);
Scalar dotI8Quad(Scalar acc, Scalar a, Scalar b);
/// `dotBF16Pair` in an update whose loops one call replaces; see halide.dot_bf16_tiles.
Scalar dotBF16Tiles(Scalar acc, Scalar a, Scalar b, Scalar rows, Scalar depth);
Scalar unsafePromiseClamped(Scalar x, Scalar low, Scalar high);
/// Nothing, as the body of an output that updates write: its other elements stay as they are.
Scalar undef(ImplicitLocOpBuilder &builder, Type type);

class PipelineBuilder;

/// A func or input; calling it reads a value.
class Func {
public:
  Func() = default;
  Func(PipelineBuilder &pipeline, Value value) : pipeline(&pipeline), value(value) {}

  operator Value() const { return value; }
  Scalar operator()(ArrayRef<Scalar> coords) const;
  template <typename... Coords>
  Scalar operator()(Scalar first, Coords... rest) const {
    return (*this)(ArrayRef<Scalar>{first, rest...});
  }
  int64_t getRank() const { return cast<halide::FuncType>(value.getType()).getRank(); }
  Type getElementType() const { return cast<halide::FuncType>(value.getType()).getElementType(); }

private:
  PipelineBuilder *pipeline = nullptr;
  Value value;
};

using Body = function_ref<Scalar(ArrayRef<Scalar>)>;

/// A reduction variable: its name and extent; it starts at 0.
struct Reduction {
  StringRef name;
  Scalar extent;
};

/// The result of an update's body: the value; the coordinates, if they are not the pure variables;
/// an optional condition.
struct Update {
  Update(Scalar value, SmallVector<Scalar> coords = {}, Scalar where = {})
      : value(value), coords(std::move(coords)), where(where) {}
  Scalar value;
  SmallVector<Scalar> coords;
  Scalar where;
};

/// A loop of a stage; directives return the resulting loops.
using Loop = Value;

/// The loops of a stage, by the names of their variables.
class StageLoops {
public:
  StageLoops(SmallVector<StringRef> names, SmallVector<Loop> loops)
      : names(std::move(names)), loops(std::move(loops)) {}

  Loop operator[](StringRef name) const {
    auto *found = llvm::find(names, name);
    assert(found != names.end() && "the stage has no such variable");
    return loops[found - names.begin()];
  }

private:
  SmallVector<StringRef> names;
  SmallVector<Loop> loops;
};

/// Builds one halide.pipeline, algorithm first, then schedule.
class PipelineBuilder {
public:
  static constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

  /// Creates an empty pipeline called `name` at the insertion point.
  PipelineBuilder(OpBuilder &builder, Location loc, StringRef name);

  halide::PipelineOp getOp() const { return pipeline; }
  ImplicitLocOpBuilder &b() { return builder; }

  // Algorithm. Shapes are those of tensors, last dimension innermost.

  /// The input that holds `tensor`, one per tensor. Static sizes of the innermost `knownDims`
  /// dimensions are passed to the pipeline.
  Func input(StringRef name, Value tensor, int64_t knownDims = kAll);
  /// The tensors of the inputs, in order.
  ArrayRef<Value> getInputTensors() const { return inputTensors; }
  BuiltKernel getKernel() const { return {pipeline, inputTensors}; }
  Func func(StringRef name, ArrayRef<StringRef> vars, Type elementType, Body body);
  void update(Func f, ArrayRef<StringRef> vars, ArrayRef<Reduction> reductions,
              function_ref<Update(ArrayRef<Scalar> vars, ArrayRef<Scalar> reductions)> body);
  void output(Func f, RankedTensorType type, int64_t knownDims = kAll);

  Scalar constant(Type type, Number value) { return Scalar::constant(builder, type, value); }
  Scalar i32(int64_t value) { return constant(builder.getI32Type(), value); }
  /// The extent of an input's dimension, innermost first; a constant if static.
  Scalar extent(Func input, int64_t dim);

  /// Inlines `region` of an attn op for `args` at the insertion point. Index arithmetic becomes
  /// i32, or i64 where a comparison needs it; captured tensors become inputs. `known` maps values
  /// of the region to scalars already computed.
  FailureOr<Scalar> inlineRegion(Region &region, ArrayRef<Scalar> args,
                                 ArrayRef<std::pair<Value, Scalar>> known = {});
  /// The same for any value inside the region.
  FailureOr<Scalar> inlineRegionValue(Region &region, Value value, ArrayRef<Scalar> args,
                                      ArrayRef<std::pair<Value, Scalar>> known = {});

  // Schedule.

  /// The loops of a stage: the pure definition, or the update of that number.
  SmallVector<Loop> loops(Func f, std::optional<int64_t> update = {});
  /// The same by their names.
  StageLoops stage(Func f, std::optional<int64_t> update = {});
  /// The dimension of a func whose variable is called `name`.
  int64_t dim(Func f, StringRef name);
  std::pair<Loop, Loop> split(Loop loop, int64_t factor,
                              halide::TailStrategy tail = halide::TailStrategy::automatic);
  Loop fuse(Loop inner, Loop outer);
  void reorder(ArrayRef<Loop> loops);
  /// The intermediate func; its last dimension was `loop`.
  Func rfactor(Loop loop);
  void vectorize(Loop loop);
  void unroll(Loop loop);
  void parallel(Loop loop);
  void gpuBlock(Loop loop);
  void gpuThread(Loop loop);
  /// Maps the loops `threads` to GPU threads. Inside of them are the `inner` loops, then the
  /// unrolled loops `own`; around them the `outer` loops.
  void spreadOverThreads(ArrayRef<Loop> own, ArrayRef<Loop> inner, ArrayRef<Loop> threads,
                         ArrayRef<Loop> outer = {});
  void computeRoot(Func f);
  void computeAt(Func f, Loop loop);
  void storeIn(Func f, halide::MemoryType memory);
  void boundExtent(Func f, int64_t dim, int64_t extent);
  void boundExtent(Func f, StringRef var, int64_t extent) { boundExtent(f, dim(f, var), extent); }
  void boundStorage(Func f, int64_t dim, int64_t extent);
  void boundStorage(Func f, StringRef var, int64_t extent) { boundStorage(f, dim(f, var), extent); }
  void alignBounds(Func f, int64_t dim, int64_t modulus);
  void alignStorage(Func f, int64_t dim, int64_t modulus);
  void alignStorage(Func f, StringRef var, int64_t modulus) {
    alignStorage(f, dim(f, var), modulus);
  }
  void reorderStorage(Func f, ArrayRef<int64_t> order);
  void atomic(Func f, int64_t update);
  void allowRaceConditions(Func f, int64_t update);
  void neverPartition(Func f, std::optional<int64_t> update = {});

  /// Splits `loop` into vectors and vectorizes the inner part; returns the outer one.
  Loop vectorizeBy(Loop loop, int64_t lanes,
                   halide::TailStrategy tail = halide::TailStrategy::guard_with_if);

private:
  SmallVector<Scalar> scalars(ValueRange values);
  FailureOr<Scalar> inlineValue(Value value, IRMapping &mapping);
  FailureOr<Scalar> inlineOp(Operation *op, IRMapping &mapping);
  FailureOr<Scalar> inlineExtract(Operation *op, IRMapping &mapping);
  bool widenIndices(Operation *op, SmallVectorImpl<Value> &operands);

  ImplicitLocOpBuilder builder;
  halide::PipelineOp pipeline;
  SmallVector<Value> inputTensors;
  SmallVector<Func> inputs;
  /// Index arithmetic that needs 64 bits, of all regions inlined so far.
  llvm::DenseMap<Region *, llvm::DenseSet<Operation *>> wideIndicesOf;
  llvm::DenseSet<Operation *> wideIndices;
  IndexRanges ranges;
};

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_PIPELINEBUILDER_H
