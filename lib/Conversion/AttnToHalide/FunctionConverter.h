//===- FunctionConverter.h - convert ops to kernel calls --------*- C++ -*-===//
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

/// Converts the ops of one function, in order, by their lowerings. Each tensor gets a buffer: an
/// argument, a result's argument, a view of another buffer or a temporary. Each op that computes
/// becomes kernels and calls of them.
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

  /// Converts the ops of a block but for its terminator.
  LogicalResult convertBlock(Block &block);
  /// Refuses ops that kernels can't compute, and emits checks of the op's size constraints.
  LogicalResult checkComputed(Operation *op);
  /// Converts `op`, with one result, to a call of the pipeline that `lower` builds.
  LogicalResult convertToPipeline(Operation *op, Lower lower);

  /// Calls the pipeline that `lower` builds on the buffers of its inputs, then of its outputs; with
  /// a condition, only if it holds.
  LogicalResult callOn(ArrayRef<Value> destinations, Location loc, StringRef kind, Lower lower,
                       function_ref<Value()> condition = {});
  /// The same for any kernel.
  LogicalResult callKernel(ArrayRef<Value> destinations, Location loc, StringRef kind, Build build,
                           function_ref<Value()> condition);
  /// The same, writing to the buffer of `result`.
  LogicalResult call(Location loc, StringRef kind, Value result, Lower lower,
                     function_ref<Value()> condition = {});
  LogicalResult copy(Location loc, Value tensor, Value to, function_ref<Value()> condition = {});
  /// Copies a tensor to the buffer of `result`, unless a caller passes one buffer for both.
  LogicalResult copyUnlessInPlace(Location loc, Value tensor, Value result);
  /// The tensor's buffer, or a compact copy.
  FailureOr<Value> getCompact(Value tensor);
  /// Emits a check by a pipeline that finds the first wrong element of `tensor`, by
  /// `lowerFirstWrong`, before anything else reads it; `{}` of the message are its indices.
  LogicalResult requireNoneWrong(Location loc, StringRef kind, Value tensor, const Twine &message,
                                 Lower lower);

private:
  LogicalResult convertOp(Operation &op);
  LogicalResult convertReturn(func::ReturnOp op);
  KernelOpInterface share(KernelOpInterface kernel);
  void shareFallback(const BuiltKernel &built, StringRef kind);

  func::FuncOp function;
  HostFunction host;
  CpuInfo cpu;
  bool onGpu;
  Epilogues epilogues;
  const Lowerings *lowerings = nullptr;
  /// Kernels by their printed form without the name.
  llvm::StringMap<KernelOpInterface> kernels;
  int64_t numKernels = 0;
};

/// The lowering of each kind of op, registered by the op's file. Elementwise arith and math ops
/// share one and are not listed.
class Lowerings {
public:
  /// All lowerings.
  static Lowerings collect();

  /// Adds an op computed by one pipeline; `lower` builds its algorithm and schedule.
  template <typename OpTy>
  void addPipeline(LogicalResult (*lower)(PipelineBuilder &, OpTy, const CpuInfo &)) {
    table.add<OpTy>([lower](OpTy op, FunctionConverter &converter) {
      return converter.convertToPipeline(
          op, [&](PipelineBuilder &p) { return lower(p, op, converter.getCpu()); });
    });
  }
  /// Adds an op that takes several kernels or conditional calls.
  template <typename OpTy>
  void addComputed(LogicalResult (*convert)(OpTy, FunctionConverter &)) {
    table.add<OpTy>([convert](OpTy op, FunctionConverter &converter) {
      return failure(failed(converter.checkComputed(op)) || failed(convert(op, converter)));
    });
  }
  /// Adds an op that is a view or a copy.
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
