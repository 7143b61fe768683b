// Small attention with lengths, which tests turn into other element types.
func.func @padded(%query: tensor<?x2x?x16xf32> {attn.name = "query", attn.dims = ["batch", 2, "len", 16]},
                  %key: tensor<?x2x?x16xf32> {attn.name = "key", attn.dims = ["batch", 2, "kv", 16]},
                  %value: tensor<?x2x?x16xf32> {attn.name = "value", attn.dims = ["batch", 2, "kv", 16]},
                  %lengths: tensor<?xi64> {attn.name = "lengths", attn.dims = ["batch"]})
    -> (tensor<?x2x?x16xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25)
      : tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32> -> tensor<?x2x?x?xf32>
  %masked = attn.mask %score kv_lengths(%lengths : tensor<?xi64>) : tensor<?x2x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x2x?x?xf32>
  %context = attn.context %prob, %value
      : tensor<?x2x?x?xf32>, tensor<?x2x?x16xf32> -> tensor<?x2x?x16xf32>
  return %context : tensor<?x2x?x16xf32>
}
