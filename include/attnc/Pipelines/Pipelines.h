//===- Pipelines.h - the compiler's pass pipelines
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_PIPELINES_PIPELINES_H
#define ATTNC_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir {
class DialectRegistry;

namespace attn {

struct AttnPipelineOptions : PassPipelineOptions<AttnPipelineOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("Halide target to schedule for"),
                             llvm::cl::init("host")};
  Option<std::string> schedules{
      *this, "schedules", llvm::cl::desc("file of attnc tune with measured schedules; empty: none"),
      llvm::cl::init("")};
  Option<std::string> cluster{*this, "cluster", llvm::cl::desc("ranks and links: see attn-shard"),
                              llvm::cl::init("")};
  Option<bool> remarks{*this, "remarks", llvm::cl::desc("say at each softmax whether it fused"),
                       llvm::cl::init(false)};
};

/// Inlines calls, drops private functions that are then unused, and raises matmuls to attention
/// ops.
void buildGraphPipeline(OpPassManager &pm);

/// From an attn graph to a fused one with schedules chosen.
void buildFusionPipeline(OpPassManager &pm, const AttnPipelineOptions &options);

/// From a fused graph to scheduled halide pipelines and a host function.
void buildSchedulePipeline(OpPassManager &pm, const AttnPipelineOptions &options);

/// Both: from an attn graph to scheduled halide pipelines and a host function.
void buildAttnPipeline(OpPassManager &pm, const AttnPipelineOptions &options);

/// Every dialect a spec may use at any stage.
void registerAllDialects(DialectRegistry &registry);

/// Our passes and pipelines, and the upstream ones that help to inspect.
void registerAllPasses();

} // namespace attn
} // namespace mlir

#endif // ATTNC_PIPELINES_PIPELINES_H
