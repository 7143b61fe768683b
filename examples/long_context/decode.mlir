// A token that sees all keys of a cache that several processes share. Each has the token's query; of the keys it
// has any, in any order and of any number.

!row = tensor<?x8x1x64xf32>
!keys = tensor<?x2x?x64xf32>
!score = tensor<?x8x1x?xf32>

func.func @decode(
    %query: !row {attn.name = "query", attn.dims = ["batch", 8, 1, 64]},
    %key: !keys {attn.name = "key", attn.dims = ["batch", 2, "kv_len", 64]},
    %value: !keys {attn.name = "value", attn.dims = ["batch", 2, "kv_len", 64]})
    -> (!row {attn.name = "context"}) attributes {attn.shard = {kv_len = #attn.shard<unordered>}} {
  %score = attn.score %query, %key scale(0.125) : !row, !keys
  %prob = attn.softmax %score : !score
  %context = attn.context %prob, %value : !score, !keys
  return %context : !row
}
