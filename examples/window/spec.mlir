// Each position sees the 16 before it, itself, and the 8 after it: the time grows
// with the length times the window, not with the square of the length.

func.func @window(
    %query: tensor<?x4x?x64xf32> {attn.name = "query", attn.dims = ["batch", 4, "len", 64]},
    %key: tensor<?x4x?x64xf32> {attn.name = "key", attn.dims = ["batch", 4, "len", 64]},
    %value: tensor<?x4x?x64xf32> {attn.name = "value", attn.dims = ["batch", 4, "len", 64]})
    -> (tensor<?x4x?x64xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.125)
      : tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32> -> tensor<?x4x?x?xf32>
  %masked = attn.mask %score window(16, 8) : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %value
      : tensor<?x4x?x?xf32>, tensor<?x4x?x64xf32> -> tensor<?x4x?x64xf32>
  return %context : tensor<?x4x?x64xf32>
}
