//===- KernelBuilder.h - builds a cuda.kernel -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTONVVM_KERNELBUILDER_H
#define ATTNC_CONVERSION_ATTNTONVVM_KERNELBUILDER_H

#include "Register.h"

#include "attnc/Dialect/Attn/ScheduleAttrInterface.h"
#include "attnc/Dialect/Cuda/Cuda.h"

namespace mlir::attn::nvvm {

/// A buffer of the kernel in global memory. Sizes and strides are i32, outermost first.
struct Buffer {
  Reg address;
  Regs sizes, strides;
  Type element;

  /// The address of an element; `indices` may be fewer than dimensions.
  Reg at(ArrayRef<Reg> indices) const;
  /// The product of all sizes but the last.
  Reg countRows() const;
  /// The indices of all dimensions but the last of a row, counted over all of them.
  Regs splitRow(Reg row) const;
};

/// Builds the code of a thread at its insertion point.
class KernelBuilder {
public:
  KernelBuilder(OpBuilder &builder, Location loc, StringRef name);

  /// The numbers of the thread in its block and of the block.
  Reg thread, block;

  ImplicitLocOpBuilder &b() { return builder; }
  Reg i32(int64_t number) { return Reg::constant(builder, builder.getI32Type(), number); }
  Reg f32(double number) { return Reg::real(builder, number); }
  Reg minusInf();

  /// The buffer of a tensor that the kernel reads; a tensor has one.
  Buffer input(StringRef name, Value tensor);
  Buffer output(StringRef name, RankedTensorType type);
  int64_t countInputs() const { return inputTypes.size(); }
  /// The number of an input among the kernel's buffers.
  int64_t numberOf(Value input) { return std::distance(inputs.begin(), inputs.find(input)); }
  /// The address of the tensor map of an input, which describes it to copies of boxes (TMA) of so
  /// many elements in each dimension, outermost first.
  Reg tensorMap(Value input, ArrayRef<int64_t> box);

  Reg load(Reg address, Type type);
  /// An element of a buffer of integers as i32, within [low, high].
  Reg loadWithin(const Buffer &buffer, ArrayRef<Reg> indices, Reg low, Reg high);
  /// An element of a tensor, whose bools are bytes in memory.
  Reg loadElement(const Buffer &buffer, ArrayRef<Reg> indices, Type element);
  void store(Reg value, Reg address);
  /// Stores the first `count` of two elements of 16 bits, in one store if `address` is a multiple
  /// of 4.
  void storePair(Reg pair, Reg address, Reg count);

  // Control flow, uniform where the body has barriers or meetings of a warp.

  /// Returns what `body` makes of `values` for each i of [low, high) in steps.
  Regs loop(Reg low, Reg high, int64_t step, ArrayRef<Reg> values,
            function_ref<Regs(Reg, ArrayRef<Reg>)> body);
  Regs choose(Reg condition, function_ref<Regs()> yes, function_ref<Regs()> no);
  void when(Reg condition, function_ref<void()> body);

  /// Ends the kernel. Inputs are numbered before outputs, in the order of their first use.
  BuiltKernel finish(ArrayRef<cuda::KernelOp::Blocks> blocks, int64_t threads, int64_t sharedBytes);

private:
  Buffer add(unsigned at, MemRefType type);

  ImplicitLocOpBuilder builder;
  cuda::KernelOp kernel;
  Block *body;
  llvm::MapVector<Value, Buffer> inputs;
  SmallVector<StringRef> inputNames, outputNames;
  SmallVector<MemRefType> inputTypes, outputTypes;
  SmallVector<Attribute> maps;
  llvm::BumpPtrAllocator names;
};

} // namespace mlir::attn::nvvm

#endif // ATTNC_CONVERSION_ATTNTONVVM_KERNELBUILDER_H
