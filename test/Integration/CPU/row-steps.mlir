// Steps on rows of packed sequences, between what unpacks them and a score: each row once.
// RUN: attnc verify %s --function cache | FileCheck %s
// RUN: attnc verify %s --function prompts | FileCheck %s
// RUN: attnc verify %s --function unmasked | FileCheck %s
// RUN: attnc verify %s --function cache --size num_offsets=1,total=0,batch=0 | FileCheck %s
// RUN: attnc verify %s --function prompts --size num_offsets=4,total=33 | FileCheck %s
// RUN: attnc verify %s --function appended | FileCheck %s
// RUN: attnc verify %s --function appended_counts | FileCheck %s
// RUN: attnc explain %s --function appended | FileCheck %s --check-prefix=QUANTIZED
// RUN: attnc explain %s --function appended_counts | FileCheck %s --check-prefix=COUNTS
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

// New keys of a ragged batch: rotated, quantised once for rows and scales, and appended in pages.
// QUANTIZED: attn.positions at {{.*}} -> f32[total, 2, 1, 16]
// QUANTIZED: attn.quantize at {{.*}} -> i8[1, 2, total, 16], f32[1, 2, total, 1]
// QUANTIZED-NOT: attn.{{quantize|unpack_rows}}
// QUANTIZED: attn.append_pages at
// QUANTIZED-NOT: attn.unpack_rows
func.func @appended(%rows: tensor<?x2x16xf32> {attn.dims = ["total", 2, 16]}, %o: tensor<?xi32> {attn.name = "o", attn.dims = ["num_offsets"]},
                    %past: tensor<?xi32> {attn.dims = ["batch"]}, %table: tensor<?x?xi32> {attn.dims = ["batch", "maxp"]},
                    %pool: tensor<?x8x2x16xi8> {attn.dims = ["np", 8, 2, 16]}, %scales: tensor<?x8x2x1xf32> {attn.dims = ["np", 8, 2, 1]})
    -> (tensor<?x8x2x16xi8>, tensor<?x8x2x1xf32>) {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %past, %c0 : tensor<?xi32>
  %first = tensor.extract_slice %o[0] [%batch] [1] : tensor<?xi32> to tensor<?xi32>
  %end = tensor.extract_slice %o[1] [%batch] [1] : tensor<?xi32> to tensor<?xi32>
  %counts = attn.map %end, %first {
  ^bb0(%e: i32, %f: i32):
    %n = arith.subi %e, %f : i32
    attn.yield %n : i32
  } : tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
  %k = attn.unpack_rows %rows offsets(%o) : tensor<?x2x16xf32>, tensor<?xi32>
  %r = attn.positions %k kind(rotary_halves) offset(%past : tensor<?xi32>) : tensor<?x2x?x16xf32>
  %k8, %s = attn.quantize %r : tensor<?x2x?x16xf32> -> tensor<?x2x?x16xi8>, tensor<?x2x?x1xf32>
  %next = attn.append_pages %pool[%table], %k8, %past counts(%counts : tensor<?xi32>) : tensor<?x8x2x16xi8>, tensor<?x?xi32>, tensor<?x2x?x16xi8>, tensor<?xi32>
  %next_scales = attn.append_pages %scales[%table], %s, %past counts(%counts : tensor<?xi32>) : tensor<?x8x2x1xf32>, tensor<?x?xi32>, tensor<?x2x?x1xf32>, tensor<?xi32>
  return %next, %next_scales : tensor<?x8x2x16xi8>, tensor<?x8x2x1xf32>
}

// Counts that a call gives may be larger than the sequences: rows of others have other positions.
// COUNTS: attn.positions at {{.*}} -> f32[{{.*}}, 2, total, 16]
func.func @appended_counts(%rows: tensor<?x2x16xf32> {attn.dims = ["total", 2, 16]}, %o: tensor<?xi32> {attn.name = "o", attn.dims = ["num_offsets"]},
                           %past: tensor<?xi32> {attn.dims = ["batch"]}, %counts: tensor<?xi32> {attn.dims = ["batch"]},
                           %table: tensor<?x?xi32> {attn.dims = ["batch", "maxp"]}, %pool: tensor<?x8x2x16xf32> {attn.dims = ["np", 8, 2, 16]})
    -> tensor<?x8x2x16xf32> {
  %k = attn.unpack_rows %rows offsets(%o) : tensor<?x2x16xf32>, tensor<?xi32>
  %r = attn.positions %k kind(rotary_halves) offset(%past : tensor<?xi32>) : tensor<?x2x?x16xf32>
  %next = attn.append_pages %pool[%table], %r, %past counts(%counts : tensor<?xi32>) : tensor<?x8x2x16xf32>, tensor<?x?xi32>, tensor<?x2x?x16xf32>, tensor<?xi32>
  return %next : tensor<?x8x2x16xf32>
}
