// One attention core of static shape but for the lengths.
func.func @attend(%query: tensor<2x4x?x16xf32> {attn.name = "query", attn.dims = [2, 4, "q_len", 16]},
                  %key: tensor<2x4x?x16xf32> {attn.name = "key", attn.dims = [2, 4, "kv_len", 16]},
                  %value: tensor<2x4x?x8xf32> {attn.name = "value", attn.dims = [2, 4, "kv_len", 8]},
                  %kv_len: tensor<2xi32> {attn.name = "lengths"})
    -> (tensor<2x4x?x8xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25)
      : tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32> -> tensor<2x4x?x?xf32>
  %masked = attn.mask %score kv_lengths(%kv_len : tensor<2xi32>) : tensor<2x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<2x4x?x?xf32>
  %context = attn.context %prob, %value
      : tensor<2x4x?x?xf32>, tensor<2x4x?x8xf32> -> tensor<2x4x?x8xf32>
  return %context : tensor<2x4x?x8xf32>
}
