//===- FunctionConverter.h - ops of a function to calls ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_FUNCTIONCONVERTER_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_FUNCTIONCONVERTER_H

#include "Epilogues.h"
#include "HostFunction.h"
#include "Lowerings.h"

#include "attnc/Dialect/Attn/OpTable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::attn {

/// Converts the ops of one function. Ops are taken in order. Each tensor gets a buffer: an
/// argument, a result's argument, a view of another buffer or a temporary; each op that computes
/// gets kernels and calls of them. How, its lowering says.
class FunctionConverter {
public:
  using Lower = function_ref<LogicalResult(PipelineBuilder &)>;
  using Build = function_ref<FailureOr<BuiltKernel>(OpBuilder &, StringRef name)>;

  FunctionConverter(func::FuncOp function, const CpuInfo &cpu, bool onGpu)
      : function(function), host(function), cpu(cpu), onGpu(onGpu), epilogues(function) {}

  LogicalResult convert(const Lowerings &lowerings);

  HostFunction &getHost() { return host; }
  const CpuInfo &getCpu() const { return cpu; }
  bool isOnGpu() const { return onGpu; }
  const Epilogues &getEpilogues() const { return epilogues; }

  /// Refuses what kernels can't compute, and calls whose sizes contradict the op's constraints.
  LogicalResult checkComputed(Operation *op);
  /// `op` by the pipeline that `lower` builds, called on the buffer of its one result.
  LogicalResult convertToPipeline(Operation *op, Lower lower);

  /// A pipeline built by `lower`, called on the buffers of its inputs, then those of its outputs;
  /// where there is a condition, only if it holds.
  LogicalResult callOn(ArrayRef<Value> destinations, Location loc, StringRef kind, Lower lower,
                       function_ref<Value()> condition = {});
  /// The same of any kernel.
  LogicalResult callKernel(ArrayRef<Value> destinations, Location loc, StringRef kind, Build build,
                           function_ref<Value()> condition);
  /// The same on the buffer of `result`.
  LogicalResult call(Location loc, StringRef kind, Value result, Lower lower,
                     function_ref<Value()> condition = {});
  LogicalResult copy(Location loc, Value tensor, Value to);
  /// The tensor's buffer, or a copy of it without gaps.
  FailureOr<Value> getCompact(Value tensor);
  /// Refuses calls where a pipeline counts what must not be, before anything reads it.
  LogicalResult requireNone(Location loc, StringRef kind, const Twine &message, Lower lowerCount);

private:
  LogicalResult convertOp(Operation &op, const Lowerings &lowerings);
  LogicalResult convertReturn(func::ReturnOp op);
  KernelOpInterface share(KernelOpInterface kernel);

  func::FuncOp function;
  HostFunction host;
  CpuInfo cpu;
  bool onGpu;
  Epilogues epilogues;
  /// By what they are printed as without their names.
  llvm::StringMap<KernelOpInterface> kernels;
  int64_t numKernels = 0;
};

/// How each kind of op is converted, whose file adds it. Elementwise ops of arith and math are
/// all converted alike and not among them.
class Lowerings {
public:
  /// All there are.
  static Lowerings collect();

  /// An op that one pipeline computes, whose algorithm and schedule `lower` builds.
  template <typename OpTy>
  void addPipeline(LogicalResult (*lower)(PipelineBuilder &, OpTy, const CpuInfo &)) {
    table.add<OpTy>([lower](OpTy op, FunctionConverter &converter) {
      return converter.convertToPipeline(
          op, [&](PipelineBuilder &p) { return lower(p, op, converter.getCpu()); });
    });
  }
  /// An op that takes several kernels, or conditions on them.
  template <typename OpTy>
  void addComputed(LogicalResult (*convert)(OpTy, FunctionConverter &)) {
    table.add<OpTy>([convert](OpTy op, FunctionConverter &converter) {
      return failure(failed(converter.checkComputed(op)) || failed(convert(op, converter)));
    });
  }
  /// An op that moves elements, or gives another view of them.
  template <typename OpTy>
  void addView(LogicalResult (*convert)(OpTy, FunctionConverter &)) {
    table.add<OpTy>(convert);
  }

  const OpTable<FunctionConverter &>::Function *find(Operation *op) const { return table.find(op); }

private:
  OpTable<FunctionConverter &> table;
};

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_FUNCTIONCONVERTER_H
