func.func @attend(%query: tensor<1x4x1x16xf32>, %key: tensor<1x4x16x16xf32>,
                  %value: tensor<1x4x16x16xf32>) -> (tensor<1x4x1x16xf32>, tensor<1x1xf32>) {
  %score = attn.score %query, %key scale(0.25)
      : tensor<1x4x1x16xf32>, tensor<1x4x16x16xf32> -> tensor<1x4x1x16xf32>
  %prob = attn.softmax %score : tensor<1x4x1x16xf32>
  %context = attn.context %prob, %value
      : tensor<1x4x1x16xf32>, tensor<1x4x16x16xf32> -> tensor<1x4x1x16xf32>
  %most = attn.reduce max %context axes [1, 3] : tensor<1x4x1x16xf32> -> tensor<1x1xf32>
  return %context, %most : tensor<1x4x1x16xf32>, tensor<1x1xf32>
}
