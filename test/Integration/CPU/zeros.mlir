// What looks like 0 or 1 but is NaN for NaN and infinities, and what a constant zero divides.

// RUN: attnc verify %s --function same | FileCheck %s
// RUN: attnc verify %s --function factor | FileCheck %s
// RUN: attnc verify %s --function scale | FileCheck %s
// RUN: attnc verify %s --function unfused | FileCheck %s
// RUN: attnc verify %s --function single | FileCheck %s
// CHECK: cases, all within the allowed error

func.func @same(%x: tensor<9xf32>) -> (tensor<9xf32>, tensor<9xf32>) {
  %difference = arith.subf %x, %x : tensor<9xf32>
  %quotient = arith.divf %x, %x : tensor<9xf32>
  return %difference, %quotient : tensor<9xf32>, tensor<9xf32>
}

func.func @factor(%x: tensor<9xf32>) -> (tensor<9xf32>, tensor<9xf32>) {
  %product = attn.map %x {
  ^bb0(%e: f32):
    %zero = arith.constant -0.0 : f32
    %p = arith.mulf %zero, %e : f32
    %one = arith.constant 1.0 : f32
    %signed = math.copysign %one, %p : f32
    %sum = arith.addf %p, %signed : f32
    attn.yield %sum : f32
  } : tensor<9xf32> -> tensor<9xf32>
  %quotient = attn.map %x {
  ^bb0(%e: f32):
    %zero = arith.constant -0.0 : f32
    %q = arith.divf %e, %zero : f32
    attn.yield %q : f32
  } : tensor<9xf32> -> tensor<9xf32>
  return %product, %quotient : tensor<9xf32>, tensor<9xf32>
}

func.func @scale(%query: tensor<1x2x5x16xf32>, %key: tensor<1x2x1x16xf32>) -> tensor<1x2x5x16xf32> {
  %score = attn.score %query, %key scale(0.0) : tensor<1x2x5x16xf32>, tensor<1x2x1x16xf32> -> tensor<1x2x5x1xf32>
  %prob = attn.softmax %score : tensor<1x2x5x1xf32>
  %context = attn.context %prob, %key : tensor<1x2x5x1xf32>, tensor<1x2x1x16xf32> -> tensor<1x2x5x16xf32>
  return %context : tensor<1x2x5x16xf32>
}

func.func @unfused(%query: tensor<1x2x5x16xf32>, %key: tensor<1x2x7x16xf32>) -> tensor<1x2x5x7xf32> {
  %score = attn.score %query, %key scale(0.0) : tensor<1x2x5x16xf32>, tensor<1x2x7x16xf32> -> tensor<1x2x5x7xf32>
  return %score : tensor<1x2x5x7xf32>
}

func.func @single(%x: tensor<5x1xf32>) -> tensor<5x1xf32> {
  %y = attn.layer_norm %x epsilon(1.0e-3) : tensor<5x1xf32>
  return %y : tensor<5x1xf32>
}
