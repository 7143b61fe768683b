// Softcap: scores are limited to ±30 by 30·tanh(score / 30) before the mask,
// so that no single key can take everything.

func.func @softcap(
    %query: tensor<?x4x?x64xf32> {attn.name = "query", attn.dims = ["batch", 4, "len", 64]},
    %key: tensor<?x4x?x64xf32> {attn.name = "key", attn.dims = ["batch", 4, "len", 64]},
    %value: tensor<?x4x?x64xf32> {attn.name = "value", attn.dims = ["batch", 4, "len", 64]})
    -> (tensor<?x4x?x64xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.125)
      : tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32> -> tensor<?x4x?x?xf32>
  %capped = attn.modify_score %score {
  ^bb0(%s: f32, %batch: index, %head: index, %q: index, %k: index):
    %cap = arith.constant 30.0 : f32
    %x = arith.divf %s, %cap : f32
    %t = math.tanh %x : f32
    %r = arith.mulf %t, %cap : f32
    attn.yield %r : f32
  } : tensor<?x4x?x?xf32>
  %masked = attn.mask %capped causal(top_left) : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %value
      : tensor<?x4x?x?xf32>, tensor<?x4x?x64xf32> -> tensor<?x4x?x64xf32>
  return %context : tensor<?x4x?x64xf32>
}
