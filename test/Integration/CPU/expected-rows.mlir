// RUN: attnc verify %s --function one --size q_len=1,2,5,70 --size kv_len=0,1,70 | FileCheck %s
// RUN: attnc verify %s --function chunk --size q_len=0,1,16,130 --size kv_len=1,70 | FileCheck %s

// A kernel made for calls of so many rows serves others.
// CHECK: all within the allowed error

!q = tensor<?x8x?x64xf32>
!k = tensor<?x2x?x64xf32>
func.func @one(%q: !q {attn.name = "query", attn.dims = ["batch", 8, "q_len", 64]},
               %k: !k {attn.name = "key", attn.dims = ["batch", 2, "kv_len", 64]}) -> !q attributes {attn.q_len = 1} {
  %s = attn.score %q, %k scale(0.125) : !q, !k
  %m = attn.mask %s causal(bottom_right) : tensor<?x8x?x?xf32>
  %p = attn.softmax %m : tensor<?x8x?x?xf32>
  %c = attn.context %p, %k : tensor<?x8x?x?xf32>, !k
  return %c : !q
}

func.func @chunk(%q: !q {attn.name = "query", attn.dims = ["batch", 8, "q_len", 64]},
                 %k: !k {attn.name = "key", attn.dims = ["batch", 2, "kv_len", 64]}) -> !q attributes {attn.q_len = 16} {
  %s = attn.score %q, %k scale(0.125) : !q, !k
  %m = attn.mask %s causal(bottom_right) : tensor<?x8x?x?xf32>
  %p = attn.softmax %m : tensor<?x8x?x?xf32>
  %c = attn.context %p, %k : tensor<?x8x?x?xf32>, !k
  return %c : !q
}
