!t = tensor<1x2x100x64xf32>
func.func @causal(%q: !t, %k: !t, %v: !t) -> !t {
  %score = attn.score %q, %k : !t, !t -> tensor<1x2x100x100xf32>
  %masked = attn.mask %score causal(top_left) : tensor<1x2x100x100xf32>
  %prob = attn.softmax %masked : tensor<1x2x100x100xf32>
  %context = attn.context %prob, %v : tensor<1x2x100x100xf32>, !t -> !t
  return %context : !t
}
