//===- ScheduleAttrInterface.h - schedules of an op -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_ATTN_SCHEDULEATTRINTERFACE_H
#define ATTNC_DIALECT_ATTN_SCHEDULEATTRINTERFACE_H

#include "attnc/Interfaces/KernelOpInterface.h"

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Builders.h"

namespace mlir::attn {

class MapOp;

enum class TargetKind { cpu, gpu };

/// A kernel and the tensors that it reads: its first parameters, in order, followed by the op's
/// results.
struct BuiltKernel {
  KernelOpInterface kernel;
  SmallVector<Value> inputs;
  /// A kernel of the same buffers that `kernel` calls for some layouts, by its attribute `fallback`.
  KernelOpInterface fallback = {};
};

} // namespace mlir::attn

#include "attnc/Dialect/Attn/ScheduleAttrInterface.h.inc"

#endif // ATTNC_DIALECT_ATTN_SCHEDULEATTRINTERFACE_H
