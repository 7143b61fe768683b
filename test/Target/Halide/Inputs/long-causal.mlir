!t = tensor<1x2x600x64xf32>
!s = tensor<1x2x600x600xf32>
func.func @long_causal(%q: !t, %k: !t, %v: !t) -> !t {
  %score = attn.score %q, %k : !t, !t -> !s
  %masked = attn.mask %score causal(top_left) : !s
  %prob = attn.softmax %masked : !s
  %context = attn.context %prob, %v : !s, !t -> !t
  return %context : !t
}
