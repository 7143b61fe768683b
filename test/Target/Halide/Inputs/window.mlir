!t = tensor<1x2x512x64xf32>
func.func @window(%query: !t, %key: !t, %value: !t) -> !t {
  %score = attn.score %query, %key scale(0.125) : !t, !t -> tensor<1x2x512x512xf32>
  %masked = attn.mask %score window(63, 0) : tensor<1x2x512x512xf32>
  %prob = attn.softmax %masked : tensor<1x2x512x512xf32>
  %context = attn.context %prob, %value : tensor<1x2x512x512xf32>, !t -> !t
  return %context : !t
}
