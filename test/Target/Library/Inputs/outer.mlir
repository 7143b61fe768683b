// A score of its own, so that its size is the workspace's: the product of five sizes.
func.func @outer(%query: tensor<?x2x?x16xf32> {attn.name = "query", attn.dims = ["batch", 2, "len", 16]},
                 %key: tensor<?x2x?x16xf32> {attn.name = "key", attn.dims = ["batch", 2, "kv", 16]})
    -> (tensor<?x2x?xf32> {attn.name = "most"}) {
  %score = attn.score %query, %key scale(0.25)
      : tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32> -> tensor<?x2x?x?xf32>
  %most = attn.reduce max %score axes [3] : tensor<?x2x?x?xf32> -> tensor<?x2x?xf32>
  return %most : tensor<?x2x?xf32>
}
