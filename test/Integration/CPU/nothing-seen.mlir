// A mask that turns out to hide every key.

// RUN: attnc verify %s --size q_len=1,kv_len=5 | FileCheck %s
// RUN: attnc verify %s --size q_len=40,kv_len=33 | FileCheck %s
// CHECK: cases, all within the allowed error

func.func @nothing(%query: tensor<1x2x?x16xf32> {attn.name = "query", attn.dims = [1, 2, "q_len", 16]},
                   %key: tensor<1x2x?x16xf32> {attn.name = "key", attn.dims = [1, 2, "kv_len", 16]})
    -> tensor<1x2x?x16xf32> {
  %score = attn.score %query, %key : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32> -> tensor<1x2x?x?xf32>
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %before = arith.cmpi slt, %k, %q : index
    %same = arith.cmpi slt, %k, %q : index
    %seen = arith.xori %before, %same : i1
    attn.yield %seen : i1
  } : tensor<1x2x?x?xf32>
  %prob = attn.softmax %masked : tensor<1x2x?x?xf32>
  %context = attn.context %prob, %key : tensor<1x2x?x?xf32>, tensor<1x2x?x16xf32> -> tensor<1x2x?x16xf32>
  return %context : tensor<1x2x?x16xf32>
}
