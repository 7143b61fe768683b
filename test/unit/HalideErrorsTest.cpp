//===- HalideErrorsTest.cpp - what Halide refuses, at the op it is about
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors read "line: message". The texts below begin in line 1 with the pipeline.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "gtest/gtest.h"

using attnc::test::Kernel;

namespace {

/// Expects one error, in `line`, that holds `text`.
void expectError(const std::string &ir, int line, const std::string &text,
                 const std::string &target = "host") {
  std::string errors = Kernel(ir, target).errors();
  EXPECT_EQ(errors.substr(0, errors.find(':')), std::to_string(line)) << errors;
  EXPECT_NE(errors.find(text), std::string::npos) << errors;
}

const std::string producer = R"mlir(halide.pipeline @p {
  %in = halide.input "in" [?] : !halide.func<f32, 1>
  %f = halide.func "f" [%x] : f32 {
    %v = halide.at %in[%x] : !halide.func<f32, 1>
    halide.yield %v : f32
  }
  %g = halide.func "g" [%x] : f32 {
    %v = halide.at %f[%x] : !halide.func<f32, 1>
    halide.yield %v : f32
  }
  %h = halide.func "h" [%x] : f32 {
    %v = halide.at %f[%x] : !halide.func<f32, 1>
    %w = halide.at %g[%x] : !halide.func<f32, 1>
    %r = arith.addf %v, %w : f32
    halide.yield %r : f32
  }
  halide.output %h [?] : !halide.func<f32, 1>
  halide.compute_root %g : !halide.func<f32, 1>
)mlir";

// h reads f too, outside the loops of g.
TEST(HalideErrors, ComputeAtWhereNotAllUsesAre) {
  expectError(producer + R"mlir(  %gx = halide.loops %g : !halide.func<f32, 1>
  halide.compute_at %f, %gx : !halide.func<f32, 1>
}
)mlir",
              20, "Func \"f\"");
}

TEST(HalideErrors, VectorizeUnboundedLoop) {
  expectError(producer + R"mlir(  %gx = halide.loops %g : !halide.func<f32, 1>
  halide.vectorize %gx
}
)mlir",
              7, "g");
}

TEST(HalideErrors, AtomicWithoutAssociativity) {
  expectError(R"mlir(halide.pipeline @p {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %one = arith.constant 1.0 : f32
  %f = halide.func "f" [%x] : f32 {
    halide.yield %one : f32
  }
  halide.update %f[%x] over [%r min %c0 extent %c8] : !halide.func<f32, 1> {
    %old = halide.at %f[%x] : !halide.func<f32, 1>
    %v = arith.divf %one, %old : f32
    halide.yield %v : f32
  }
  halide.output %f [?] : !halide.func<f32, 1>
  %x, %r = halide.loops %f update 0 : !halide.func<f32, 1>
  %p = halide.rfactor %r : !halide.func<f32, 2>
}
)mlir",
              15, "associativity");
}

// Halide only warns of a pipeline that can never run.
TEST(HalideErrors, GuaranteedToFail) {
  expectError(producer + R"mlir(  halide.compute_root %f : !halide.func<f32, 1>
  halide.bound_extent %h, 0 extent 9 : !halide.func<f32, 1>
  halide.bound_extent %f, 0 extent 8 : !halide.func<f32, 1>
}
)mlir",
              3, "guaranteed to fail");
}

// The C function has no loops that a schedule could change.
TEST(HalideErrors, LoopsOfAnExtern) {
  expectError(R"mlir(halide.pipeline @p {
  %in = halide.input "in" [?] : !halide.func<f32, 1>
  %e = halide.extern "ext" @c_ext(%in) ["x"] : (!halide.func<f32, 1>) -> !halide.func<f32, 1>
  halide.output %e [?] : !halide.func<f32, 1>
  %x = halide.loops %e : !halide.func<f32, 1>
  halide.vectorize %x
}
)mlir",
              5, "expected a func with a definition");
}

TEST(HalideErrors, UnknownTarget) {
  expectError(producer + "}\n", 1,
              "expected a target such as 'host' or 'x86-64-linux-avx2', found 'pdp-11'", "pdp-11");
}

TEST(HalideErrors, BareAvx512) {
  expectError(producer + "}\n", 1,
              "expected AVX-512 of a CPU, such as 'avx512_skylake', found 'x86-64-linux-avx512'",
              "x86-64-linux-avx512");
}

TEST(HalideErrors, OpWithoutHalideForm) {
  expectError(R"mlir(halide.pipeline @p {
  %g = halide.func "g" [%x] : i64 {
    %c = arith.constant 1 : i64
    %l, %h = arith.mulsi_extended %c, %c : i64
    halide.yield %h : i64
  }
  halide.output %g [?] : !halide.func<i64, 1>
}
)mlir",
              4, "expected an op that Halide can express, found 'arith.mulsi_extended'");
}

} // namespace
