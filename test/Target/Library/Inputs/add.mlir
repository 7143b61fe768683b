// The arguments of twice.mlir, as a graph.
func.func @twice(%query: tensor<?x64xf32> {attn.name = "query", attn.dims = ["n", 64]},
                 %key: tensor<?x64xf32> {attn.name = "key", attn.dims = ["n", 64]})
    -> (tensor<?x64xf32> {attn.name = "context", attn.dims = ["n", 64]}) {
  %sum = arith.addf %query, %key : tensor<?x64xf32>
  return %sum : tensor<?x64xf32>
}
