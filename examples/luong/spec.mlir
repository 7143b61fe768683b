// Attention of a decoder's step over an encoder's outputs, before there were transformers:
// Luong et al. 2015 (https://arxiv.org/abs/1508.04025) and Bahdanau et al. 2014
// (https://arxiv.org/abs/1409.0473). One query a sequence, whose prob over the keys is a
// result as well. Batch and number of keys are open, H is 32.

!hidden = tensor<?x32xf32>
!memory = tensor<?x?x32xf32>
!square = tensor<32x32xf32>
!row = tensor<32xf32>
!prob = tensor<?x?xf32>

!one_query = tensor<?x1x1x32xf32>
!keys = tensor<?x1x?x32xf32>
!score = tensor<?x1x1x?xf32>

// A query as one head of one row.
func.func private @as_query(%hidden: !hidden) -> !one_query {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %hidden, %c0 : !hidden
  %query = tensor.expand_shape %hidden [[0], [1, 2, 3]] output_shape [%batch, 1, 1, 32]
      : !hidden into !one_query
  return %query : !one_query
}

// Keys as one head.
func.func private @as_keys(%memory: !memory) -> !keys {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %memory, %c0 : !memory
  %len = tensor.dim %memory, %c1 : !memory
  %keys = tensor.expand_shape %memory [[0], [1, 2], [3]] output_shape [%batch, 1, %len, 32]
      : !memory into !keys
  return %keys : !keys
}

// Softmax over the keys, and the context.
func.func private @attend(%score: !score, %keys: !keys) -> (!hidden, !prob) {
  %prob = attn.softmax %score : !score
  %context = attn.context %prob, %keys : !score, !keys -> !one_query
  %context_row = tensor.collapse_shape %context [[0], [1, 2, 3]] : !one_query into !hidden
  %prob_row = tensor.collapse_shape %prob [[0], [1, 2, 3]] : !score into !prob
  return %context_row, %prob_row : !hidden, !prob
}

// tanh(linear(concat(context, hidden)))
func.func private @attentional(%context: !hidden, %hidden: !hidden, %weight: tensor<32x64xf32>,
                               %bias: !row) -> !hidden {
  %both = tensor.concat dim(1) %context, %hidden : (!hidden, !hidden) -> tensor<?x64xf32>
  %sum = attn.linear %both, %weight, %bias
      : tensor<?x64xf32>, tensor<32x64xf32>, !row -> !hidden
  %out = attn.map %sum {
  ^bb0(%x: f32):
    %t = math.tanh %x : f32
    attn.yield %t : f32
  } : !hidden -> !hidden
  return %out : !hidden
}

// Bilinear: score = key · linear(query), out = tanh(linear_q(query) + linear_v(context)).
func.func @bilinear(
    %query: !hidden {attn.name = "query", attn.dims = ["batch", 32]},
    %key: !memory {attn.name = "key", attn.dims = ["batch", "len", 32]},
    %score_weight: !square {attn.name = "score_weight"},
    %query_weight: !square {attn.name = "query_weight"}, %query_bias: !row {attn.name = "query_bias"},
    %value_weight: !square {attn.name = "value_weight"}, %value_bias: !row {attn.name = "value_bias"})
    -> (!hidden {attn.name = "out", attn.dims = ["batch", 32]},
        !prob {attn.name = "prob", attn.dims = ["batch", "len"]}) {
  %projected = attn.linear %query, %score_weight : !hidden, !square -> !hidden
  %q = call @as_query(%projected) : (!hidden) -> !one_query
  %k = call @as_keys(%key) : (!memory) -> !keys
  %score = attn.score %q, %k : !one_query, !keys -> !score
  %context, %prob = call @attend(%score, %k) : (!score, !keys) -> (!hidden, !prob)

  %from_query = attn.linear %query, %query_weight, %query_bias : !hidden, !square, !row -> !hidden
  %from_value = attn.linear %context, %value_weight, %value_bias : !hidden, !square, !row -> !hidden
  %out = attn.map %from_query, %from_value {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    %t = math.tanh %sum : f32
    attn.yield %t : f32
  } : !hidden, !hidden -> !hidden
  return %out, %prob : !hidden, !prob
}

// Luong's dot: score = key · hidden.
func.func @dot(
    %hidden: !hidden {attn.name = "hidden", attn.dims = ["batch", 32]},
    %memory: !memory {attn.name = "memory", attn.dims = ["batch", "len", 32]},
    %out_weight: tensor<32x64xf32> {attn.name = "out_weight"}, %out_bias: !row {attn.name = "out_bias"})
    -> (!hidden {attn.name = "out", attn.dims = ["batch", 32]},
        !prob {attn.name = "prob", attn.dims = ["batch", "len"]}) {
  %q = call @as_query(%hidden) : (!hidden) -> !one_query
  %k = call @as_keys(%memory) : (!memory) -> !keys
  %score = attn.score %q, %k : !one_query, !keys -> !score
  %context, %prob = call @attend(%score, %k) : (!score, !keys) -> (!hidden, !prob)
  %out = call @attentional(%context, %hidden, %out_weight, %out_bias)
      : (!hidden, !hidden, tensor<32x64xf32>, !row) -> !hidden
  return %out, %prob : !hidden, !prob
}

// Luong's general: score = hidden · linear(key).
func.func @general(
    %hidden: !hidden {attn.name = "hidden", attn.dims = ["batch", 32]},
    %memory: !memory {attn.name = "memory", attn.dims = ["batch", "len", 32]},
    %score_weight: !square {attn.name = "score_weight"},
    %out_weight: tensor<32x64xf32> {attn.name = "out_weight"}, %out_bias: !row {attn.name = "out_bias"})
    -> (!hidden {attn.name = "out", attn.dims = ["batch", 32]},
        !prob {attn.name = "prob", attn.dims = ["batch", "len"]}) {
  %projected = attn.linear %memory, %score_weight : !memory, !square -> !memory
  %q = call @as_query(%hidden) : (!hidden) -> !one_query
  %p = call @as_keys(%projected) : (!memory) -> !keys
  %k = call @as_keys(%memory) : (!memory) -> !keys
  %score = attn.score %q, %p : !one_query, !keys -> !score
  %context, %prob = call @attend(%score, %k) : (!score, !keys) -> (!hidden, !prob)
  %out = call @attentional(%context, %hidden, %out_weight, %out_bias)
      : (!hidden, !hidden, tensor<32x64xf32>, !row) -> !hidden
  return %out, %prob : !hidden, !prob
}

// Luong's concat: score = v · tanh(W [hidden; key]). One half of W projects the hidden
// state, the other the keys, so that nothing is repeated for every pair.
func.func @concat(
    %hidden: !hidden {attn.name = "hidden", attn.dims = ["batch", 32]},
    %memory: !memory {attn.name = "memory", attn.dims = ["batch", "len", 32]},
    %score_weight: tensor<32x64xf32> {attn.name = "score_weight"}, %v: !row {attn.name = "v"},
    %out_weight: tensor<32x64xf32> {attn.name = "out_weight"}, %out_bias: !row {attn.name = "out_bias"})
    -> (!hidden {attn.name = "out", attn.dims = ["batch", 32]},
        !prob {attn.name = "prob", attn.dims = ["batch", "len"]}) {
  %hidden_half = tensor.extract_slice %score_weight[0, 0] [32, 32] [1, 1]
      : tensor<32x64xf32> to !square
  %memory_half = tensor.extract_slice %score_weight[0, 32] [32, 32] [1, 1]
      : tensor<32x64xf32> to !square
  %from_hidden = attn.linear %hidden, %hidden_half : !hidden, !square -> !hidden
  %from_memory = attn.linear %memory, %memory_half : !memory, !square -> !memory
  %q = call @as_query(%from_hidden) : (!hidden) -> !one_query
  %p = call @as_keys(%from_memory) : (!memory) -> !keys
  %k = call @as_keys(%memory) : (!memory) -> !keys
  %score = attn.additive_score %q, %p, %v : !one_query, !keys, !row -> !score
  %context, %prob = call @attend(%score, %k) : (!score, !keys) -> (!hidden, !prob)
  %out = call @attentional(%context, %hidden, %out_weight, %out_bias)
      : (!hidden, !hidden, tensor<32x64xf32>, !row) -> !hidden
  return %out, %prob : !hidden, !prob
}

// The same over a bidirectional encoder: keys are 2H wide, W is 3H wide.
func.func @concat_bidirectional(
    %hidden: !hidden {attn.name = "hidden", attn.dims = ["batch", 32]},
    %memory: tensor<?x?x64xf32> {attn.name = "memory", attn.dims = ["batch", "len", 64]},
    %score_weight: tensor<32x96xf32> {attn.name = "score_weight"}, %v: !row {attn.name = "v"},
    %out_weight: tensor<32x96xf32> {attn.name = "out_weight"}, %out_bias: !row {attn.name = "out_bias"})
    -> (!hidden {attn.name = "out", attn.dims = ["batch", 32]},
        !prob {attn.name = "prob", attn.dims = ["batch", "len"]}) {
  %hidden_part = tensor.extract_slice %score_weight[0, 0] [32, 32] [1, 1]
      : tensor<32x96xf32> to !square
  %memory_part = tensor.extract_slice %score_weight[0, 32] [32, 64] [1, 1]
      : tensor<32x96xf32> to tensor<32x64xf32>
  %from_hidden = attn.linear %hidden, %hidden_part : !hidden, !square -> !hidden
  %from_memory = attn.linear %memory, %memory_part
      : tensor<?x?x64xf32>, tensor<32x64xf32> -> !memory
  %q = call @as_query(%from_hidden) : (!hidden) -> !one_query
  %p = call @as_keys(%from_memory) : (!memory) -> !keys
  %score = attn.additive_score %q, %p, %v : !one_query, !keys, !row -> !score
  %prob4 = attn.softmax %score : !score
  %values = attn.split_heads %memory num_heads(1) : tensor<?x?x64xf32> -> tensor<?x1x?x64xf32>
  %context4 = attn.context %prob4, %values
      : !score, tensor<?x1x?x64xf32> -> tensor<?x1x1x64xf32>
  %prob = tensor.collapse_shape %prob4 [[0], [1, 2, 3]] : !score into !prob
  %context = tensor.collapse_shape %context4 [[0], [1, 2, 3]]
      : tensor<?x1x1x64xf32> into tensor<?x64xf32>
  %both = tensor.concat dim(1) %context, %hidden
      : (tensor<?x64xf32>, !hidden) -> tensor<?x96xf32>
  %sum = attn.linear %both, %out_weight, %out_bias
      : tensor<?x96xf32>, tensor<32x96xf32>, !row -> !hidden
  %out = attn.map %sum {
  ^bb0(%x: f32):
    %t = math.tanh %x : f32
    attn.yield %t : f32
  } : !hidden -> !hidden
  return %out, %prob : !hidden, !prob
}
