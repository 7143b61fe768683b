// RUN: attn-opt %s -canonicalize="test-convergence" | FileCheck %s

// CHECK-LABEL: func @modify_score_identity
// CHECK-SAME: %[[S:.*]]: tensor<1x2x3x4xf32>
// CHECK-NEXT: return %[[S]]
func.func @modify_score_identity(%s: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %r = attn.modify_score %s {
  ^bb0(%score: f32, %batch: index, %head: index, %q: index, %k: index):
    attn.yield %score : f32
  } : tensor<1x2x3x4xf32>
  return %r : tensor<1x2x3x4xf32>
}

// CHECK-LABEL: func @modify_prob_identity
// CHECK-SAME: %[[P:.*]]: tensor<1x2x3x4xf32>
// CHECK-NEXT: return %[[P]]
func.func @modify_prob_identity(%p: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %one = arith.constant 1.0 : f32
  %r = attn.modify_prob %p {
  ^bb0(%prob: f32, %batch: index, %head: index, %q: index, %k: index):
    %m = arith.mulf %prob, %one : f32
    attn.yield %m : f32
  } : tensor<1x2x3x4xf32>
  return %r : tensor<1x2x3x4xf32>
}

// CHECK-LABEL: func @mask_true
// CHECK-SAME: %[[S:.*]]: tensor<1x2x3x4xf32>
// CHECK-NEXT: return %[[S]]
func.func @mask_true(%s: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %r = attn.mask %s {
  ^bb0(%batch: index, %head: index, %q: index, %k: index):
    %c = arith.cmpi sle, %k, %k : index
    attn.yield %c : i1
  } : tensor<1x2x3x4xf32>
  return %r : tensor<1x2x3x4xf32>
}

// A size of the inner mask is one of the score.
// CHECK-LABEL: func @mask_of_mask
// CHECK-SAME: %[[S:.*]]: tensor<1x2x?x?xf32>, %[[N:.*]]: tensor<?xi32>
// CHECK: %[[M:.*]] = attn.mask %[[S]] {
// CHECK-NEXT: ^bb0(%[[B:.*]]: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[LEN:.*]] = tensor.extract %[[N]][%[[B]]]
// CHECK: %[[LENI:.*]] = arith.index_cast %[[LEN]]
// CHECK: %[[PAD:.*]] = arith.cmpi slt, %[[J]], %[[LENI]]
// CHECK: tensor.dim %[[S]]
// CHECK: tensor.dim %[[S]]
// CHECK: %[[CAUSAL:.*]] = arith.cmpi sle, %[[J]]
// CHECK: %[[BOTH:.*]] = arith.andi %[[PAD]], %[[CAUSAL]]
// CHECK: attn.yield %[[BOTH]]
// CHECK-NOT: attn.mask
func.func @mask_of_mask(%s: tensor<1x2x?x?xf32>, %n: tensor<?xi32>) -> tensor<1x2x?x?xf32> {
  %a = attn.mask %s kv_lengths(%n : tensor<?xi32>) : tensor<1x2x?x?xf32>
  %b = attn.mask %a causal(bottom_right) : tensor<1x2x?x?xf32>
  return %b : tensor<1x2x?x?xf32>
}

// The inner mask is needed by itself.
// CHECK-LABEL: func @mask_of_used_mask
// CHECK-COUNT-2: attn.mask
func.func @mask_of_used_mask(%s: tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) {
  %a = attn.mask %s causal(top_left) : tensor<1x2x3x4xf32>
  %b = attn.mask %a block(2) : tensor<1x2x3x4xf32>
  return %a, %b : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>
}

// CHECK-LABEL: func @split_of_merge
// CHECK-SAME: %[[X:.*]]: tensor<?x4x?x8xf32>
// CHECK-NEXT: return %[[X]]
func.func @split_of_merge(%x: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %m = attn.merge_heads %x layout(time_first) : tensor<?x4x?x8xf32> -> tensor<?x?x32xf32>
  %s = attn.split_heads %m num_heads(4) layout(time_first) : tensor<?x?x32xf32> -> tensor<?x4x?x8xf32>
  return %s : tensor<?x4x?x8xf32>
}

// Other heads, another layout, and a dynamic number of heads all stay.
// CHECK-LABEL: func @split_of_merge_stays
// CHECK-COUNT-3: attn.split_heads
func.func @split_of_merge_stays(%x: tensor<?x4x?x8xf32>, %y: tensor<?x?x?x?xf32>)
    -> (tensor<?x2x?x16xf32>, tensor<?x4x?x8xf32>, tensor<?x?x?x?xf32>) {
  %m = attn.merge_heads %x : tensor<?x4x?x8xf32> -> tensor<?x?x32xf32>
  %a = attn.split_heads %m num_heads(2) : tensor<?x?x32xf32> -> tensor<?x2x?x16xf32>
  %b = attn.split_heads %m num_heads(4) layout(time_first) : tensor<?x?x32xf32> -> tensor<?x4x?x8xf32>
  %n = attn.merge_heads %y : tensor<?x?x?x?xf32> -> tensor<?x?x?xf32>
  %c = attn.split_heads %n num_heads(4) : tensor<?x?x?xf32> -> tensor<?x?x?x?xf32>
  return %a, %b, %c : tensor<?x2x?x16xf32>, tensor<?x4x?x8xf32>, tensor<?x?x?x?xf32>
}

// CHECK-LABEL: func @merge_of_split
// CHECK-SAME: %[[X:.*]]: tensor<?x?x32xf32>
// CHECK-NEXT: return %[[X]]
func.func @merge_of_split(%x: tensor<?x?x32xf32>) -> tensor<?x?x32xf32> {
  %s = attn.split_heads %x num_heads(4) : tensor<?x?x32xf32> -> tensor<?x4x?x8xf32>
  %m = attn.merge_heads %s : tensor<?x4x?x8xf32> -> tensor<?x?x32xf32>
  return %m : tensor<?x?x32xf32>
}

// Split one way and merged the other swaps batch and len.
// CHECK-LABEL: func @merge_of_split_swaps
// CHECK: attn.merge_heads
func.func @merge_of_split_swaps(%x: tensor<?x?x32xf32>) -> tensor<?x?x32xf32> {
  %s = attn.split_heads %x num_heads(4) : tensor<?x?x32xf32> -> tensor<?x4x?x8xf32>
  %m = attn.merge_heads %s layout(time_first) : tensor<?x4x?x8xf32> -> tensor<?x?x32xf32>
  return %m : tensor<?x?x32xf32>
}

// An attention written with its mask in the score_mod.
// CHECK-LABEL: func @attention_mask
// CHECK: attn.attention %{{.*}}, %{{.*}}, %{{.*}} scale(2.500000e-01) mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[C:.*]] = arith.cmpi sle, %[[J]], %[[I]]
// CHECK-NEXT: attn.yield %[[C]]
// CHECK-NEXT: } : tensor
func.func @attention_mask(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %half = arith.constant 0.5 : f32
  %hidden = arith.constant 0xFF800000 : f32
  %c = attn.attention %x, %x, %x scale(0.5) score_mod {
  ^bb0(%score: f32, %batch: index, %head: index, %q: index, %k: index):
    %scaled = arith.mulf %score, %half : f32
    %later = arith.cmpi sgt, %k, %q : index
    %m = arith.select %later, %hidden, %scaled : f32
    attn.yield %m : f32
  } prob_mod {
  ^bb0(%prob: f32, %batch: index, %head: index, %q: index, %k: index):
    attn.yield %prob : f32
  } : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32> -> tensor<1x2x3x4xf32>
  return %c : tensor<1x2x3x4xf32>
}
