// Two causal attentions, one after the other: the first context is a temporary.
!any = tensor<1x8x?x64xf32>
!score = tensor<1x8x?x?xf32>

func.func @chain(%query: !any {attn.name = "query", attn.dims = [1, 8, "len", 64]},
                 %key: !any {attn.name = "key", attn.dims = [1, 8, "len", 64]},
                 %value: !any {attn.name = "value", attn.dims = [1, 8, "len", 64]})
    -> (!any {attn.name = "context"}) {
  %score0 = attn.score %query, %key scale(0.125) : !any, !any -> !score
  %masked0 = attn.mask %score0 causal(top_left) : !score
  %prob0 = attn.softmax %masked0 : !score
  %context0 = attn.context %prob0, %value : !score, !any -> !any
  %score1 = attn.score %context0, %key scale(0.125) : !any, !any -> !score
  %masked1 = attn.mask %score1 causal(top_left) : !score
  %prob1 = attn.softmax %masked1 : !score
  %context1 = attn.context %prob1, %value : !score, !any -> !any
  return %context1 : !any
}
