//===- Halide.h - the halide dialect ----------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_HALIDE_HALIDE_H
#define ATTNC_DIALECT_HALIDE_HALIDE_H

#include "attnc/Interfaces/KernelOpInterface.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "attnc/Dialect/Halide/HalideDialect.h.inc"
#include "attnc/Dialect/Halide/HalideEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "attnc/Dialect/Halide/HalideAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "attnc/Dialect/Halide/HalideTypes.h.inc"

namespace mlir::halide {

/// Fills the body of a definition: called with its variables, ends with a
/// yield.
using BodyBuilder = llvm::function_ref<void(OpBuilder &, Location, ValueRange)>;

/// A dimension of a reduction domain; `min` and `extent` are i32 values of the
/// pipeline.
struct ReductionVar {
  StringRef name;
  Value min, extent;
};

/// The stage of a loop: a pure definition, or an update if `update` is set; its specialized version
/// if `specialization` is set.
struct Stage {
  Value func;
  std::optional<int64_t> update;
  Operation *specialization = nullptr;
  bool operator==(const Stage &other) const;
};

/// Largest extent or factor: Halide counts in 32 bits.
inline constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

/// Whether Halide supports this element type: `i1`, `i8` to `i64`, `f8E4M3FN`, whose
/// elements casts alone convert, and floats of 16 to 64 bits.
bool isElementType(Type type);

/// Whether a caller's buffer can hold elements of this type: those that Halide supports, integers
/// signed, unsigned or signless.
bool isBufferElementType(Type type);
inline constexpr StringLiteral kBufferElementTypes =
    "i1, i8 to i64, f8E4M3FN or a float of 16 to 64 bits";

/// Checks that func and loop operands are defined by an op of the pipeline before `op`. The
/// functions below assume that.
LogicalResult verifyHandleOperands(Operation *op);

} // namespace mlir::halide

namespace mlir::OpTrait {

/// Funcs and loops are handles, not values: an `arith.select` of them means nothing.
template <typename ConcreteOp>
struct TakesHandles : TraitBase<ConcreteOp, TakesHandles> {
  static LogicalResult verifyTrait(Operation *op) { return halide::verifyHandleOperands(op); }
};

} // namespace mlir::OpTrait

#define GET_OP_CLASSES
#include "attnc/Dialect/Halide/HalideOps.h.inc"

namespace mlir::halide {

/// The stage of a loop handle.
Stage getStage(Value loop);

/// Whether a loop runs over a reduction domain.
bool isReductionLoop(Value loop);

/// A name for a loop: its variable's, followed by `o` or `i` for the outer or inner loop of each
/// split.
std::string getLoopName(Value loop);

/// The name a func or input has; the intermediate of an rfactor is `NAME_intm`.
std::string getFuncName(Value func);

/// The updates of a func, in order.
SmallVector<UpdateOp> getUpdates(Value func);

/// The variables of a stage, one per `halide.loops` handle; failure if the stage doesn't exist.
FailureOr<SmallVector<std::string>> getStageVars(Value func, std::optional<int64_t> update);

/// A reduction loop that an rfactor moves into the intermediate's update. `handle` is null if the
/// IR has no handle on it.
struct RemainingLoop {
  std::string name;
  Value handle;
};
SmallVector<RemainingLoop> getRemainingLoops(RfactorOp rfactor);

} // namespace mlir::halide

#endif // ATTNC_DIALECT_HALIDE_HALIDE_H
