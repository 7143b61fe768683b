// A transformer encoder: token embedding plus positions, then layers of self-attention,
// add & norm, a ReLU feed-forward, add & norm. The projections are shared over the heads:
// head_dim × head_dim each, applied to every head. Query and key are each divided by
// sqrt(head_dim); the compiler takes both divisions over into the scale of the score.
// A layer is a function of its own and called once for each: here twice.

!hidden = tensor<?x?x32xf32>
!heads = tensor<?x4x?x8xf32>
!score = tensor<?x4x?x?xf32>
!head_weight = tensor<8x8xf32>
!square = tensor<32x32xf32>
!up = tensor<64x32xf32>
!down = tensor<32x64xf32>
!row = tensor<32xf32>
!wide_row = tensor<64xf32>

func.func private @add(%x: !hidden, %y: !hidden) -> !hidden {
  %sum = attn.map %x, %y {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    attn.yield %r : f32
  } : !hidden, !hidden -> !hidden
  return %sum : !hidden
}

func.func private @divide_by_root(%x: !heads) -> !heads {
  %quotient = attn.map %x {
  ^bb0(%a: f32):
    %root = arith.constant 2.8284271247461903 : f32
    %r = arith.divf %a, %root : f32
    attn.yield %r : f32
  } : !heads -> !heads
  return %quotient : !heads
}

func.func private @layer(
    %hidden: !hidden, %query_weight: !head_weight, %key_weight: !head_weight, %value_weight: !head_weight,
    %out_weight: !square, %out_bias: !row, %norm1_weight: !row, %norm1_bias: !row,
    %up_weight: !up, %up_bias: !wide_row, %down_weight: !down, %down_bias: !row,
    %norm2_weight: !row, %norm2_bias: !row) -> !hidden {
  %split = attn.split_heads %hidden num_heads(4) : !hidden -> !heads
  %query_row = attn.linear %split, %query_weight : !heads, !head_weight -> !heads
  %key_row = attn.linear %split, %key_weight : !heads, !head_weight -> !heads
  %value = attn.linear %split, %value_weight : !heads, !head_weight -> !heads
  %query = func.call @divide_by_root(%query_row) : (!heads) -> !heads
  %key = func.call @divide_by_root(%key_row) : (!heads) -> !heads
  %score = attn.score %query, %key : !heads, !heads -> !score
  %prob = attn.softmax %score : !score
  %context = attn.context %prob, %value : !score, !heads -> !heads
  %merged = attn.merge_heads %context : !heads -> !hidden
  %attended = attn.linear %merged, %out_weight, %out_bias : !hidden, !square, !row -> !hidden
  %added = func.call @add(%attended, %hidden) : (!hidden, !hidden) -> !hidden
  %normed = attn.layer_norm %added scale(%norm1_weight : !row) bias(%norm1_bias : !row) epsilon(1.0e-5) : !hidden

  %wide = attn.linear %normed, %up_weight, %up_bias : !hidden, !up, !wide_row -> tensor<?x?x64xf32>
  %relu = attn.map %wide {
  ^bb0(%a: f32):
    %zero = arith.constant 0.0 : f32
    %r = arith.maximumf %a, %zero : f32
    attn.yield %r : f32
  } : tensor<?x?x64xf32> -> tensor<?x?x64xf32>
  %fed = attn.linear %relu, %down_weight, %down_bias : tensor<?x?x64xf32>, !down, !row -> !hidden
  %total = func.call @add(%fed, %normed) : (!hidden, !hidden) -> !hidden
  %out = attn.layer_norm %total scale(%norm2_weight : !row) bias(%norm2_bias : !row) epsilon(1.0e-5) : !hidden
  return %out : !hidden
}

func.func @encoder(
    %ids: tensor<?x?xi64> {attn.name = "ids", attn.dims = ["batch", "len"]},
    %table: tensor<50x32xf32> {attn.name = "words_weight"},
    %query_weight_0: !head_weight {attn.name = "layers_0_query_weight"}, %key_weight_0: !head_weight {attn.name = "layers_0_key_weight"},
    %value_weight_0: !head_weight {attn.name = "layers_0_value_weight"}, %out_weight_0: !square {attn.name = "layers_0_out_weight"},
    %out_bias_0: !row {attn.name = "layers_0_out_bias"}, %norm1_weight_0: !row {attn.name = "layers_0_norm1_weight"},
    %norm1_bias_0: !row {attn.name = "layers_0_norm1_bias"}, %up_weight_0: !up {attn.name = "layers_0_up_weight"},
    %up_bias_0: !wide_row {attn.name = "layers_0_up_bias"}, %down_weight_0: !down {attn.name = "layers_0_down_weight"},
    %down_bias_0: !row {attn.name = "layers_0_down_bias"}, %norm2_weight_0: !row {attn.name = "layers_0_norm2_weight"},
    %norm2_bias_0: !row {attn.name = "layers_0_norm2_bias"},
    %query_weight_1: !head_weight {attn.name = "layers_1_query_weight"}, %key_weight_1: !head_weight {attn.name = "layers_1_key_weight"},
    %value_weight_1: !head_weight {attn.name = "layers_1_value_weight"}, %out_weight_1: !square {attn.name = "layers_1_out_weight"},
    %out_bias_1: !row {attn.name = "layers_1_out_bias"}, %norm1_weight_1: !row {attn.name = "layers_1_norm1_weight"},
    %norm1_bias_1: !row {attn.name = "layers_1_norm1_bias"}, %up_weight_1: !up {attn.name = "layers_1_up_weight"},
    %up_bias_1: !wide_row {attn.name = "layers_1_up_bias"}, %down_weight_1: !down {attn.name = "layers_1_down_weight"},
    %down_bias_1: !row {attn.name = "layers_1_down_bias"}, %norm2_weight_1: !row {attn.name = "layers_1_norm2_weight"},
    %norm2_bias_1: !row {attn.name = "layers_1_norm2_bias"})
    -> (!hidden {attn.name = "hidden"}) {
  %words = attn.embedding %table, %ids : tensor<50x32xf32>, tensor<?x?xi64> -> !hidden
  %placed = attn.positions %words kind(sinusoidal_by_column) : !hidden
  %hidden0 = call @layer(%placed, %query_weight_0, %key_weight_0, %value_weight_0, %out_weight_0,
      %out_bias_0, %norm1_weight_0, %norm1_bias_0, %up_weight_0, %up_bias_0,
      %down_weight_0, %down_bias_0, %norm2_weight_0, %norm2_bias_0)
      : (!hidden, !head_weight, !head_weight, !head_weight, !square, !row, !row, !row,
         !up, !wide_row, !down, !row, !row, !row) -> !hidden
  %hidden1 = call @layer(%hidden0, %query_weight_1, %key_weight_1, %value_weight_1, %out_weight_1,
      %out_bias_1, %norm1_weight_1, %norm1_bias_1, %up_weight_1, %up_bias_1,
      %down_weight_1, %down_bias_1, %norm2_weight_1, %norm2_bias_1)
      : (!hidden, !head_weight, !head_weight, !head_weight, !square, !row, !row, !row,
         !up, !wide_row, !down, !row, !row, !row) -> !hidden
  return %hidden1 : !hidden
}
