// A linear layer and a choice among its results, with constants of several kinds and sizes.
func.func @layers(%x: tensor<?x1x64xf32> {attn.name = "x", attn.dims = ["n", 1, 64]},
                  %up: tensor<96x64xf32> {attn.weight = "up"},
                  %up_bias: tensor<96xf32> {attn.weight = "up_bias"},
                  %keep: tensor<5x96xi1> {attn.weight = "keep"},
                  %shift: tensor<5x1xf32> {attn.weight = "shift"})
    -> (tensor<?x5x96xf32> {attn.name = "y", attn.dims = ["n", 5, 96]}) {
  %wide = attn.linear %x, %up, %up_bias
      : tensor<?x1x64xf32>, tensor<96x64xf32>, tensor<96xf32> -> tensor<?x1x96xf32>
  %y = attn.map %wide, %keep, %shift {
  ^bb0(%each: f32, %kept: i1, %more: f32):
    %sum = arith.addf %each, %more : f32
    %chosen = arith.select %kept, %sum, %more : f32
    attn.yield %chosen : f32
  } : tensor<?x1x96xf32>, tensor<5x96xi1>, tensor<5x1xf32> -> tensor<?x5x96xf32>
  return %y : tensor<?x5x96xf32>
}
