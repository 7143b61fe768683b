func.func @grouped(%query: tensor<1x32x1x128xf32>, %key: tensor<1x8x4096x128xf32>,
                   %value: tensor<1x8x4096x128xf32>) -> tensor<1x32x1x128xf32> {
  %score = attn.score %query, %key scale(0.0883)
      : tensor<1x32x1x128xf32>, tensor<1x8x4096x128xf32> -> tensor<1x32x1x4096xf32>
  %prob = attn.softmax %score : tensor<1x32x1x4096xf32>
  %context = attn.context %prob, %value
      : tensor<1x32x1x4096xf32>, tensor<1x8x4096x128xf32> -> tensor<1x32x1x128xf32>
  return %context : tensor<1x32x1x128xf32>
}
