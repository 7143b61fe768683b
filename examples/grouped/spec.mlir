// Grouped-query attention: eight query heads, two key and value heads. Query
// heads 0 to 3 read key head 0, heads 4 to 7 read key head 1. The last query
// is aligned with the last key (bottom_right), as when a few new tokens follow
// those of a cache.

func.func @grouped(
    %query: tensor<?x8x?x64xf32> {attn.name = "query", attn.dims = ["batch", 8, "q_len", 64]},
    %key: tensor<?x2x?x64xf32> {attn.name = "key", attn.dims = ["batch", 2, "kv_len", 64]},
    %value: tensor<?x2x?x64xf32> {attn.name = "value", attn.dims = ["batch", 2, "kv_len", 64]})
    -> (tensor<?x8x?x64xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.125)
      : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
  %masked = attn.mask %score causal(bottom_right) : tensor<?x8x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x8x?x?xf32>
  %context = attn.context %prob, %value
      : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x64xf32>
  return %context : tensor<?x8x?x64xf32>
}
