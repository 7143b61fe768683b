func.func @prefill(%query: tensor<1x4x300x64xf32> {attn.name = "query"},
                   %key: tensor<1x2x500x64xf32> {attn.name = "key"})
    -> (tensor<1x4x300x64xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.125)
      : tensor<1x4x300x64xf32>, tensor<1x2x500x64xf32> -> tensor<1x4x300x500xf32>
  %prob = attn.softmax %score : tensor<1x4x300x500xf32>
  %context = attn.context %prob, %key
      : tensor<1x4x300x500xf32>, tensor<1x2x500x64xf32> -> tensor<1x4x300x64xf32>
  return %context : tensor<1x4x300x64xf32>
}
