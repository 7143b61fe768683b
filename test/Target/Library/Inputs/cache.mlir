// One step of decoding: the new rows go behind the cache's, and the query sees those so far.
func.func @step(%query: tensor<?x4x?x16xf32> {attn.dims = ["batch", 4, "new", 16]},
                %rows: tensor<?x2x?x16xf32> {attn.dims = ["batch", 2, "new", 16]},
                %length: tensor<?xi32> {attn.dims = ["batch"]},
                %cache: tensor<?x2x?x16xf32> {attn.dims = ["batch", 2, "capacity", 16]})
    -> (tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32>) {
  %grown = attn.append_cache %cache, %rows, %length : tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>, tensor<?xi32>
  %score = attn.score %query, %grown scale(0.25) : tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32> -> tensor<?x4x?x?xf32>
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %n = tensor.extract %length[%b] : tensor<?xi32>
    %before = arith.index_cast %n : i32 to index
    %last = arith.addi %before, %q : index
    %seen = arith.cmpi ule, %k, %last : index
    attn.yield %seen : i1
  } : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %grown : tensor<?x4x?x?xf32>, tensor<?x2x?x16xf32> -> tensor<?x4x?x16xf32>
  return %context, %grown : tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32>
}
// The cache as it was is read as well: it must stay.
func.func @both(%rows: tensor<1x1x1x4xf32>, %length: tensor<1xi32>, %cache: tensor<1x1x8x4xf32>)
    -> (tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>) {
  %grown = attn.append_cache %cache, %rows, %length : tensor<1x1x8x4xf32>, tensor<1x1x1x4xf32>, tensor<1xi32>
  %change = arith.subf %grown, %cache : tensor<1x1x8x4xf32>
  return %grown, %change : tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>
}
