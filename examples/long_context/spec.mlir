// Causal attention over a sequence that several processes share.
//
// Each process calls the function with its shards: attn.shard gives rank r a block from the first half of the
// sequence and one from the second, so that all ranks see equally many keys.

!rows = tensor<?x8x?x64xf32>
!keys = tensor<?x2x?x64xf32>
!score = tensor<?x8x?x?xf32>

func.func @prefill(
    %query: !rows {attn.name = "query", attn.dims = ["batch", 8, "len", 64]},
    %key: !keys {attn.name = "key", attn.dims = ["batch", 2, "len", 64]},
    %value: !keys {attn.name = "value", attn.dims = ["batch", 2, "len", 64]})
    -> (!rows {attn.name = "context"}) attributes {attn.shard = {len = #attn.shard<zigzag>}} {
  %score = attn.score %query, %key scale(0.125) : !rows, !keys
  %masked = attn.mask %score causal(top_left) : !score
  %prob = attn.softmax %masked : !score
  %context = attn.context %prob, %value : !score, !keys
  return %context : !rows
}
