// The smallest spec.
func.func @normalise(%score: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %prob = attn.softmax %score : tensor<3x5xf32>
  return %prob : tensor<3x5xf32>
}
