// Unsigned quotients: as places in a tensor, and of negative numbers.

// RUN: attnc verify %s --function places | FileCheck %s
// RUN: attnc verify %s --function negative | FileCheck %s
// CHECK: cases, all within the allowed error

func.func @places(%query: tensor<1x4x9x8xf32>, %key: tensor<1x4x11x8xf32>, %bias: tensor<6x6xf32>)
    -> tensor<1x4x9x8xf32> {
  %score = attn.score %query, %key
      : tensor<1x4x9x8xf32>, tensor<1x4x11x8xf32> -> tensor<1x4x9x11xf32>
  %biased = attn.modify_score %score {
  ^bb0(%s: f32, %b: index, %h: index, %q: index, %k: index):
    %two = arith.constant 2 : index
    %row = arith.divui %q, %two : index
    %column = arith.divui %k, %two : index
    %x = tensor.extract %bias[%row, %column] : tensor<6x6xf32>
    %r = arith.addf %s, %x : f32
    attn.yield %r : f32
  } : tensor<1x4x9x11xf32>
  %prob = attn.softmax %biased : tensor<1x4x9x11xf32>
  %context = attn.context %prob, %key
      : tensor<1x4x9x11xf32>, tensor<1x4x11x8xf32> -> tensor<1x4x9x8xf32>
  return %context : tensor<1x4x9x8xf32>
}

func.func @negative(%x: tensor<40xf64>) -> tensor<40xf64> {
  %sums = tensor.generate {
  ^bb0(%i: index):
    %c20 = arith.constant 20 : index
    %below = arith.subi %i, %c20 : index
    %number = arith.index_cast %below : index to i32
    %three = arith.constant 3 : i32
    %seven = arith.constant 7 : i32
    %third = arith.divui %number, %three : i32
    %seventh = arith.divui %number, %seven : i32
    %both = arith.subi %third, %seventh : i32
    %float = arith.sitofp %both : i32 to f64
    %e = tensor.extract %x[%i] : tensor<40xf64>
    %sum = arith.addf %e, %float : f64
    tensor.yield %sum : f64
  } : tensor<40xf64>
  return %sums : tensor<40xf64>
}
