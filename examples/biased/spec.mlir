// A bias tensor, one per head, added to the score: what a table of relative
// positions or an adapter gives.

func.func @biased(
    %query: tensor<?x4x?x64xf32> {attn.name = "query", attn.dims = ["batch", 4, "q_len", 64]},
    %key: tensor<?x4x?x64xf32> {attn.name = "key", attn.dims = ["batch", 4, "kv_len", 64]},
    %value: tensor<?x4x?x64xf32> {attn.name = "value", attn.dims = ["batch", 4, "kv_len", 64]},
    %bias: tensor<4x?x?xf32> {attn.name = "bias", attn.dims = [4, "q_len", "kv_len"]})
    -> (tensor<?x4x?x64xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.125)
      : tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32> -> tensor<?x4x?x?xf32>
  %biased = attn.modify_score %score {
  ^bb0(%s: f32, %batch: index, %head: index, %q: index, %k: index):
    %b = tensor.extract %bias[%head, %q, %k] : tensor<4x?x?xf32>
    %r = arith.addf %s, %b : f32
    attn.yield %r : f32
  } : tensor<?x4x?x?xf32>
  %prob = attn.softmax %biased : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %value
      : tensor<?x4x?x?xf32>, tensor<?x4x?x64xf32> -> tensor<?x4x?x64xf32>
  return %context : tensor<?x4x?x64xf32>
}
