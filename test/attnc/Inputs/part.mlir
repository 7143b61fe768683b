// Causal attention over a part of a sequence that several processes share: what parts of its rows see of
// one part of its keys, each at their positions. `batch` counts the parts of rows: each has a start of
// its own, and keys of its own or, with a stride of 0, shared ones.
//
// Keys that no row sees are skipped. With the lse, merge.mlir merges results over other keys; a row that sees
// none here has context 0 and lse -inf.

!rows = tensor<?x8x?x64xf32>
!keys = tensor<?x2x?x64xf32>
!score = tensor<?x8x?x?xf32>

func.func @part(
    %query: !rows {attn.name = "query", attn.dims = ["batch", 8, "q_len", 64]},
    %row_start: tensor<?xi32> {attn.name = "row_start", attn.dims = ["batch"]},
    %key: !keys {attn.name = "key", attn.dims = ["batch", 2, "kv_len", 64]},
    %value: !keys {attn.name = "value", attn.dims = ["batch", 2, "kv_len", 64]},
    %key_start: tensor<?xi32> {attn.name = "key_start", attn.dims = ["batch"]})
    -> (!rows {attn.name = "context"}, tensor<?x8x?xf32> {attn.name = "lse"}) {
  %score = attn.score %query, %key scale(0.125) : !rows, !keys
  %masked = attn.mask %score positions(%row_start, %key_start : tensor<?xi32>, tensor<?xi32>) causal(top_left) : !score
  %prob = attn.softmax %masked : !score
  %context = attn.context %prob, %value : !score, !keys
  %lse = attn.lse %masked : !score
  return %context, %lse : !rows, tensor<?x8x?xf32>
}
