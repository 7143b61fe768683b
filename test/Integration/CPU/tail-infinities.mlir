// Regions that test for infinities in the last vector of a row, which is loaded under a predicate.

// RUN: %python -c "import numpy as n; x = n.ones((2, 3)); x[0] = n.inf, 2, -n.inf; \
// RUN:   n.save('%t-f32.npy', x.astype('f4')); n.save('%t-f64.npy', x)"
// RUN: attnc verify %s --function narrow --input x=@%t-f32.npy | FileCheck %s
// RUN: attnc verify %s --function wide --input x=@%t-f64.npy | FileCheck %s
// RUN: attnc verify %s --function epilogue --input x=@%t-f32.npy | FileCheck %s
// CHECK: cases, all within the allowed error

func.func @narrow(%x: tensor<2x3xf32> {attn.name = "x"}) -> tensor<2x3xf32> {
  %y = attn.map %x {
  ^bb0(%e: f32):
    %one = arith.constant 1.0 : f32
    %isinf = math.isinf %e : f32
    %number = arith.select %isinf, %one, %e : f32
    attn.yield %number : f32
  } : tensor<2x3xf32> -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

func.func @wide(%x: tensor<2x3xf64> {attn.name = "x"}) -> tensor<2x3xf64> {
  %y = attn.map %x {
  ^bb0(%e: f64):
    %one = arith.constant 1.0 : f64
    %isinf = math.isinf %e : f64
    %number = arith.select %isinf, %one, %e : f64
    attn.yield %number : f64
  } : tensor<2x3xf64> -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @epilogue(%x: tensor<2x3xf32> {attn.name = "x"}, %w: tensor<5x3xf32>) -> tensor<2x5xf32> {
  %l = attn.linear %x, %w : tensor<2x3xf32>, tensor<5x3xf32> -> tensor<2x5xf32>
  %y = attn.map %l {
  ^bb0(%e: f32):
    %zero = arith.constant 0.0 : f32
    %isinf = math.isinf %e : f32
    %number = arith.select %isinf, %zero, %e : f32
    attn.yield %number : f32
  } : tensor<2x5xf32> -> tensor<2x5xf32>
  return %y : tensor<2x5xf32>
}
