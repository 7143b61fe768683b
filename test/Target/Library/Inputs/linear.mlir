// A layer with a constant weight, which a GPU keeps.
func.func @layer(%x: tensor<?x64xf32> {attn.name = "x", attn.dims = ["n", 64]},
                 %residual: tensor<?x4xf32> {attn.name = "residual", attn.dims = ["n", 4]})
    -> (tensor<?x4xf32> {attn.name = "y", attn.dims = ["n", 4]}) {
  %weight = arith.constant dense<2.0> : tensor<4x64xf32>
  %product = attn.linear %x, %weight : tensor<?x64xf32>, tensor<4x64xf32> -> tensor<?x4xf32>
  %y = arith.addf %product, %residual : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
