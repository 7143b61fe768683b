// Multi-head self-attention as a module: projections, attention over the keys that are no
// padding, merged heads, output projection, residual and LayerNorm. The linear layers, the
// attention between them and the norm are a kernel each; heads are never copied.
//
// attn.dropout without a seed is inference: it is an identity, and is removed.

!hidden = tensor<?x?x32xf32>
!heads = tensor<?x2x?x16xf32>
!score = tensor<?x2x?x?xf32>
!square = tensor<32x32xf32>
!row = tensor<32xf32>
!padding = tensor<?x?xi1>

// What both forms have in common: heads over keys that are no padding.
func.func private @attend(%query: !hidden, %key: !hidden, %value: !hidden,
                          %padding: !padding) -> !hidden {
  %q = attn.split_heads %query num_heads(2) : !hidden -> !heads
  %k = attn.split_heads %key num_heads(2) : !hidden -> !heads
  %v = attn.split_heads %value num_heads(2) : !hidden -> !heads
  %score = attn.score %q, %k scale(0.25) : !heads, !heads -> !score
  // (batch, len), broadcast over heads and queries.
  %masked = attn.mask %score {
  ^bb0(%batch: index, %head: index, %i: index, %j: index):
    %is_padding = tensor.extract %padding[%batch, %j] : !padding
    %true = arith.constant true
    %visible = arith.xori %is_padding, %true : i1
    attn.yield %visible : i1
  } : !score
  %prob = attn.softmax %masked : !score
  %dropped = attn.dropout %prob rate(0.1) : !score
  %context = attn.context %dropped, %v : !score, !heads -> !heads
  %merged = attn.merge_heads %context : !heads -> !hidden
  return %merged : !hidden
}

func.func @module(
    %hidden: !hidden {attn.name = "hidden", attn.dims = ["batch", "len", 32]},
    %padding: !padding {attn.name = "padding", attn.dims = ["batch", "len"]},
    %query_weight: !square {attn.name = "query_weight"}, %query_bias: !row {attn.name = "query_bias"},
    %key_weight: !square {attn.name = "key_weight"}, %key_bias: !row {attn.name = "key_bias"},
    %value_weight: !square {attn.name = "value_weight"}, %value_bias: !row {attn.name = "value_bias"},
    %out_weight: !square {attn.name = "out_weight"}, %out_bias: !row {attn.name = "out_bias"},
    %norm_weight: !row {attn.name = "norm_weight"}, %norm_bias: !row {attn.name = "norm_bias"})
    -> (!hidden {attn.name = "out"}) {
  %query = attn.linear %hidden, %query_weight, %query_bias : !hidden, !square, !row -> !hidden
  %key = attn.linear %hidden, %key_weight, %key_bias : !hidden, !square, !row -> !hidden
  %value = attn.linear %hidden, %value_weight, %value_bias : !hidden, !square, !row -> !hidden
  %attended = call @attend(%query, %key, %value, %padding)
      : (!hidden, !hidden, !hidden, !padding) -> !hidden

  %projected = attn.linear %attended, %out_weight, %out_bias : !hidden, !square, !row -> !hidden
  %dropped = attn.dropout %projected rate(0.1) : !hidden
  %sum = attn.map %dropped, %hidden {
  ^bb0(%x: f32, %residual: f32):
    %s = arith.addf %x, %residual : f32
    attn.yield %s : f32
  } : !hidden, !hidden -> !hidden
  %out = attn.layer_norm %sum scale(%norm_weight : !row) bias(%norm_bias : !row)
      epsilon(1.0e-5) : !hidden
  return %out : !hidden
}

// The simplified form: the tokens attend to each other as they are.
func.func @simplified(
    %hidden: !hidden {attn.name = "hidden", attn.dims = ["batch", "len", 32]},
    %padding: !padding {attn.name = "padding", attn.dims = ["batch", "len"]})
    -> (!hidden {attn.name = "out"}) {
  %out = call @attend(%hidden, %hidden, %hidden, %padding)
      : (!hidden, !hidden, !hidden, !padding) -> !hidden
  return %out : !hidden
}
