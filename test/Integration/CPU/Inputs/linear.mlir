func.func @linear(%tokens: tensor<2x150x96xf32> {attn.name = "tokens"},
                  %weight: tensor<80x96xf32> {attn.name = "weight"},
                  %bias: tensor<80xf32> {attn.name = "bias"})
    -> (tensor<2x150x80xf32> {attn.name = "context"}) {
  %y = attn.linear %tokens, %weight, %bias
      : tensor<2x150x96xf32>, tensor<80x96xf32>, tensor<80xf32> -> tensor<2x150x80xf32>
  return %y : tensor<2x150x80xf32>
}
