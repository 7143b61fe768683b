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

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

const std::string matmulAlgorithm = R"mlir(
halide.pipeline @matmul {
  %a = halide.input "a" [?, ?] : !halide.func<f32, 2>
  %b = halide.input "b" [?, ?] : !halide.func<f32, 2>
  %depth = halide.extent %a, 0 : !halide.func<f32, 2>
  %c0 = arith.constant 0 : i32
  %zero = arith.constant 0.0 : f32
  %acc = halide.func "acc" [%n, %m] : f32 {
    halide.yield %zero : f32
  }
  halide.update %acc[%n, %m] over [%k min %c0 extent %depth] : !halide.func<f32, 2> {
    %x = halide.at %a[%k, %m] : !halide.func<f32, 2>
    %y = halide.at %b[%n, %k] : !halide.func<f32, 2>
    %p = arith.mulf %x, %y : f32
    %old = halide.at %acc[%n, %m] : !halide.func<f32, 2>
    %new = arith.addf %old, %p : f32
    halide.yield %new : f32
  }
  %c = halide.func "c" [%n, %m] : f32 {
    %v = halide.at %acc[%n, %m] : !halide.func<f32, 2>
    halide.yield %v : f32
  }
  halide.output %c [?, ?] : !halide.func<f32, 2>
)mlir";

void expectMatmul(const std::string &schedule, const std::string &stmt = "") {
  Kernel kernel(matmulAlgorithm + schedule + "}\n");
  ASSERT_EQ(kernel.errors(), "");
  EXPECT_NE(kernel.stmt().find(stmt), std::string::npos) << kernel.stmt();
  const int rows = 24, columns = 64, depth = 19;
  Buffer<float> a = makeRamp({depth, rows}), b = makeRamp({columns, depth}), c(columns, rows);
  ASSERT_EQ(kernel({a, b, c}), 0);
  c.for_each_element([&](int n, int m) {
    float sum = 0;
    for (int k = 0; k < depth; ++k)
      sum += a(k, m) * b(n, k);
    ASSERT_EQ(c(n, m), sum);
  });
}

const std::string matmulTiles = R"mlir(
  %n, %m = halide.loops %c : !halide.func<f32, 2>
  %no, %ni = halide.split %n by 32 tail guard_with_if
  %mo, %mi = halide.split %m by 4 tail guard_with_if
  halide.reorder %ni, %mi, %no, %mo
  halide.parallel %mo
  halide.compute_at %acc, %no : !halide.func<f32, 2>
  halide.bound_extent %acc, 0 extent 32 : !halide.func<f32, 2>
  halide.bound_extent %acc, 1 extent 4 : !halide.func<f32, 2>
  halide.store_in %acc, stack : !halide.func<f32, 2>
  %un, %um, %uk = halide.loops %acc update 0 : !halide.func<f32, 2>
)mlir";

TEST(Schedule, Matmul) { expectMatmul(""); }

TEST(Schedule, MatmulTiled) {
  expectMatmul(matmulTiles + R"mlir(
  halide.reorder %un, %um, %uk
  %uno, %uni = halide.split %un by 16
  halide.vectorize %uni
  halide.unroll %um
)mlir",
               "x16");
}

// The very text a person edits: another vector width, the same function.
TEST(Schedule, MatmulTiledOtherwise) {
  expectMatmul(matmulTiles + R"mlir(
  halide.reorder %un, %um, %uk
  %uno, %uni = halide.split %un by 8
  halide.vectorize %uni
  halide.unroll %um
)mlir",
               "x8");
}

TEST(Schedule, Rfactor) {
  expectMatmul(R"mlir(
  halide.compute_root %acc : !halide.func<f32, 2>
  %un, %um, %uk = halide.loops %acc update 0 : !halide.func<f32, 2>
  %uko, %uki = halide.split %uk by 8
  %part = halide.rfactor %uki : !halide.func<f32, 3>
  halide.compute_root %part : !halide.func<f32, 3>
  %pn, %pm, %pu, %pko = halide.loops %part update 0 : !halide.func<f32, 3>
  halide.reorder %pu, %pko, %pn, %pm
  halide.vectorize %pu
  halide.bound_extent %part, 2 extent 8 : !halide.func<f32, 3>
  halide.reorder_storage %part [2, 0, 1] : !halide.func<f32, 3>
)mlir",
               "acc_intm");
}

TEST(Schedule, RfactorThenAtomicVectors) {
  expectMatmul(R"mlir(
  halide.compute_root %acc : !halide.func<f32, 2>
  halide.atomic %acc update 0 : !halide.func<f32, 2>
  %un, %um, %uk = halide.loops %acc update 0 : !halide.func<f32, 2>
  %uko, %uki = halide.split %uk by 8
  halide.reorder %uki, %uko, %un, %um
  halide.vectorize %uki
)mlir");
}

// out[x] = max over k <= x of in[k], and beside it a sum that shares the loops.
TEST(Schedule, WhereAndComputeWith) {
  Kernel kernel(R"mlir(
halide.pipeline @prefix {
  %in = halide.input "in" [?] : !halide.func<f32, 1>
  %n = halide.extent %in, 0 : !halide.func<f32, 1>
  %c0 = arith.constant 0 : i32
  %low = arith.constant -1.0e30 : f32
  %zero = arith.constant 0.0 : f32
  %mx = halide.func "mx" [%x] : f32 { halide.yield %low : f32 }
  halide.update %mx[%x] over [%k min %c0 extent %n] : !halide.func<f32, 1> {
    %v = halide.at %in[%k] : !halide.func<f32, 1>
    %old = halide.at %mx[%x] : !halide.func<f32, 1>
    %new = arith.maximumf %old, %v : f32
    %c = arith.cmpi sle, %k, %x : i32
    halide.yield %new at [%x] where %c : f32
  }
  %sum = halide.func "sum" [%x] : f32 { halide.yield %zero : f32 }
  halide.update %sum[%x] over [%k min %c0 extent %n] : !halide.func<f32, 1> {
    %v = halide.at %in[%k] : !halide.func<f32, 1>
    %old = halide.at %sum[%x] : !halide.func<f32, 1>
    %new = arith.addf %old, %v : f32
    %c = arith.cmpi sle, %k, %x : i32
    halide.yield %new at [%x] where %c : f32
  }
  %out = halide.func "out" [%x] : f32 {
    %a = halide.at %mx[%x] : !halide.func<f32, 1>
    %b = halide.at %sum[%x] : !halide.func<f32, 1>
    %v = arith.addf %a, %b : f32
    halide.yield %v : f32
  }
  halide.output %out [?] : !halide.func<f32, 1>
  %x = halide.loops %out : !halide.func<f32, 1>
  %xo, %xi = halide.split %x by 8 tail guard_with_if
  halide.compute_at %mx, %xo : !halide.func<f32, 1>
  halide.compute_at %sum, %xo : !halide.func<f32, 1>
  %mxx, %mxk = halide.loops %mx update 0 : !halide.func<f32, 1>
  halide.compute_with %sum update 0, %mxx : !halide.func<f32, 1>
}
)mlir");
  ASSERT_EQ(kernel.errors(), "");
  EXPECT_NE(kernel.stmt().find("fused"), std::string::npos) << kernel.stmt();
  Buffer<float> in = makeRamp({21}), out(21);
  ASSERT_EQ(kernel({in, out}), 0);
  float max = -1e30f, sum = 0;
  for (int x = 0; x < 21; ++x) {
    max = std::max(max, in(x)), sum += in(x);
    EXPECT_EQ(out(x), max + sum);
  }
}

// Scattered writes: a histogram, whose one coordinate is data.
TEST(Schedule, Histogram) {
  Kernel kernel(R"mlir(
halide.pipeline @histogram {
  %in = halide.input "in" [?] : !halide.func<i8, 1>
  %n = halide.extent %in, 0 : !halide.func<i8, 1>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c15 = arith.constant 15 : i32
  %h = halide.func "h" [%x] : i32 { halide.yield %c0 : i32 }
  halide.update %h[] over [%r min %c0 extent %n] : !halide.func<i32, 1> {
    %b = halide.at %in[%r] : !halide.func<i8, 1>
    %i = arith.extui %b : i8 to i32
    %j = arith.minsi %i, %c15 : i32
    %old = halide.at %h[%j] : !halide.func<i32, 1>
    %new = arith.addi %old, %c1 : i32
    halide.yield %new at [%j] : i32
  }
  halide.output %h [16] : !halide.func<i32, 1>
}
)mlir");
  ASSERT_EQ(kernel.errors(), "");
  Buffer<int8_t> in(100);
  Buffer<int> out(16);
  in.for_each_element([&](int i) { in(i) = i % 20; });
  ASSERT_EQ(kernel({in, out}), 0);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(out(i), i == 15 ? 25 : 5);
}

// A sum of everything: rank 0, i1 in, f64 out.
TEST(Schedule, RankZero) {
  Kernel kernel(R"mlir(
halide.pipeline @count {
  %in = halide.input "in" [?] : !halide.func<i1, 1>
  %n = halide.extent %in, 0 : !halide.func<i1, 1>
  %c0 = arith.constant 0 : i32
  %zero = arith.constant 0.0 : f64
  %s = halide.func "s" [] : f64 { halide.yield %zero : f64 }
  halide.update %s[] over [%r min %c0 extent %n] : !halide.func<f64, 0> {
    %b = halide.at %in[%r] : !halide.func<i1, 1>
    %v = arith.uitofp %b : i1 to f64
    %old = halide.at %s[] : !halide.func<f64, 0>
    %new = arith.addf %old, %v : f64
    halide.yield %new : f64
  }
  halide.output %s [] : !halide.func<f64, 0>
}
)mlir");
  ASSERT_EQ(kernel.errors(), "");
  Buffer<bool> in(30);
  in.for_each_element([&](int i) { in(i) = i % 3 == 0; });
  Buffer<double> out = Buffer<double>::make_scalar();
  ASSERT_EQ(kernel({in, out}), 0);
  EXPECT_EQ(out(), 10.0);
}

} // namespace
