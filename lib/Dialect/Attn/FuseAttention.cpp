//===- FuseAttention.cpp - fuse attention cores
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Passes.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNFUSEATTENTION
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;

namespace {
struct AttnFuseAttentionPass : mlir::attn::impl::AttnFuseAttentionBase<AttnFuseAttentionPass> {
  using Base::Base;
  void runOnOperation() override {}
};
} // namespace
