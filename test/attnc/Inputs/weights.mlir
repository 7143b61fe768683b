func.func @project(%x: tensor<?x4xf32> {attn.name = "x", attn.dims = ["rows", 4]},
                   %weight: tensor<3x4xf32> {attn.name = "weight", attn.weight = "weight"},
                   %bias: tensor<3xf32> {attn.name = "bias", attn.weight = "bias"})
    -> (tensor<?x3xf32> {attn.name = "y"}) {
  %y = attn.linear %x, %weight, %bias
      : tensor<?x4xf32>, tensor<3x4xf32>, tensor<3xf32> -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}
