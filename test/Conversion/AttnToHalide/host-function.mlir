// RUN: attn-opt %s --attn-decompose --convert-attn-to-halide | FileCheck %s

// Heads are a view of the projected tensor, and the op that feeds merge_heads writes the
// merged buffer in place: nothing is copied. A tensor read twice is one input.
// CHECK-LABEL: func.func @heads(
// CHECK-SAME: %[[X:arg0]]: memref<?x?x96xf32, strided<[?, ?, 1], offset: ?>>
// CHECK-SAME: %[[V:arg1]]: memref<?x?x96xf32, strided<[?, ?, 1], offset: ?>>
// CHECK-SAME: %[[OUT:arg2]]: memref<?x?x96xf32, strided<[?, ?, 1], offset: ?>>
// CHECK: %[[EXPANDED:.*]] = memref.expand_shape %[[X]] {{\[}}[0], [1], [2, 3]]
// CHECK: %[[HEADS:.*]] = memref.transpose %[[EXPANDED]] (d0, d1, d2, d3) -> (d0, d2, d1, d3)
// CHECK: %[[SCORE:.*]] = memref.alloc
// CHECK: host.call @heads_score_0(%[[HEADS]], %[[SCORE]])
// CHECK: %[[MERGED:.*]] = memref.expand_shape %[[OUT]]
// CHECK: %[[CONTEXT:.*]] = memref.transpose %[[MERGED]]
// CHECK: host.call @heads_context_2(%{{.*}}, %{{.*}}, %[[CONTEXT]])
// CHECK-NEXT: return
func.func @heads(%x: tensor<?x?x96xf32>, %v: tensor<?x?x96xf32>) -> tensor<?x?x96xf32> {
  %q = attn.split_heads %x num_heads(3) : tensor<?x?x96xf32> -> tensor<?x3x?x32xf32>
  %w = attn.split_heads %v num_heads(3) : tensor<?x?x96xf32> -> tensor<?x3x?x32xf32>
  %s = attn.score %q, %q : tensor<?x3x?x32xf32>, tensor<?x3x?x32xf32> -> tensor<?x3x?x?xf32>
  %p = attn.softmax %s : tensor<?x3x?x?xf32>
  %c = attn.context %p, %w : tensor<?x3x?x?xf32>, tensor<?x3x?x32xf32> -> tensor<?x3x?x32xf32>
  %m = attn.merge_heads %c : tensor<?x3x?x32xf32> -> tensor<?x?x96xf32>
  return %m : tensor<?x?x96xf32>
}

// An argument returned, and a tensor returned twice, are copied; equal pipelines are one.
// CHECK-LABEL: func.func @twice(
// CHECK: host.call @twice_softmax_0(%arg0, %arg1)
// CHECK: host.call @twice_copy_1(%arg1, %arg2)
// CHECK: host.call @twice_copy_1(%arg0, %arg3)
func.func @twice(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>) {
  %p = attn.softmax %x : tensor<3x5xf32>
  return %p, %p, %x : tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>
}

// CHECK-LABEL: memref.global "private" constant @bias_constant_0 : memref<4xf32> = dense<
// CHECK-LABEL: func.func @bias(
// CHECK: %[[BIAS:.*]] = memref.get_global @bias_constant_0
// CHECK: host.call @bias_linear_0(%arg0, %arg1, %[[BIAS]], %arg2)
func.func @bias(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) -> tensor<?x4xf32> {
  %b = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %y = attn.linear %x, %w, %b : tensor<?x8xf32>, tensor<4x8xf32>, tensor<4xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
