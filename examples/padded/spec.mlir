// A batch of sequences of different lengths, padded to one: keys from kv_len on
// take no part, whatever the padding holds. A sequence of length 0 gives 0.

func.func @padded(
    %query: tensor<?x4x?x32xf32> {attn.name = "query", attn.dims = ["batch", 4, "len", 32]},
    %key: tensor<?x4x?x32xf32> {attn.name = "key", attn.dims = ["batch", 4, "len", 32]},
    %value: tensor<?x4x?x32xf32> {attn.name = "value", attn.dims = ["batch", 4, "len", 32]},
    %kv_len: tensor<?xi32> {attn.name = "kv_len", attn.dims = ["batch"]})
    -> (tensor<?x4x?x32xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.17677669529663687)
      : tensor<?x4x?x32xf32>, tensor<?x4x?x32xf32> -> tensor<?x4x?x?xf32>
  %masked = attn.mask %score kv_lengths(%kv_len : tensor<?xi32>) : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %value
      : tensor<?x4x?x?xf32>, tensor<?x4x?x32xf32> -> tensor<?x4x?x32xf32>
  return %context : tensor<?x4x?x32xf32>
}
