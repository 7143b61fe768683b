// A constant weight, for one row and for many.
func.func @layer(%x: tensor<?x64xf32> {attn.dims = ["rows", 64]}) -> tensor<?x96xf32> {
  %w = arith.constant dense<0.5> : tensor<96x64xf32>
  %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<96x64xf32> -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}
