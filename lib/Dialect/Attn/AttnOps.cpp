//===- AttnOps.cpp - the classes of the attn ops --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"

#include "MaskBody.h"
#include "ResultTypes.h"

using namespace mlir;
using namespace mlir::attn;

SmallVector<MaskOp> attn::findMasksBehind(Value score) {
  SmallVector<MaskOp> masks;
  while (Operation *op = score.getDefiningOp()) {
    if (auto mask = dyn_cast<MaskOp>(op))
      masks.push_back(mask);
    else if (!isa<ModifyScoreOp>(op))
      break;
    score = op->getOperand(0);
  }
  return masks;
}

#define GET_OP_CLASSES
#include "attnc/Dialect/Attn/AttnOps.cpp.inc"
