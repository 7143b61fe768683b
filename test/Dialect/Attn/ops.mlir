// RUN: attn-opt %s | FileCheck %s
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s
// RUN: attn-opt %s -emit-bytecode | attn-opt | FileCheck %s

// CHECK-LABEL: func @unfused
// CHECK-SAME: %[[Q:.*]]: tensor<?x8x?x64xf32> {attn.dims = ["batch", 8, "q_len", 64], attn.name = "query"}
// CHECK-SAME: -> (tensor<?x8x?x32xf32> {attn.name = "context"})
func.func @unfused(%q: tensor<?x8x?x64xf32> {attn.name = "query", attn.dims = ["batch", 8, "q_len", 64]},
                   %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x32xf32>, %bias: tensor<8x?x?xf32>)
    -> (tensor<?x8x?x32xf32> {attn.name = "context"}) {
  // CHECK: %[[S:.*]] = attn.score %[[Q]], %{{.*}} scale(1.250000e-01) : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %s = attn.score %q, %k scale(0.125) : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  // CHECK: %[[B:.*]] = attn.modify_score %[[S]] {
  // CHECK-NEXT: ^bb0(%[[SCORE:score]]: f32, %batch: index, %[[HEAD:head]]: index, %[[I:q]]: index, %[[J:k]]: index):
  // CHECK-NEXT: %[[E:.*]] = tensor.extract %{{.*}}[%[[HEAD]], %[[I]], %[[J]]]
  // CHECK-NEXT: %[[R:.*]] = arith.addf %[[SCORE]], %[[E]] : f32
  // CHECK-NEXT: attn.yield %[[R]] : f32
  // CHECK-NEXT: } : tensor<?x8x?x?xf32>
  %b = attn.modify_score %s {
  ^bb0(%score: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %e = tensor.extract %bias[%head, %qi, %ki] : tensor<8x?x?xf32>
    %r = arith.addf %score, %e : f32
    attn.yield %r : f32
  } : tensor<?x8x?x?xf32>
  // CHECK: %[[M:.*]] = attn.mask %[[B]] {
  // CHECK-NEXT: ^bb0(%batch: index, %head: index, %[[I:q]]: index, %[[J:k]]: index):
  // CHECK-NEXT: arith.cmpi sle, %[[J]], %[[I]] : index
  %m = attn.mask %b {
  ^bb0(%batch: index, %head: index, %qi: index, %ki: index):
    %c = arith.cmpi sle, %ki, %qi : index
    attn.yield %c : i1
  } : tensor<?x8x?x?xf32>
  // CHECK: %[[P:.*]] = attn.softmax %[[M]] : tensor<?x8x?x?xf32>
  %p = attn.softmax %m : tensor<?x8x?x?xf32>
  // CHECK: %[[D:.*]] = attn.modify_prob %[[P]] {
  // CHECK-NEXT: ^bb0(%[[PROB:prob]]: f32,
  %d = attn.modify_prob %p {
  ^bb0(%prob: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %r = arith.addf %prob, %prob : f32
    attn.yield %r : f32
  } : tensor<?x8x?x?xf32>
  // CHECK: attn.context %[[D]], %{{.*}} : tensor<?x8x?x?xf32>, tensor<?x8x?x32xf32> -> tensor<?x8x?x32xf32>
  %c = attn.context %d, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x32xf32> -> tensor<?x8x?x32xf32>
  return %c : tensor<?x8x?x32xf32>
}

// Grouped heads, f16, everything static; no scale is printed where it is 1.
// CHECK-LABEL: func @grouped
func.func @grouped(%q: tensor<2x6x5x16xf16>, %k: tensor<2x2x7x16xf16>, %v: tensor<2x1x7x3xf16>) -> tensor<2x6x5x3xf16> {
  // CHECK: attn.score %{{.*}}, %{{.*}} : tensor<2x6x5x16xf16>, tensor<2x2x7x16xf16> -> tensor<2x6x5x7xf16>
  %s = attn.score %q, %k : tensor<2x6x5x16xf16>, tensor<2x2x7x16xf16> -> tensor<2x6x5x7xf16>
  // CHECK: attn.softmax %{{.*}} axis(2) {test.tag} : tensor<2x6x5x7xf16>
  %p = attn.softmax %s axis(2) {test.tag} : tensor<2x6x5x7xf16>
  // CHECK: attn.context
  %c = attn.context %p, %v : tensor<2x6x5x7xf16>, tensor<2x1x7x3xf16> -> tensor<2x6x5x3xf16>
  return %c : tensor<2x6x5x3xf16>
}

// CHECK-LABEL: func @fused
func.func @fused(%q: tensor<?x4x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x80xbf16>) -> (tensor<?x4x?x80xbf16>, tensor<?x4x?xf32>) {
  // CHECK: attn.attention %{{.*}}, %{{.*}}, %{{.*}} scale(5.000000e-01) score_mod {
  // CHECK-NEXT: ^bb0(%score: bf16, %batch: index, %head: index, %q: index, %k: index):
  // CHECK: } mask {
  // CHECK-NEXT: ^bb0(%batch: index, %head: index, %q: index, %k: index):
  // CHECK: } prob_mod {
  // CHECK-NEXT: ^bb0(%prob: bf16, %batch: index, %head: index, %q: index, %k: index):
  // CHECK: } schedule(<row_tile = 48, key_chunk = 64, vector_width = 16, score_vectors = 3, score_keys = 8, context_rows = 6, context_vectors = 4>)
  // CHECK-SAME: : tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x80xbf16> -> tensor<?x4x?x80xbf16>, tensor<?x4x?xf32>
  %c, %lse = attn.attention %q, %k, %v scale(0.5) score_mod {
  ^bb0(%score: bf16, %batch: index, %head: index, %qi: index, %ki: index):
    %r = math.tanh %score : bf16
    attn.yield %r : bf16
  } mask {
  ^bb0(%batch: index, %head: index, %qi: index, %ki: index):
    %m = arith.cmpi sle, %ki, %qi : index
    attn.yield %m : i1
  } prob_mod {
  ^bb0(%prob: bf16, %batch: index, %head: index, %qi: index, %ki: index):
    %r = arith.negf %prob : bf16
    attn.yield %r : bf16
  } schedule(<row_tile = 48, key_chunk = 64, vector_width = 16, score_vectors = 3, score_keys = 8, context_rows = 6, context_vectors = 4>)
    : tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x80xbf16> -> tensor<?x4x?x80xbf16>, tensor<?x4x?xf32>
  // CHECK: attn.attention %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x4x?x64xbf16>, {{.*}} -> tensor<?x4x?x80xbf16>
  %d = attn.attention %q, %k, %v : tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x80xbf16> -> tensor<?x4x?x80xbf16>
  return %d, %lse : tensor<?x4x?x80xbf16>, tensor<?x4x?xf32>
}

// CHECK-LABEL: func @around
func.func @around(%x: tensor<?x?x384xf64>, %w: tensor<384x384xf64> {attn.weight = "layer.0.weight"}, %b: tensor<384xf64>) -> tensor<?x?x384xf64> {
  // CHECK: attn.linear %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x?x384xf64>, tensor<384x384xf64>, tensor<384xf64> -> tensor<?x?x384xf64>
  %y = attn.linear %x, %w, %b : tensor<?x?x384xf64>, tensor<384x384xf64>, tensor<384xf64> -> tensor<?x?x384xf64>
  // CHECK: attn.linear %{{.*}}, %{{.*}} : tensor<?x?x384xf64>, tensor<384x384xf64> -> tensor<?x?x384xf64>
  %z = attn.linear %y, %w : tensor<?x?x384xf64>, tensor<384x384xf64> -> tensor<?x?x384xf64>
  // CHECK: attn.split_heads %{{.*}} num_heads(12) layout(time_first) : tensor<?x?x384xf64> -> tensor<?x12x?x32xf64>
  %h = attn.split_heads %z num_heads(12) layout(time_first) : tensor<?x?x384xf64> -> tensor<?x12x?x32xf64>
  // CHECK: attn.merge_heads %{{.*}} : tensor<?x12x?x32xf64> -> tensor<?x?x384xf64>
  %m = attn.merge_heads %h : tensor<?x12x?x32xf64> -> tensor<?x?x384xf64>
  return %m : tensor<?x?x384xf64>
}
