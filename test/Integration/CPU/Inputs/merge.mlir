// Two parts, of which some rows see no key.
func.func @parts(%context_a: tensor<?x8x?x64xf32>, %lse_a: tensor<?x8x?xf32>,
                 %context_b: tensor<?x8x?x64xf32>, %lse_b: tensor<?x8x?xf32>)
    -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %context, %lse = attn.merge %context_a, %lse_a, %context_b, %lse_b : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
  return %context, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

func.func @half_precision(%context_a: tensor<2x3x1x80xbf16>, %lse_a: tensor<2x3x1xf32>,
                 %context_b: tensor<2x3x1x80xbf16>, %lse_b: tensor<2x3x1xf32>)
    -> (tensor<2x3x1x80xbf16>, tensor<2x3x1xf32>) {
  %context, %lse = attn.merge %context_a, %lse_a, %context_b, %lse_b : tensor<2x3x1x80xbf16>, tensor<2x3x1xf32>
  return %context, %lse : tensor<2x3x1x80xbf16>, tensor<2x3x1xf32>
}

// Attention over two sets of keys, of which the second is shorter in each sequence; an attention sink is
// merged as a third part.
func.func @halves(%query: tensor<?x4x?x64xf32> {attn.dims = ["batch", 4, "q_len", 64]}, %key_a: tensor<?x2x?x64xf32>, %value_a: tensor<?x2x?x64xf32>,
                  %key_b: tensor<?x2x?x64xf32>, %value_b: tensor<?x2x?x64xf32>, %lengths: tensor<?xi32> {attn.dims = ["batch"]},
                  %nothing: tensor<?x4x?x64xf32>, %sink: tensor<?x4x?xf32>) -> tensor<?x4x?x64xf32> {
  %score_a = attn.score %query, %key_a scale(0.125) : tensor<?x4x?x64xf32>, tensor<?x2x?x64xf32>
  %prob_a = attn.softmax %score_a : tensor<?x4x?x?xf32>
  %context_a = attn.context %prob_a, %value_a : tensor<?x4x?x?xf32>, tensor<?x2x?x64xf32>
  %lse_a = attn.lse %score_a : tensor<?x4x?x?xf32>
  %all_b = attn.score %query, %key_b scale(0.125) : tensor<?x4x?x64xf32>, tensor<?x2x?x64xf32>
  %score_b = attn.mask %all_b kv_lengths(%lengths : tensor<?xi32>) : tensor<?x4x?x?xf32>
  %prob_b = attn.softmax %score_b : tensor<?x4x?x?xf32>
  %context_b = attn.context %prob_b, %value_b : tensor<?x4x?x?xf32>, tensor<?x2x?x64xf32>
  %lse_b = attn.lse %score_b : tensor<?x4x?x?xf32>
  %both, %lse = attn.merge %context_a, %lse_a, %context_b, %lse_b : tensor<?x4x?x64xf32>, tensor<?x4x?xf32>
  %context, %all = attn.merge %both, %lse, %nothing, %sink : tensor<?x4x?x64xf32>, tensor<?x4x?xf32>
  return %context : tensor<?x4x?x64xf32>
}
