!t = tensor<1x1x?x64xf32>
func.func @large(%q: !t, %k: !t, %v: !t) -> !t {
  %c = attn.attention %q, %k, %v schedule([#attn.gpu<q_block = 64, packed_heads = 1, kv_block = 64, kv_splits = 1, threads_x = 16, threads_y = 16, context_columns = 4>]) : !t, !t, !t -> !t
  return %c : !t
}
