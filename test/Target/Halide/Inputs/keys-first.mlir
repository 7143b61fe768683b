func.func @keys_first(%q: tensor<1x32x1x128xf16>, %key: tensor<1x4096x8x128xf16>, %value: tensor<1x4096x8x128xf16>)
    -> tensor<1x32x1x128xf16> {
  %k = attn.transpose %key [0, 2, 1, 3] : tensor<1x4096x8x128xf16> -> tensor<1x8x4096x128xf16>
  %v = attn.transpose %value [0, 2, 1, 3] : tensor<1x4096x8x128xf16> -> tensor<1x8x4096x128xf16>
  %score = attn.score %q, %k scale(0.125) : tensor<1x32x1x128xf16>, tensor<1x8x4096x128xf16>
  %prob = attn.softmax %score : tensor<1x32x1x4096xf16>
  %context = attn.context %prob, %v : tensor<1x32x1x4096xf16>, tensor<1x8x4096x128xf16>
  return %context : tensor<1x32x1x128xf16>
}
