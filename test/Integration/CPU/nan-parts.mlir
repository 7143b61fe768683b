// A row whose scores are all NaN, of keys in parts that end inside of a chunk.

// RUN: attnc verify %s --size keys=1,100,300,2500 | FileCheck %s
// CHECK: all within the allowed error

func.func @decode(%query: tensor<1x2x1x16xf32>,
    %key: tensor<1x2x?x16xf32> {attn.dims = [1, 2, "keys", 16]},
    %value: tensor<1x2x?x8xf32> {attn.dims = [1, 2, "keys", 8]}) -> tensor<1x2x1x8xf32> {
  %score = attn.score %query, %key : tensor<1x2x1x16xf32>, tensor<1x2x?x16xf32> -> tensor<1x2x1x?xf32>
  %prob = attn.softmax %score : tensor<1x2x1x?xf32>
  %context = attn.context %prob, %value : tensor<1x2x1x?xf32>, tensor<1x2x?x8xf32> -> tensor<1x2x1x8xf32>
  return %context : tensor<1x2x1x8xf32>
}
