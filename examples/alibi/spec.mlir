// Causal attention with linear biases (ALiBi) over padded batches: a score loses
// slope[head] for every position between query and key. The bias is computed
// where it is needed; no table of it is ever built.

func.func @alibi(
    %query: tensor<?x8x?x64xf32> {attn.name = "query", attn.dims = ["batch", 8, "len", 64]},
    %key: tensor<?x8x?x64xf32> {attn.name = "key", attn.dims = ["batch", 8, "len", 64]},
    %value: tensor<?x8x?x64xf32> {attn.name = "value", attn.dims = ["batch", 8, "len", 64]},
    %slope: tensor<8xf32> {attn.name = "slope"},
    %kv_len: tensor<?xi32> {attn.name = "kv_len", attn.dims = ["batch"]})
    -> (tensor<?x8x?x64xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.125)
      : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %biased = attn.modify_score %score {
  ^bb0(%s: f32, %batch: index, %head: index, %q: index, %k: index):
    %m = tensor.extract %slope[%head] : tensor<8xf32>
    %distance = arith.subi %k, %q : index
    %i = arith.index_cast %distance : index to i32
    %d = arith.sitofp %i : i32 to f32
    %b = arith.mulf %m, %d : f32
    %r = arith.addf %s, %b : f32
    attn.yield %r : f32
  } : tensor<?x8x?x?xf32>
  %masked = attn.mask %biased causal(top_left) kv_lengths(%kv_len : tensor<?xi32>)
      : tensor<?x8x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x8x?x?xf32>
  %context = attn.context %prob, %value
      : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %context : tensor<?x8x?x64xf32>
}
