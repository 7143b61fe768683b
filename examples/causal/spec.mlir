// Causal multi-head attention: each position attends to itself and earlier ones.
// Batch and length are dynamic; equal names in attn.dims are equal sizes, checked
// when the kernel is called.

func.func @causal(
    %query: tensor<?x8x?x64xf32> {attn.name = "query", attn.dims = ["batch", 8, "len", 64]},
    %key: tensor<?x8x?x64xf32> {attn.name = "key", attn.dims = ["batch", 8, "len", 64]},
    %value: tensor<?x8x?x64xf32> {attn.name = "value", attn.dims = ["batch", 8, "len", 64]})
    -> (tensor<?x8x?x64xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.125)
      : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %masked = attn.mask %score causal(top_left) : tensor<?x8x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x8x?x?xf32>
  %context = attn.context %prob, %value
      : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %context : tensor<?x8x?x64xf32>
}
