// Reads at indices that Halide's simplifier knows more about than its bounds inference: it moves or
// removes their clamps.

// RUN: attnc verify %s --function bits | FileCheck %s
// RUN: attnc verify %s --function positions | FileCheck %s
// RUN: attnc compile %s --function bits --target host-opencl -o %t
// CHECK: cases, all within the allowed error

!q = tensor<1x3x19x20xf32>
!k = tensor<1x3x5x20xf32>
func.func @bits(%query: !q, %key: !k, %value: !k, %table: tensor<17xf32>) -> !q {
  %context = attn.attention %query, %key, %value score_mod {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c16 = arith.constant 16 : index
    %left = arith.subi %c3, %h : index
    %some = arith.maxsi %left, %c0 : index
    %bit = arith.andi %some, %c2 : index
    %rest = arith.xori %some, %c2 : index
    %x = arith.subi %c2, %bit : index
    %y = arith.addi %x, %rest : index
    %low = arith.maxsi %y, %c0 : index
    %at = arith.minsi %low, %c16 : index
    %bias = tensor.extract %table[%at] : tensor<17xf32>
    %r = arith.addf %s, %bias : f32
    attn.yield %r : f32
  } : !q, !k, !k -> !q
  return %context : !q
}

func.func @positions(%query: !q, %key: !k, %value: !k, %n: tensor<19xi64>, %table: tensor<17xf32>) -> !q {
  %context = attn.attention %query, %key, %value score_mod {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %c0 = arith.constant 0 : index
    %c11 = arith.constant 11 : index
    %c16 = arith.constant 16 : index
    %wide = tensor.extract %n[%i] : tensor<19xi64>
    %position = arith.index_cast %wide : i64 to index
    %behind = arith.subi %position, %h : index
    %moved = arith.addi %behind, %c11 : index
    %low = arith.maxsi %moved, %c0 : index
    %at = arith.minsi %low, %c16 : index
    %bias = tensor.extract %table[%at] : tensor<17xf32>
    %r = arith.addf %s, %bias : f32
    attn.yield %r : f32
  } : !q, !k, !k -> !q
  return %context : !q
}
