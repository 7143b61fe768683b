// Result types that follow from operands need not be written; they are printed.
// RUN: attn-opt %s | FileCheck %s
// RUN: attn-opt %s | attn-opt | FileCheck %s

!heads = tensor<?x8x?x64xf32>
!time = tensor<?x2x512xf32>

// CHECK-LABEL: func.func @attention
func.func @attention(%query: tensor<?x8x?x64xf16>, %key: tensor<2x2x7x64xf16>, %value: tensor<2x2x7x16xf16>) -> tensor<2x8x?x16xf16> {
  // CHECK: attn.score {{.*}} -> tensor<2x8x?x7xf16>
  %score = attn.score %query, %key scale(0.125) : tensor<?x8x?x64xf16>, tensor<2x2x7x64xf16>
  // CHECK: attn.lse {{.*}} -> tensor<2x8x?xf16>
  %lse = attn.lse %score : tensor<2x8x?x7xf16>
  %prob = attn.softmax %score : tensor<2x8x?x7xf16>
  // CHECK: attn.context {{.*}} -> tensor<2x8x?x16xf16>
  %context = attn.context %prob, %value : tensor<2x8x?x7xf16>, tensor<2x2x7x16xf16>
  return %context : tensor<2x8x?x16xf16>
}

// CHECK-LABEL: func.func @additive
func.func @additive(%query: !heads, %key: !heads, %weight: tensor<64xf32>) {
  // CHECK: attn.additive_score {{.*}} -> tensor<?x8x?x?xf32>
  %score = attn.additive_score %query, %key, %weight : !heads, !heads, tensor<64xf32>
  return
}

// CHECK-LABEL: func.func @layers
func.func @layers(%x: tensor<?x?x512xf32>, %open: tensor<2x?x?xf32>, %time: !time, %heads: !heads,
                  %weight: tensor<128x512xf32>, %bias: tensor<128xf32>, %ids: tensor<?x5xi64>) {
  // CHECK: attn.linear {{.*}} -> tensor<?x?x128xf32>
  %linear = attn.linear %x, %weight, %bias : tensor<?x?x512xf32>, tensor<128x512xf32>, tensor<128xf32>
  // CHECK: attn.split_heads {{.*}} -> tensor<?x8x?x64xf32>
  %split = attn.split_heads %x num_heads(8) : tensor<?x?x512xf32>
  // CHECK: attn.split_heads {{.*}} -> tensor<2x8x?x?xf32>
  %parts = attn.split_heads %open num_heads(8) : tensor<2x?x?xf32>
  // CHECK: attn.split_heads {{.*}} -> tensor<2x8x?x64xf32>
  %first = attn.split_heads %time num_heads(8) layout(time_first) : !time
  // CHECK: attn.merge_heads {{.*}} -> tensor<?x2x512xf32>
  %last = attn.merge_heads %first layout(time_first) : tensor<2x8x?x64xf32>
  // CHECK: attn.merge_heads {{.*}} -> tensor<?x?x512xf32>
  %merged = attn.merge_heads %heads : !heads
  // CHECK: attn.embedding {{.*}} -> tensor<?x5x512xf32>
  %rows = attn.embedding %weight, %ids : tensor<128x512xf32>, tensor<?x5xi64>
  return
}

// CHECK-LABEL: func.func @tensors
func.func @tensors(%a: tensor<4x1x?xf32>, %b: tensor<5x?xf32>, %c: tensor<?x5xf32>, %none: tensor<f32>) {
  // CHECK: -> tensor<4x5x?xi1>
  %less = attn.map %a, %b {
  ^bb0(%left: f32, %right: f32):
    %is_less = arith.cmpf olt, %left, %right : f32
    attn.yield %is_less : i1
  } : tensor<4x1x?xf32>, tensor<5x?xf32>
  // CHECK: attn.matmul {{.*}} -> tensor<4x1x5xf32>
  %product = attn.matmul %a, %c : tensor<4x1x?xf32>, tensor<?x5xf32>
  // CHECK: attn.reduce sum %{{.*}} axes [-1] keep_dims : {{.*}} -> tensor<4x1x1xf32>
  %kept = attn.reduce sum %a axes [-1] keep_dims : tensor<4x1x?xf32>
  // CHECK: attn.reduce sum %{{.*}} axes [0, -1] : {{.*}} -> tensor<1xf32>
  %sum = attn.reduce sum %a axes [0, -1] : tensor<4x1x?xf32>
  // CHECK: attn.transpose {{.*}} -> tensor<?x4x1xf32>
  %turned = attn.transpose %a [2, 0, 1] : tensor<4x1x?xf32>
  // CHECK: attn.transpose {{.*}} -> tensor<f32>
  %same = attn.transpose %none [] : tensor<f32>
  return
}
