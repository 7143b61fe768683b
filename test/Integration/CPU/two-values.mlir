// Two values for one prob, in one kernel.

// RUN: attnc verify %s --size kv_len=9,q_len=6 | FileCheck %s
// CHECK: cases, all within the allowed error

func.func @two_values(
    %query: tensor<1x4x?x16xf32> {attn.name = "query", attn.dims = [1, 4, "q_len", 16]},
    %key: tensor<1x2x?x16xf32> {attn.name = "key", attn.dims = [1, 2, "kv_len", 16]},
    %value: tensor<1x2x?x16xf32> {attn.name = "value", attn.dims = [1, 2, "kv_len", 16]},
    %other: tensor<1x2x?x5xf32> {attn.name = "other", attn.dims = [1, 2, "kv_len", 5]})
    -> (tensor<1x4x?x16xf32>, tensor<1x4x?x5xf32>) {
  %score = attn.score %query, %key scale(0.25)
      : tensor<1x4x?x16xf32>, tensor<1x2x?x16xf32> -> tensor<1x4x?x?xf32>
  %masked = attn.mask %score causal(bottom_right) : tensor<1x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<1x4x?x?xf32>
  %context = attn.context %prob, %value
      : tensor<1x4x?x?xf32>, tensor<1x2x?x16xf32> -> tensor<1x4x?x16xf32>
  %second = attn.context %prob, %other
      : tensor<1x4x?x?xf32>, tensor<1x2x?x5xf32> -> tensor<1x4x?x5xf32>
  return %context, %second : tensor<1x4x?x16xf32>, tensor<1x4x?x5xf32>
}
