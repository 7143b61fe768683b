// Enough keys for several parts, of which the last is shorter.
func.func @parts(%query: tensor<1x2x1x64xf32> {attn.name = "query"},
                 %key: tensor<1x2x5000x64xf32> {attn.name = "key"})
    -> (tensor<1x2x1x64xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.125)
      : tensor<1x2x1x64xf32>, tensor<1x2x5000x64xf32> -> tensor<1x2x1x5000xf32>
  %prob = attn.softmax %score : tensor<1x2x1x5000xf32>
  %context = attn.context %prob, %key
      : tensor<1x2x1x5000xf32>, tensor<1x2x5000x64xf32> -> tensor<1x2x1x64xf32>
  return %context : tensor<1x2x1x64xf32>
}
