//===- Translator.h - one pipeline as Halide objects ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_TARGET_HALIDE_TRANSLATOR_H
#define ATTNC_LIB_TARGET_HALIDE_TRANSLATOR_H

#include "Halide.h"

#include "attnc/Dialect/Halide/Halide.h"

#include <set>

namespace mlir::halide {

/// Translates a pipeline op by op, in order. Halide's funcs keep their own definitions and
/// schedules; this class only maps values to them.
class Translator {
public:
  Translator(PipelineOp pipeline, const ::Halide::Target &target);

  /// Everything Halide refuses is a diagnostic at the op being translated.
  LogicalResult translate();

  ::Halide::Pipeline getPipeline() const { return ::Halide::Pipeline(outputs); }
  const std::vector<::Halide::Argument> &getArguments() const { return arguments; }

private:
  /// A loop of a stage, by its name in Halide.
  struct Loop {
    ::Halide::Func func;
    ::Halide::Stage stage;
    ::Halide::VarOrRVar var;
  };

  /// A func's value and the index of an update, -1 for the pure definition.
  using StageKey = std::pair<const void *, int64_t>;

  LogicalResult translateOp(Operation *op);

  // Algorithm.
  LogicalResult translate(InputOp op);
  LogicalResult translate(ExtentOp op);
  LogicalResult translate(FuncOp op);
  LogicalResult translate(UpdateOp op);
  LogicalResult translate(ExternOp op);
  LogicalResult translate(OutputOp op);
  LogicalResult translateScalar(Operation *op);
  LogicalResult translateAt(AtOp op);
  LogicalResult translateBody(Region &body);
  void collectCoordinateOps();
  void collectClampsOfComputed();

  // Schedule; false if the op is another kind of directive.
  bool translateLoopDirective(Operation *op);
  bool translateFuncDirective(Operation *op);
  bool translateStageDirective(Operation *op);
  void defineLoops(ValueRange handles, Value func, std::optional<int64_t> update,
                   ::Halide::Stage stage);
  void split(SplitOp op);
  void fuse(FuseOp op);
  void rfactor(RfactorOp op);
  void prefetch(PrefetchOp op);
  ::Halide::Stage getStage(Value func, std::optional<int64_t> update);
  ::Halide::LoopLevel getLevel(Value loop, int stageIndex = -1);
  ::Halide::VarOrRVar makeLoopVar(Value loop);

  /// `name` for Halide, with a number appended if it is taken.
  static std::string getFreshName(std::set<std::string> &taken, StringRef name);

  ::Halide::Func &getFunc(Value value) { return funcs.at(value.getAsOpaquePointer()); }
  Loop &getLoop(Value value) { return loops.at(value.getAsOpaquePointer()); }
  std::vector<::Halide::Expr> getExprs(ValueRange values);

  PipelineOp pipeline;
  ::Halide::Target target;
  /// Whether the processor has instructions that convert f16, and that round to bf16.
  bool convertsF16, roundsToBF16;
  DenseMap<Value, ::Halide::Expr> exprs;
  std::map<const void *, ::Halide::ImageParam> images;
  std::map<const void *, ::Halide::Func> funcs;
  std::map<const void *, Loop> loops;
  /// A stage's variables, in the order of its body's arguments.
  std::map<StageKey, std::vector<::Halide::VarOrRVar>> stageVars;
  std::set<std::string> funcNames;
  std::map<const void *, std::set<std::string>> varNames;
  std::map<std::pair<StageKey, Operation *>, std::set<std::string>> loopNames;
  std::vector<::Halide::Func> outputs;
  std::vector<::Halide::Argument> arguments;
  DenseSet<Operation *> coordinateOps, clampsOfComputed;
};

} // namespace mlir::halide

#endif // ATTNC_LIB_TARGET_HALIDE_TRANSLATOR_H
