!t = tensor<1x2x600x64xf32>
func.func @prefill(%q: !t, %k: !t, %v: !t) -> !t {
  %score = attn.score %q, %k : !t, !t -> tensor<1x2x600x600xf32>
  %prob = attn.softmax %score : tensor<1x2x600x600xf32>
  %context = attn.context %prob, %v : tensor<1x2x600x600xf32>, !t -> !t
  return %context : !t
}
