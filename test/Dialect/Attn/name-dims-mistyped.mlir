// RUN: attn-opt %s --attn-name-dims --split-input-file --verify-diagnostics -o /dev/null

func.func @slip(%query: tensor<?x8x?x64xf32> {attn.dims = ["batch", 8, "q_len", 64]},
    // expected-warning @+1 {{argument 1: the ops need "bacth" to equal "batch"; did you mean "batch"?}}
                %key: tensor<?x8x?x64xf32> {attn.dims = ["bacth", 8, "kv_len", 64]}) -> tensor<?x8x?x?xf32> {
  %score = attn.score %query, %key : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>
  return %score : tensor<?x8x?x?xf32>
}

// -----

// Models may name one size twice.
func.func @model(%query: tensor<?x8x?x64xf32> {attn.dims = ["batch", 8, "q_len", 64]},
                 %key: tensor<?x8x?x64xf32> {attn.dims = ["sequences", 8, "kv_len", 64]}) -> tensor<?x8x?x?xf32> {
  %score = attn.score %query, %key : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>
  return %score : tensor<?x8x?x?xf32>
}
