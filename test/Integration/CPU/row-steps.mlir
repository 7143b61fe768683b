// Steps on rows of packed sequences, between what unpacks them and a score: each row once.
// RUN: attnc verify %s --function cache | FileCheck %s
// RUN: attnc verify %s --function prompts | FileCheck %s
// RUN: attnc verify %s --function unmasked | FileCheck %s
// RUN: attnc verify %s --function cache --size num_offsets=1,total=0,batch=0 | FileCheck %s
// RUN: attnc verify %s --function prompts --size num_offsets=4,total=33 | FileCheck %s
// RUN: attnc explain %s --function cache | FileCheck %s --check-prefix=PACKED
// RUN: attnc explain %s --function prompts | FileCheck %s --check-prefix=PACKED
// RUN: attnc explain %s --function unmasked | FileCheck %s --check-prefix=PADDED
// CHECK: cases, all within the allowed error
// PACKED-NOT: each sequence padded
// PACKED: rows of packed sequences alone: no padding is computed
// PADDED: each sequence padded

// Queries of a cache in pages, with a norm, rotary embeddings after what is in the cache, and a factor.
func.func @cache(%rows: tensor<?x8x64xf32> {attn.dims = ["total", 8, 64]}, %o: tensor<?xi32> {attn.name = "o", attn.dims=["num_offsets"]}, %n: tensor<?xi32> {attn.dims = ["batch"]}, %past: tensor<?xi32> {attn.dims = ["batch"]}, %table: tensor<?x?xi32> {attn.dims = ["batch", "maxp"]}, %pool: tensor<?x16x2x64xf32> {attn.dims = ["np", 16, 2, 64]}, %norm: tensor<64xf32>) -> tensor<?x8x64xf32> {
  %q0 = attn.unpack_rows %rows offsets(%o) : tensor<?x8x64xf32>, tensor<?xi32>
  %qn = attn.layer_norm %q0 mode(rms) scale(%norm : tensor<64xf32>) epsilon(1.0e-6) : tensor<?x8x?x64xf32>
  %q1 = attn.positions %qn kind(rotary_halves) offset(%past : tensor<?xi32>) : tensor<?x8x?x64xf32>
  %q = attn.map %q1, %norm {
  ^bb0(%a: f32, %b: f32):
    %r = arith.mulf %a, %b : f32
    attn.yield %r : f32
  } : tensor<?x8x?x64xf32>, tensor<64xf32>
  %k = attn.gather_pages %pool[%table] lengths(%n : tensor<?xi32>) : tensor<?x16x2x64xf32>, tensor<?x?xi32> -> tensor<?x2x?x64xf32>
  %s = attn.score %q, %k scale(0.125) : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
  %m = attn.mask %s causal(bottom_right) q_offsets(%o : tensor<?xi32>) kv_lengths(%n : tensor<?xi32>) : tensor<?x8x?x?xf32>
  %p = attn.softmax %m : tensor<?x8x?x?xf32>
  %c = attn.context %p, %k : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x64xf32>
  %r = attn.pack_rows %c offsets(%o) : tensor<?x8x?x64xf32>, tensor<?xi32>
  return %r : tensor<?x8x64xf32>
}

// Keys with rotary embeddings, of which values have none.
func.func @prompts(%rows: tensor<?x8x64xbf16> {attn.dims = ["total", 8, 64]}, %keys: tensor<?x2x64xbf16> {attn.dims = ["total", 2, 64]}, %o: tensor<?xi32> {attn.name = "o", attn.dims=["num_offsets"]}) -> (tensor<?x8x64xbf16>, tensor<?x8xbf16>) {
  %q0 = attn.unpack_rows %rows offsets(%o) : tensor<?x8x64xbf16>, tensor<?xi32>
  %q = attn.positions %q0 kind(rotary_pairs) : tensor<?x8x?x64xbf16>
  %k0 = attn.unpack_rows %keys offsets(%o) : tensor<?x2x64xbf16>, tensor<?xi32>
  %k = attn.positions %k0 kind(rotary_pairs) : tensor<?x2x?x64xbf16>
  %s = attn.score %q, %k scale(0.125) : tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16> -> tensor<?x8x?x?xbf16>
  %m = attn.mask %s causal(top_left) kv_offsets(%o : tensor<?xi32>) : tensor<?x8x?x?xbf16>
  %l = attn.lse %m : tensor<?x8x?x?xbf16>
  %p = attn.softmax %m : tensor<?x8x?x?xbf16>
  %c = attn.context %p, %k0 : tensor<?x8x?x?xbf16>, tensor<?x2x?x64xbf16> -> tensor<?x8x?x64xbf16>
  %r = attn.pack_rows %c offsets(%o) : tensor<?x8x?x64xbf16>, tensor<?xi32>
  %rl = attn.pack_rows %l offsets(%o) : tensor<?x8x?xbf16>, tensor<?xi32>
  return %r, %rl : tensor<?x8x64xbf16>, tensor<?x8xbf16>
}

// Positions of keys that no mask hides, behind the last of a sequence, are not those of packed rows.
func.func @unmasked(%rows: tensor<?x4x16xf32> {attn.dims = ["total", 4, 16]}, %keys: tensor<?x2x16xf32> {attn.dims = ["total", 2, 16]}, %o: tensor<?xi32> {attn.name = "o", attn.dims=["num_offsets"]}) -> tensor<?x4x16xf32> {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x4x16xf32>, tensor<?xi32>
  %k0 = attn.unpack_rows %keys offsets(%o) : tensor<?x2x16xf32>, tensor<?xi32>
  %k = attn.positions %k0 kind(rotary_pairs) : tensor<?x2x?x16xf32>
  %s = attn.score %q, %k scale(0.125) : tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32> -> tensor<?x4x?x?xf32>
  %p = attn.softmax %s : tensor<?x4x?x?xf32>
  %c = attn.context %p, %k0 : tensor<?x4x?x?xf32>, tensor<?x2x?x16xf32> -> tensor<?x4x?x16xf32>
  %r = attn.pack_rows %c offsets(%o) : tensor<?x4x?x16xf32>, tensor<?xi32>
  return %r : tensor<?x4x16xf32>
}
