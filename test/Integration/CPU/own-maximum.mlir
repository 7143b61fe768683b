// A mask that compares scores with the largest of their row: they have to be the ones that this is the largest of.

// RUN: attnc verify %s --size len=5,70 | FileCheck %s
// CHECK: cases, all within the allowed error
// RUN: attnc explain %s | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: not fused: a region reads what is computed from the score itself

func.func @hard(%query: tensor<2x4x?x16xf32> {attn.dims = [2, 4, "len", 16]},
                %key: tensor<2x4x?x16xf32> {attn.dims = [2, 4, "len", 16]},
                %value: tensor<2x4x?x16xf32> {attn.dims = [2, 4, "len", 16]}) -> tensor<2x4x?x16xf32> {
  %score = attn.score %query, %key scale(0.25) : tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>
  %largest = attn.reduce max %score axes [3] : tensor<2x4x?x?xf32> -> tensor<2x4x?xf32>
  %hidden = attn.modify_score %score {
  ^bb0(%s: f32, %b: index, %h: index, %q: index, %k: index):
    %inf = arith.constant 0xFF800000 : f32
    %top = tensor.extract %largest[%b, %h, %q] : tensor<2x4x?xf32>
    %isLess = arith.cmpf olt, %s, %top : f32
    %r = arith.select %isLess, %inf, %s : f32
    attn.yield %r : f32
  } : tensor<2x4x?x?xf32>
  %prob = attn.softmax %hidden : tensor<2x4x?x?xf32>
  %context = attn.context %prob, %value : tensor<2x4x?x?xf32>, tensor<2x4x?x16xf32>
  return %context : tensor<2x4x?x16xf32>
}
