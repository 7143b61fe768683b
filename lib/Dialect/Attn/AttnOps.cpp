//===- AttnOps.cpp - verifiers, sizes and folds of the attn ops
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult ScoreOp::verify() { return success(); }
LogicalResult SoftmaxOp::verify() { return success(); }
LogicalResult ContextOp::verify() { return success(); }
LogicalResult AttentionOp::verify() { return success(); }
LogicalResult LinearOp::verify() { return success(); }
LogicalResult SplitHeadsOp::verify() { return success(); }
LogicalResult MergeHeadsOp::verify() { return success(); }
LogicalResult ModifyScoreOp::verifyRegions() { return success(); }
LogicalResult MaskOp::verifyRegions() { return success(); }
LogicalResult ModifyProbOp::verifyRegions() { return success(); }
LogicalResult AttentionOp::verifyRegions() { return success(); }
void ModifyScoreOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
void MaskOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
void ModifyProbOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
void ModifyScoreOp::getAsmBlockArgumentNames(Region &, OpAsmSetValueNameFn) {}
void MaskOp::getAsmBlockArgumentNames(Region &, OpAsmSetValueNameFn) {}
void ModifyProbOp::getAsmBlockArgumentNames(Region &, OpAsmSetValueNameFn) {}
void AttentionOp::getAsmBlockArgumentNames(Region &, OpAsmSetValueNameFn) {}
LogicalResult ScoreOp::reifyResultShapes(OpBuilder &, ReifiedRankedShapedTypeDims &) { return failure(); }
LogicalResult ModifyScoreOp::reifyResultShapes(OpBuilder &, ReifiedRankedShapedTypeDims &) { return failure(); }
LogicalResult MaskOp::reifyResultShapes(OpBuilder &, ReifiedRankedShapedTypeDims &) { return failure(); }
LogicalResult SoftmaxOp::reifyResultShapes(OpBuilder &, ReifiedRankedShapedTypeDims &) { return failure(); }
LogicalResult ModifyProbOp::reifyResultShapes(OpBuilder &, ReifiedRankedShapedTypeDims &) { return failure(); }
LogicalResult ContextOp::reifyResultShapes(OpBuilder &, ReifiedRankedShapedTypeDims &) { return failure(); }
LogicalResult AttentionOp::reifyResultShapes(OpBuilder &, ReifiedRankedShapedTypeDims &) { return failure(); }
LogicalResult LinearOp::reifyResultShapes(OpBuilder &, ReifiedRankedShapedTypeDims &) { return failure(); }
LogicalResult SplitHeadsOp::reifyResultShapes(OpBuilder &, ReifiedRankedShapedTypeDims &) { return failure(); }
LogicalResult MergeHeadsOp::reifyResultShapes(OpBuilder &, ReifiedRankedShapedTypeDims &) { return failure(); }
OpFoldResult SplitHeadsOp::fold(FoldAdaptor) { return {}; }
OpFoldResult MergeHeadsOp::fold(FoldAdaptor) { return {}; }

static ParseResult parseMaskBody(OpAsmParser &parser, Region &body, OpAsmParser::UnresolvedOperand &) {
  return parser.parseRegion(body);
}
static void printMaskBody(OpAsmPrinter &p, Operation *, Region &body, Value) { p.printRegion(body); }

#define GET_OP_CLASSES
#include "attnc/Dialect/Attn/AttnOps.cpp.inc"
