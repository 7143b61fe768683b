//===- ScheduleTest.cpp - schedules change speed, not results
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "gtest/gtest.h"

#include <functional>

using attnc::test::Kernel;
using Halide::Runtime::Buffer;

namespace {

Buffer<float> makeRamp(std::vector<int> sizes) {
  Buffer<float> buffer(sizes);
  float next = 0;
  buffer.for_each_value([&](float &v) { v = float(int(next += 7) % 23) - 11; });
  return buffer;
}

//===----------------------------------------------------------------------===//
// Two stages
//===----------------------------------------------------------------------===//

const std::string blurAlgorithm = R"mlir(
halide.pipeline @blur {
  %in = halide.input "in" [?, ?] : !halide.func<f32, 2>
  %w = halide.extent %in, 0 : !halide.func<f32, 2>
  %h = halide.extent %in, 1 : !halide.func<f32, 2>
  %c1 = arith.constant 1 : i32
  %lastX = arith.subi %w, %c1 : i32
  %lastY = arith.subi %h, %c1 : i32
  %bx = halide.func "bx" [%x, %y] : f32 {
    %x1 = arith.addi %x, %c1 : i32
    %next = arith.minsi %x1, %lastX : i32
    %row = arith.minsi %y, %lastY : i32
    %here = arith.minsi %x, %lastX : i32
    %a = halide.at %in[%here, %row] : !halide.func<f32, 2>
    %b = halide.at %in[%next, %row] : !halide.func<f32, 2>
    %v = arith.addf %a, %b : f32
    halide.yield %v : f32
  }
  %by = halide.func "by" [%x, %y] : f32 {
    %y1 = arith.addi %y, %c1 : i32
    %a = halide.at %bx[%x, %y] : !halide.func<f32, 2>
    %b = halide.at %bx[%x, %y1] : !halide.func<f32, 2>
    %v = arith.addf %a, %b : f32
    halide.yield %v : f32
  }
  halide.output %by [?, ?] : !halide.func<f32, 2>
)mlir";

void expectBlur(const std::string &schedule) {
  Kernel kernel(blurAlgorithm + schedule + "}\n");
  ASSERT_EQ(kernel.errors(), "");
  Buffer<float> in = makeRamp({37, 29}), out(37, 29);
  ASSERT_EQ(kernel({in, out}), 0);
  auto row = [&](int x, int y) {
    y = std::min(y, 28);
    return in(x, y) + in(std::min(x + 1, 36), y);
  };
  out.for_each_element([&](int x, int y) { ASSERT_EQ(out(x, y), row(x, y) + row(x, y + 1)); });
}

TEST(Schedule, Default) { expectBlur(""); }

TEST(Schedule, SplitVectorizeParallelComputeAt) {
  expectBlur(R"mlir(
  %x, %y = halide.loops %by : !halide.func<f32, 2>
  %xo, %xi = halide.split %x by 16 tail guard_with_if
  %yo, %yi = halide.split %y by 4 tail guard_with_if
  halide.reorder %xi, %yi, %xo, %yo
  halide.vectorize %xi
  halide.unroll %yi
  halide.parallel %yo
  %bx_x, %bx_y = halide.loops %bx : !halide.func<f32, 2>
  halide.compute_at %bx, %xo : !halide.func<f32, 2>
  halide.store_in %bx, stack : !halide.func<f32, 2>
  halide.bound_extent %bx, 0 extent 16 : !halide.func<f32, 2>
  halide.bound_storage %bx, 1 extent 5 : !halide.func<f32, 2>
  halide.vectorize %bx_x
)mlir");
}

// Both stages get loops xo and xi; each handle is its own stage's.
TEST(Schedule, FuseAndStoreAt) {
  expectBlur(R"mlir(
  %x, %y = halide.loops %by : !halide.func<f32, 2>
  %xo, %xi = halide.split %x by 8 tail guard_with_if
  %f = halide.fuse %xo, %y
  halide.parallel %f
  halide.compute_root %bx : !halide.func<f32, 2>
  halide.align_storage %bx, 0 to 16 : !halide.func<f32, 2>
  halide.reorder_storage %bx [1, 0] : !halide.func<f32, 2>
  %bx_x, %bx_y = halide.loops %bx : !halide.func<f32, 2>
  %o, %i = halide.split %bx_x by 8 tail round_up
  halide.vectorize %i
  halide.prefetch %in, %bx_y offset 2 : !halide.func<f32, 2>
)mlir");
}

TEST(Schedule, Specialize) {
  expectBlur(R"mlir(
  %c16 = arith.constant 16 : i32
  %wide = arith.cmpi sge, %w, %c16 : i32
  %sx, %sy = halide.specialize %by when %wide : !halide.func<f32, 2>
  %so, %si = halide.split %sx by 16 tail shift_inwards
  halide.vectorize %si
)mlir");
}

} // namespace
