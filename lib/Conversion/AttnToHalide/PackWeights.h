//===- PackWeights.h - lay constant weights out for kernels -----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_CONVERSION_ATTNTOHALIDE_PACKWEIGHTS_H
#define ATTNC_CONVERSION_ATTNTOHALIDE_PACKWEIGHTS_H

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// Packs the constant `weight` of shape [N, K] in panels of `columns` features, which a register
/// tile reads in order: a constant of shape [ceil(N / columns), K, columns], padded with zeros; in
/// pairs of bf16 or quads of i8, i32 of shape [ceil(N / columns), countGroups(K), columns]. Null if
/// `weight` isn't a constant.
Value packPanels(OpBuilder &builder, Value weight, int64_t columns, Products products);

/// Elements of a weight of type `element` that are multiplied at once: 1, a pair or a quad.
int64_t getGroupSize(Type element, Products products);
/// Groups of a panel's feature of `depth` in_features: whole tiles of 16 if products take tiles.
int64_t countGroups(int64_t depth, int64_t groupSize, Products products);

} // namespace mlir::attn

#endif // ATTNC_CONVERSION_ATTNTOHALIDE_PACKWEIGHTS_H
