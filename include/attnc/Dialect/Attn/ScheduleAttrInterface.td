//===- ScheduleAttrInterface.td - schedules of an op ------------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_SCHEDULEATTRINTERFACE_TD
#define ATTNC_DIALECT_ATTN_SCHEDULEATTRINTERFACE_TD

include "mlir/IR/OpBase.td"

def ScheduleAttrInterface : AttrInterface<"ScheduleAttrInterface"> {
  let cppNamespace = "::mlir::attn";
  let description = [{
    The schedule of one kernel of an op. The dialect that an attribute belongs to implements this
    interface; the conversion that builds its kernel implements the `KernelBuilderAttrInterface`.
  }];
  let methods = [
    InterfaceMethod<[{
      Returns the largest q_len that the kernel serves, or number of rows of a linear layer; 0 means
      no limit.
      }], "int64_t", "getMaxQLen", (ins), [{}], [{ return 0; }]>,
    InterfaceMethod<"Returns the name of what `getMaxQLen` limits.",
      "::llvm::StringRef", "getLimitName", (ins), [{}], [{ return "q_len"; }]>,
    InterfaceMethod<"Returns the kind of target that the kernel runs on.",
      "::mlir::attn::TargetKind", "getTargetKind", (ins), [{}],
      [{ return ::mlir::attn::TargetKind::cpu; }]>,
    InterfaceMethod<"Says by which instructions `target` multiplies; empty for products in f32.",
      "std::string", "describeProducts", (ins "::llvm::StringRef":$target), [{}],
      [{ return ""; }]>,
    InterfaceMethod<"Checks the parameters against `op`; errors are diagnostics at the op.",
      "::llvm::LogicalResult", "verifySchedule", (ins "::mlir::Operation *":$op), [{}],
      [{ return ::mlir::success(); }]>
  ];
}

def KernelBuilderAttrInterface : AttrInterface<"KernelBuilderAttrInterface"> {
  let cppNamespace = "::mlir::attn";
  let description = [{
    Builds the kernel that a schedule describes. A conversion attaches it as an external model.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the kernel of `op`, called `name`, at the builder's insertion point. It computes the result
      of the last of `epilogue`, elementwise ops of which each reads the result before.
      }], "::llvm::FailureOr<::mlir::attn::BuiltKernel>", "buildKernel",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::StringRef":$name, "::mlir::Operation *":$op,
           "::llvm::ArrayRef<::mlir::attn::MapOp>":$epilogue)>,
    InterfaceMethod<[{
      Returns the types of the partial results that the kernel writes in place of `op`'s results, for
      the kernel of `buildMerge` to merge; empty if there are none. Their first dimension is that of
      the splits, the next three are batch, num_q_heads and q_len, or `getMaxQLen` of an open one.
      }],
      "::llvm::SmallVector<::mlir::RankedTensorType>", "getPartialTypes",
      (ins "::mlir::Operation *":$op), [{}], [{ return {}; }]>,
    InterfaceMethod<"Builds the kernel that computes `op`'s results from `partials`.",
      "::llvm::FailureOr<::mlir::attn::BuiltKernel>", "buildMerge",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::StringRef":$name, "::mlir::Operation *":$op,
           "::llvm::ArrayRef<::mlir::Value>":$partials), [{}], [{ return ::mlir::failure(); }]>
  ];
}

#endif // ATTNC_DIALECT_ATTN_SCHEDULEATTRINTERFACE_TD
