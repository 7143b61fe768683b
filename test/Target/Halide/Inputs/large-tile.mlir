!t = tensor<1x1x?x64xf32>
func.func @large(%q: !t, %k: !t, %v: !t) -> !t {
  %c = attn.attention %q, %k, %v schedule([#attn.gpu<row_tile = 64, shared_heads = 1, key_chunk = 64, key_splits = 1, threads_x = 16, threads_y = 16, context_columns = 4>]) : !t, !t, !t -> !t
  return %c : !t
}
