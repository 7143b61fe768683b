// Two scores added: latents and rotary keys in caches of their own, one key head for all; and rotary
// keys shared by heads that have other dims of their own.

// RUN: attnc verify %s --function latent --size q_len=5,kv_len=9 | FileCheck %s
// RUN: attnc verify %s --function latent --size q_len=1,kv_len=70 | FileCheck %s
// RUN: attnc verify %s --function own_heads --size q_len=6,kv_len=11 | FileCheck %s
// CHECK: cases, all within the allowed error
// RUN: attnc explain %s --function latent | FileCheck %s --check-prefix=LATENT
// LATENT: two scores as one of concatenated dims, mask, values in the keys
// RUN: attnc explain %s --function own_heads | FileCheck %s --check-prefix=OWN
// OWN: fused into attn.attention: scale 0.25, score modification

func.func @latent(
    %query: tensor<?x8x?x32xf16> {attn.name = "query", attn.dims = ["batch", 8, "q_len", 32]},
    %rotary_query: tensor<?x8x?x16xf16> {attn.name = "rotary_query", attn.dims = ["batch", 8, "q_len", 16]},
    %latent: tensor<?x1x?x32xf16> {attn.name = "latent", attn.dims = ["batch", 1, "kv_len", 32]},
    %rotary_key: tensor<?x1x?x16xf16> {attn.name = "rotary_key", attn.dims = ["batch", 1, "kv_len", 16]})
    -> tensor<?x8x?x32xf16> {
  %rotary = attn.score %rotary_query, %rotary_key : tensor<?x8x?x16xf16>, tensor<?x1x?x16xf16>
  %score = attn.score %query, %latent : tensor<?x8x?x32xf16>, tensor<?x1x?x32xf16>
  %sum = arith.addf %rotary, %score : tensor<?x8x?x?xf16>
  %scaled = attn.modify_score %sum {
  ^bb0(%s: f16, %b: index, %h: index, %q: index, %k: index):
    %scale = arith.constant 0.125 : f16
    %x = arith.mulf %s, %scale : f16
    attn.yield %x : f16
  } : tensor<?x8x?x?xf16>
  %masked = attn.mask %scaled causal(bottom_right) : tensor<?x8x?x?xf16>
  %prob = attn.softmax %masked : tensor<?x8x?x?xf16>
  %context = attn.context %prob, %latent : tensor<?x8x?x?xf16>, tensor<?x1x?x32xf16>
  return %context : tensor<?x8x?x32xf16>
}

func.func @own_heads(
    %query: tensor<1x8x?x24xf32> {attn.name = "query", attn.dims = [1, 8, "q_len", 24]},
    %rotary_query: tensor<1x8x?x32xf32> {attn.name = "rotary_query", attn.dims = [1, 8, "q_len", 32]},
    %key: tensor<1x8x?x24xf32> {attn.name = "key", attn.dims = [1, 8, "kv_len", 24]},
    %rotary_key: tensor<1x1x?x32xf32> {attn.name = "rotary_key", attn.dims = [1, 1, "kv_len", 32]},
    %value: tensor<1x8x?x16xf32> {attn.name = "value", attn.dims = [1, 8, "kv_len", 16]})
    -> tensor<1x8x?x16xf32> {
  %rotary = attn.score %rotary_query, %rotary_key scale(0.25) : tensor<1x8x?x32xf32>, tensor<1x1x?x32xf32>
  %score = attn.score %query, %key scale(0.25) : tensor<1x8x?x24xf32>, tensor<1x8x?x24xf32>
  %sum = arith.addf %rotary, %score : tensor<1x8x?x?xf32>
  %prob = attn.softmax %sum : tensor<1x8x?x?xf32>
  %context = attn.context %prob, %value : tensor<1x8x?x?xf32>, tensor<1x8x?x16xf32>
  return %context : tensor<1x8x?x16xf32>
}
