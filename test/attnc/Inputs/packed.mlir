func.func @attention(%rows: tensor<?x4x32xf32> {attn.dims = ["total", 4, 32]}, %offsets: tensor<?xi32> {attn.dims = ["num_offsets"]},
                     %k: tensor<?x1x?x32xf32> {attn.dims = ["batch", 1, "kv_len", 32]}) -> tensor<?x4x32xf32> {
  %q = attn.unpack_rows %rows offsets(%offsets) : tensor<?x4x32xf32>, tensor<?xi32>
  %score = attn.score %q, %k scale(0.2) : tensor<?x4x?x32xf32>, tensor<?x1x?x32xf32>
  %prob = attn.softmax %score : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %k : tensor<?x4x?x?xf32>, tensor<?x1x?x32xf32>
  %packed = attn.pack_rows %context offsets(%offsets) : tensor<?x4x?x32xf32>, tensor<?xi32>
  return %packed : tensor<?x4x32xf32>
}
