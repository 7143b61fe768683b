// Cross-attention: a decoder's queries over an encoder's keys, with values wider
// than the heads. All sizes are fixed, so everything is known at compile time.

func.func @cross(
    %query: tensor<2x4x49x64xf32> {attn.name = "query"},
    %key: tensor<2x4x129x64xf32> {attn.name = "key"},
    %value: tensor<2x4x129x96xf32> {attn.name = "value"})
    -> (tensor<2x4x49x96xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.125)
      : tensor<2x4x49x64xf32>, tensor<2x4x129x64xf32> -> tensor<2x4x49x129xf32>
  %prob = attn.softmax %score : tensor<2x4x49x129xf32>
  %context = attn.context %prob, %value
      : tensor<2x4x49x129xf32>, tensor<2x4x129x96xf32> -> tensor<2x4x49x96xf32>
  return %context : tensor<2x4x49x96xf32>
}
