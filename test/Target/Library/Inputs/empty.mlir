// Results that hold elements where what they are computed from holds none.
func.func @totals(%x: tensor<?x?x32xf32> {attn.name = "x", attn.dims = ["batch", "len", 32]},
                  %weight: tensor<32x32xf32> {attn.name = "weight"})
    -> (tensor<?x?x32xf32> {attn.name = "y"}, tensor<f32> {attn.name = "total"}) {
  %y = attn.linear %x, %weight : tensor<?x?x32xf32>, tensor<32x32xf32> -> tensor<?x?x32xf32>
  %total = attn.reduce sum %y axes [0, 1, 2] : tensor<?x?x32xf32> -> tensor<f32>
  return %y, %total : tensor<?x?x32xf32>, tensor<f32>
}

// Without keys the temporaries have no bytes.
func.func @stages(%query: tensor<?x2x?x8xf64> {attn.name = "query", attn.dims = ["batch", 2, "q_len", 8]},
                  %key: tensor<?x2x?x8xf64> {attn.name = "key", attn.dims = ["batch", 2, "kv_len", 8]},
                  %value: tensor<?x2x?x8xf64> {attn.name = "value", attn.dims = ["batch", 2, "kv_len", 8]})
    -> (tensor<?x2x?x8xf64> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.5)
      : tensor<?x2x?x8xf64>, tensor<?x2x?x8xf64> -> tensor<?x2x?x?xf64>
  %prob = attn.softmax %score : tensor<?x2x?x?xf64>
  %context = attn.context %prob, %value
      : tensor<?x2x?x?xf64>, tensor<?x2x?x8xf64> -> tensor<?x2x?x8xf64>
  return %context : tensor<?x2x?x8xf64>
}
