//===- Budget.h - limits on the work of an import ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small file can describe a huge graph: functions that call each other twice. Work is counted as
// ops are made; once there are too many, the node fails.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_LIB_IMPORT_ONNX_BUDGET_H
#define ATTNC_LIB_IMPORT_ONNX_BUDGET_H

#include "mlir/IR/Builders.h"

namespace mlir::attn::imports {

/// Counts the ops of all builders that it listens to.
class Budget : public OpBuilder::Listener {
public:
  /// The most operations that a model may become, and the most nodes that are read for it.
  static constexpr int64_t kMostOps = 1 << 19, kMostNodes = 1 << 17;

  void notifyOperationInserted(Operation *, OpBuilder::InsertPoint) override { ++numOps; }

  void addNodes(int64_t count) { numNodes += count; }
  bool hasTooManyOps() const { return numOps > kMostOps; }
  bool hasTooManyNodes() const { return numNodes > kMostNodes; }

  /// Whether nothing more should be made with the importer's builder `b`.
  static bool isSpent(const OpBuilder &b) {
    auto *budget = static_cast<const Budget *>(b.getListener());
    return budget && budget->hasTooManyOps();
  }

private:
  int64_t numOps = 0, numNodes = 0;
};

} // namespace mlir::attn::imports

#endif // ATTNC_LIB_IMPORT_ONNX_BUDGET_H
