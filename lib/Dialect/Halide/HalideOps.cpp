//===- HalideOps.cpp - algorithm ops of the halide dialect
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Halide/Halide.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::halide;

LogicalResult halide::InputOp::verify() { return success(); }
LogicalResult halide::ExtentOp::verify() { return success(); }
LogicalResult halide::ExternOp::verify() { return success(); }
LogicalResult halide::OutputOp::verify() { return success(); }
LogicalResult halide::AtOp::verify() { return success(); }
LogicalResult halide::LoopsOp::verify() { return success(); }
LogicalResult halide::SplitOp::verify() { return success(); }
LogicalResult halide::FuseOp::verify() { return success(); }
LogicalResult halide::ReorderOp::verify() { return success(); }
LogicalResult halide::ComputeRootOp::verify() { return success(); }
LogicalResult halide::StoreRootOp::verify() { return success(); }
LogicalResult halide::ComputeAtOp::verify() { return success(); }
LogicalResult halide::StoreAtOp::verify() { return success(); }
LogicalResult halide::BoundExtentOp::verify() { return success(); }
LogicalResult halide::BoundStorageOp::verify() { return success(); }
LogicalResult halide::AlignBoundsOp::verify() { return success(); }
LogicalResult halide::AlignStorageOp::verify() { return success(); }
LogicalResult halide::ReorderStorageOp::verify() { return success(); }
LogicalResult halide::PipelineOp::verifyRegions() { return success(); }
LogicalResult halide::FuncOp::verifyRegions() { return success(); }
LogicalResult halide::UpdateOp::verifyRegions() { return success(); }
ParseResult halide::FuncOp::parse(OpAsmParser &, OperationState &) { return failure(); }
void halide::FuncOp::print(OpAsmPrinter &) {}
ParseResult halide::UpdateOp::parse(OpAsmParser &, OperationState &) { return failure(); }
void halide::UpdateOp::print(OpAsmPrinter &) {}
ParseResult halide::AtOp::parse(OpAsmParser &, OperationState &) { return failure(); }
void halide::AtOp::print(OpAsmPrinter &) {}
ParseResult halide::LoopsOp::parse(OpAsmParser &, OperationState &) { return failure(); }
void halide::LoopsOp::print(OpAsmPrinter &) {}
void halide::FuncOp::getAsmBlockArgumentNames(Region &, OpAsmSetValueNameFn) {}
void halide::UpdateOp::getAsmBlockArgumentNames(Region &, OpAsmSetValueNameFn) {}
LogicalResult halide::CallOp::verifySymbolUses(SymbolTableCollection &) { return success(); }

static ParseResult parseExtents(OpAsmParser &, DenseI64ArrayAttr &) { return failure(); }
static void printExtents(OpAsmPrinter &, Operation *, DenseI64ArrayAttr) {}

#define GET_OP_CLASSES
#include "attnc/Dialect/Halide/HalideOps.cpp.inc"
