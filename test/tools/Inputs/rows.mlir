func.func @rows(%score: tensor<?x1000xf32>) -> tensor<?x1000xf32> {
  %prob = attn.softmax %score : tensor<?x1000xf32>
  return %prob : tensor<?x1000xf32>
}
