// The rows that are appended come before the ids that a later op refuses.
func.func @refused(%rows: tensor<1x1x1x4xf32>, %length: tensor<1xi32>, %table: tensor<3x4xf32>, %ids: tensor<2xi32>,
                   %offset: tensor<2xi32>, %cache: tensor<1x1x8x4xf32>)
    -> (tensor<2x4xf32>, tensor<1x1x8x4xf32>) {
  %grown = attn.append_cache %cache, %rows, %length : tensor<1x1x8x4xf32>, tensor<1x1x1x4xf32>, tensor<1xi32>
  %sum = arith.addi %ids, %offset : tensor<2xi32>
  %picked = attn.embedding %table, %sum : tensor<3x4xf32>, tensor<2xi32> -> tensor<2x4xf32>
  return %picked, %grown : tensor<2x4xf32>, tensor<1x1x8x4xf32>
}
