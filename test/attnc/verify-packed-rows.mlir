// Offsets that are not given divide the rows among as many sequences as there are lengths.

// RUN: attnc verify %s --function fused | FileCheck %s
// RUN: attnc verify %s --function padded | FileCheck %s
// CHECK: all within the allowed error
func.func @fused(%rows: tensor<?x4x16xf32> {attn.dims = ["total", 4, 16]}, %k: tensor<?x2x?x16xf32> {attn.dims = ["batch", 2, "kv_len", 16]},
                 %o: tensor<?xi32> {attn.name = "offsets"}, %n: tensor<?xi32> {attn.dims = ["batch"]})
    -> (tensor<?x4x16xf32>, tensor<?x4xf32>) {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x4x16xf32>, tensor<?xi32>
  %s = attn.score %q, %k : tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32>
  %m = attn.mask %s causal(bottom_right) q_offsets(%o : tensor<?xi32>) kv_lengths(%n : tensor<?xi32>) : tensor<?x4x?x?xf32>
  %l = attn.lse %m : tensor<?x4x?x?xf32> -> tensor<?x4x?xf32>
  %p = attn.softmax %m : tensor<?x4x?x?xf32>
  %c = attn.context %p, %k : tensor<?x4x?x?xf32>, tensor<?x2x?x16xf32>
  %r = attn.pack_rows %c offsets(%o) : tensor<?x4x?x16xf32>, tensor<?xi32>
  %rl = attn.pack_rows %l offsets(%o) : tensor<?x4x?xf32>, tensor<?xi32>
  return %r, %rl : tensor<?x4x16xf32>, tensor<?x4xf32>
}

func.func @padded(%rows: tensor<?x2x5xf16> {attn.dims = ["total", 2, 5]}, %o: tensor<?xi64>) -> (tensor<?x2x?x5xf16>, tensor<?x2x5xf16>) {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x2x5xf16>, tensor<?xi64>
  %r = attn.pack_rows %q offsets(%o) : tensor<?x2x?x5xf16>, tensor<?xi64>
  return %q, %r : tensor<?x2x?x5xf16>, tensor<?x2x5xf16>
}
