//===- Passes.td - passes on the halide dialect -----------------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_DIALECT_HALIDE_PASSES_TD
#define ATTNC_DIALECT_HALIDE_PASSES_TD

include "mlir/Pass/PassBase.td"

def HalideMapToGpu : Pass<"halide-map-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Schedule pipelines and funcs without a GPU schedule on a GPU";
  let description = [{
    Replaces the schedule of every pipeline without a GPU loop. Funcs with updates, outputs and
    funcs at compute_root are stored, all others are inlined into their consumers. The two innermost
    pure loops of each stored stage are split into threads, the rest is one loop over blocks;
    reduction loops run inside a thread, and a stage without a pure loop runs as one thread.
    In a pipeline with GPU loops, the schedules of those funcs at compute_root that have none are
    replaced.

    ```mlir
    // before
    halide.compute_root %sum : !halide.func<f32, 2>
    // after
    halide.compute_root %sum : !halide.func<f32, 2>
    %x, %y = halide.loops %sum : !halide.func<f32, 2>
    %xo, %xi = halide.split %x by 32 tail guard_with_if
    %yo, %yi = halide.split %y by 8 tail guard_with_if
    halide.reorder %xi, %yi, %xo, %yo
    %xo_yo = halide.fuse %xo, %yo
    halide.gpu_block %xo_yo
    halide.gpu_thread %xi
    halide.gpu_thread %yi
    ```
  }];
}

#endif // ATTNC_DIALECT_HALIDE_PASSES_TD
