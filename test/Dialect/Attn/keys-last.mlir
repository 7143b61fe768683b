// A bias read with its heads side by side is transposed, once for all layers. A single row reads it
// as it is, and so do regions that read other places than their own.
// RUN: attn-opt %s --attn-fuse-attention --split-input-file | FileCheck %s

// CHECK-LABEL: @layers
// CHECK: %[[BIAS:.*]] = attn.transpose %arg1 [0, 2, 1] : tensor<?x?x8xf32> -> tensor<?x8x?xf32>
// CHECK-NOT: attn.transpose
// CHECK: attn.attention
// CHECK: tensor.extract %[[BIAS]][%q, %head, %k] {attn.same_size}
// CHECK: attn.attention
// CHECK: tensor.extract %[[BIAS]][%q, %head, %k]
func.func @layers(%x: tensor<1x8x?x64xf32>, %bias: tensor<?x?x8xf32>) -> tensor<1x8x?x64xf32> {
  %s = attn.score %x, %x : tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>
  %b = attn.modify_score %s {
  ^bb0(%e: f32, %batch: index, %head: index, %q: index, %k: index):
    %a = tensor.extract %bias[%q, %k, %head] {attn.same_size} : tensor<?x?x8xf32>
    %r = arith.addf %e, %a : f32
    attn.yield %r : f32
  } : tensor<1x8x?x?xf32>
  %p = attn.softmax %b : tensor<1x8x?x?xf32>
  %c = attn.context %p, %x : tensor<1x8x?x?xf32>, tensor<1x8x?x64xf32>
  %s2 = attn.score %c, %c : tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>
  %b2 = attn.modify_score %s2 {
  ^bb0(%e: f32, %batch: index, %head: index, %q: index, %k: index):
    %a = tensor.extract %bias[%q, %k, %head] : tensor<?x?x8xf32>
    %r = arith.addf %e, %a : f32
    attn.yield %r : f32
  } : tensor<1x8x?x?xf32>
  %p2 = attn.softmax %b2 : tensor<1x8x?x?xf32>
  %c2 = attn.context %p2, %c : tensor<1x8x?x?xf32>, tensor<1x8x?x64xf32>
  return %c2 : tensor<1x8x?x64xf32>
}

// -----

// CHECK-LABEL: @row
// CHECK-NOT: attn.transpose
func.func @row(%x: tensor<1x8x1x64xf32>, %y: tensor<1x8x?x64xf32>, %bias: tensor<1x?x8xf32>) -> tensor<1x8x1x64xf32> {
  %s = attn.score %x, %y : tensor<1x8x1x64xf32>, tensor<1x8x?x64xf32>
  %b = attn.modify_score %s {
  ^bb0(%e: f32, %batch: index, %head: index, %q: index, %k: index):
    %a = tensor.extract %bias[%q, %k, %head] : tensor<1x?x8xf32>
    %r = arith.addf %e, %a : f32
    attn.yield %r : f32
  } : tensor<1x8x1x?xf32>
  %p = attn.softmax %b : tensor<1x8x1x?xf32>
  %c = attn.context %p, %y : tensor<1x8x1x?xf32>, tensor<1x8x?x64xf32>
  return %c : tensor<1x8x1x64xf32>
}

// -----

// CHECK-LABEL: @others
// CHECK-NOT: attn.transpose
func.func @others(%x: tensor<1x8x?x64xf32>, %bias: tensor<?x?x8xf32>) -> tensor<1x8x?x64xf32> {
  %s = attn.score %x, %x : tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>
  %b = attn.modify_score %s {
  ^bb0(%e: f32, %batch: index, %head: index, %q: index, %k: index):
    %two = arith.constant 2 : index
    %half = arith.divui %q, %two : index
    %a = tensor.extract %bias[%half, %k, %head] : tensor<?x?x8xf32>
    %d = tensor.extract %bias[%k, %k, %head] : tensor<?x?x8xf32>
    %t = arith.addf %a, %d : f32
    %r = arith.addf %e, %t : f32
    attn.yield %r : f32
  } : tensor<1x8x?x?xf32>
  %p = attn.softmax %b : tensor<1x8x?x?xf32>
  %c = attn.context %p, %x : tensor<1x8x?x?xf32>, tensor<1x8x?x64xf32>
  return %c : tensor<1x8x?x64xf32>
}
