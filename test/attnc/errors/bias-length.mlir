// Operands of a map have the shape of its score, fused or not.
// RUN: %exits 1 attnc run %s --function fused --input query=ones:1x2x3x8 --input key=ones:1x2x5x8 \
// RUN:   --input bias=ones:2x3x6 2>&1 | FileCheck %s
// RUN: %exits 1 attnc run %s --function alone --input query=ones:1x2x3x8 --input key=ones:1x2x5x8 \
// RUN:   --input bias=ones:2x4x5 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: attnc run %s --function table --input query=ones:1x2x3x8 --input key=ones:1x2x5x8 \
// RUN:   --input bias=ones:2x7x8

// CHECK: error: expected {{q_len|kv_len}} of {{score|query|key}} and operand of attn.{{.*}} to match
// ALONE: error: bias: expected dimension 1, {{.*}}, to be 3 as in query, found 2x4x5
func.func @fused(%query: tensor<?x2x?x8xf32> {attn.name = "query"}, %key: tensor<?x2x?x8xf32> {attn.name = "key", attn.dims = ["batch", 2, "kv_len", 8]},
                 %bias: tensor<2x?x?xf32> {attn.name = "bias", attn.dims = [2, "rows", "columns"]}) -> tensor<?x2x?x8xf32> {
  %score = attn.score %query, %key : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x?xf32>
  %biased = attn.map %score, %bias {
  ^bb0(%s: f32, %b: f32):
    %r = arith.addf %s, %b : f32
    attn.yield %r : f32
  } : tensor<?x2x?x?xf32>, tensor<2x?x?xf32> -> tensor<?x2x?x?xf32>
  %prob = attn.softmax %biased : tensor<?x2x?x?xf32>
  %context = attn.context %prob, %key : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x8xf32>
  return %context : tensor<?x2x?x8xf32>
}

func.func @alone(%query: tensor<?x2x?x8xf32> {attn.name = "query"}, %key: tensor<?x2x?x8xf32> {attn.name = "key"},
                 %bias: tensor<2x?x?xf32> {attn.name = "bias"}) -> tensor<?x2x?x?xf32> {
  %score = attn.score %query, %key : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x?xf32>
  %biased = attn.map %score, %bias {
  ^bb0(%s: f32, %b: f32):
    %r = arith.addf %s, %b : f32
    attn.yield %r : f32
  } : tensor<?x2x?x?xf32>, tensor<2x?x?xf32> -> tensor<?x2x?x?xf32>
  return %biased : tensor<?x2x?x?xf32>
}

// What a region reads may be longer: a table of all lengths.
func.func @table(%query: tensor<?x2x?x8xf32> {attn.name = "query"}, %key: tensor<?x2x?x8xf32> {attn.name = "key"},
                 %bias: tensor<2x?x?xf32> {attn.name = "bias"}) -> tensor<?x2x?x?xf32> {
  %score = attn.score %query, %key : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x?xf32>
  %biased = attn.modify_score %score {
  ^bb0(%s: f32, %b: index, %h: index, %q: index, %k: index):
    %x = tensor.extract %bias[%h, %q, %k] : tensor<2x?x?xf32>
    %r = arith.addf %s, %x : f32
    attn.yield %r : f32
  } : tensor<?x2x?x?xf32>
  return %biased : tensor<?x2x?x?xf32>
}
