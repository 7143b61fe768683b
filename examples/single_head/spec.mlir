// Self-attention in the forms that small models and courses use: one head with a width of
// its own, one projection for query, key and value, and two things to look out for: a
// softmax before the division by sqrt(d), and a mask of zeros and ones.

!tokens = tensor<?x?x32xf32>
!narrow = tensor<?x?x16xf32>
!square = tensor<32x32xf32>
!row = tensor<32xf32>

!head = tensor<?x1x?x16xf32>
!score = tensor<?x1x?x?xf32>
!heads = tensor<?x2x?x16xf32>
!scores = tensor<?x2x?x?xf32>

// One head, whose output is narrower than the tokens.
func.func @single_head(
    %tokens: !tokens {attn.name = "tokens", attn.dims = ["batch", "len", 32]},
    %query_weight: tensor<16x32xf32> {attn.name = "query_weight"},
    %key_weight: tensor<16x32xf32> {attn.name = "key_weight"},
    %value_weight: tensor<16x32xf32> {attn.name = "value_weight"})
    -> (!narrow {attn.name = "out"}) {
  %query = attn.linear %tokens, %query_weight : !tokens, tensor<16x32xf32> -> !narrow
  %key = attn.linear %tokens, %key_weight : !tokens, tensor<16x32xf32> -> !narrow
  %value = attn.linear %tokens, %value_weight : !tokens, tensor<16x32xf32> -> !narrow
  %q = attn.split_heads %query num_heads(1) : !narrow -> !head
  %k = attn.split_heads %key num_heads(1) : !narrow -> !head
  %v = attn.split_heads %value num_heads(1) : !narrow -> !head
  %score = attn.score %q, %k scale(0.25) : !head, !head -> !score
  %prob = attn.softmax %score : !score
  %context = attn.context %prob, %v : !score, !head -> !head
  %out = attn.merge_heads %context : !head -> !narrow
  return %out : !narrow
}

// Query, key and value from one projection, split afterwards: the parts are views.
func.func @packed(
    %tokens: !tokens {attn.name = "tokens", attn.dims = ["batch", "len", 32]},
    %qkv_weight: tensor<96x32xf32> {attn.name = "qkv_weight"},
    %qkv_bias: tensor<96xf32> {attn.name = "qkv_bias"},
    %out_weight: !square {attn.name = "out_weight"}, %out_bias: !row {attn.name = "out_bias"})
    -> (!tokens {attn.name = "out"}) {
  %qkv = attn.linear %tokens, %qkv_weight, %qkv_bias
      : !tokens, tensor<96x32xf32>, tensor<96xf32> -> tensor<?x?x96xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %tokens, %c0 : !tokens
  %len = tensor.dim %tokens, %c1 : !tokens
  %query = tensor.extract_slice %qkv[0, 0, 0] [%batch, %len, 32] [1, 1, 1]
      : tensor<?x?x96xf32> to !tokens
  %key = tensor.extract_slice %qkv[0, 0, 32] [%batch, %len, 32] [1, 1, 1]
      : tensor<?x?x96xf32> to !tokens
  %value = tensor.extract_slice %qkv[0, 0, 64] [%batch, %len, 32] [1, 1, 1]
      : tensor<?x?x96xf32> to !tokens
  %q = attn.split_heads %query num_heads(2) : !tokens -> !heads
  %k = attn.split_heads %key num_heads(2) : !tokens -> !heads
  %v = attn.split_heads %value num_heads(2) : !tokens -> !heads
  %score = attn.score %q, %k scale(0.25) : !heads, !heads -> !scores
  %prob = attn.softmax %score : !scores
  %context = attn.context %prob, %v : !scores, !heads -> !heads
  %merged = attn.merge_heads %context : !heads -> !tokens
  %out = attn.linear %merged, %out_weight, %out_bias : !tokens, !square, !row -> !tokens
  return %out : !tokens
}

// The softmax before the division by sqrt(d): other numbers than attention's, and what some
// models were trained with. It stays as it is written, and fuses.
func.func @scaled_after(
    %tokens: !tokens {attn.name = "tokens", attn.dims = ["batch", "len", 32]},
    %query_weight: !square {attn.name = "query_weight"}, %query_bias: !row {attn.name = "query_bias"},
    %key_weight: !square {attn.name = "key_weight"}, %key_bias: !row {attn.name = "key_bias"},
    %value_weight: !square {attn.name = "value_weight"}, %value_bias: !row {attn.name = "value_bias"})
    -> (!tokens {attn.name = "out"}) {
  %query = attn.linear %tokens, %query_weight, %query_bias : !tokens, !square, !row -> !tokens
  %key = attn.linear %tokens, %key_weight, %key_bias : !tokens, !square, !row -> !tokens
  %value = attn.linear %tokens, %value_weight, %value_bias : !tokens, !square, !row -> !tokens
  %q = attn.split_heads %query num_heads(2) : !tokens -> !heads
  %k = attn.split_heads %key num_heads(2) : !tokens -> !heads
  %v = attn.split_heads %value num_heads(2) : !tokens -> !heads
  %score = attn.score %q, %k : !heads, !heads -> !scores
  %prob = attn.softmax %score : !scores
  %scaled = attn.modify_prob %prob {
  ^bb0(%p: f32, %batch: index, %head: index, %i: index, %j: index):
    %root = arith.constant 4.0 : f32
    %r = arith.divf %p, %root : f32
    attn.yield %r : f32
  } : !scores
  %context = attn.context %scaled, %v : !scores, !heads -> !heads
  %out = attn.merge_heads %context : !heads -> !tokens
  return %out : !tokens
}

// A mask of zeros and ones for each sequence: 0 is hidden.
func.func @masked(
    %tokens: !tokens {attn.name = "tokens", attn.dims = ["batch", "len", 32]},
    %mask: tensor<?x?x?xi64> {attn.name = "mask", attn.dims = ["batch", "len", "len"]},
    %qkv_weight: tensor<96x32xf32> {attn.name = "qkv_weight"},
    %out_weight: !square {attn.name = "out_weight"}, %out_bias: !row {attn.name = "out_bias"})
    -> (!tokens {attn.name = "out"}) {
  %qkv = attn.linear %tokens, %qkv_weight
      : !tokens, tensor<96x32xf32> -> tensor<?x?x96xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %tokens, %c0 : !tokens
  %len = tensor.dim %tokens, %c1 : !tokens
  %query = tensor.extract_slice %qkv[0, 0, 0] [%batch, %len, 32] [1, 1, 1]
      : tensor<?x?x96xf32> to !tokens
  %key = tensor.extract_slice %qkv[0, 0, 32] [%batch, %len, 32] [1, 1, 1]
      : tensor<?x?x96xf32> to !tokens
  %value = tensor.extract_slice %qkv[0, 0, 64] [%batch, %len, 32] [1, 1, 1]
      : tensor<?x?x96xf32> to !tokens
  %q = attn.split_heads %query num_heads(2) : !tokens -> !heads
  %k = attn.split_heads %key num_heads(2) : !tokens -> !heads
  %v = attn.split_heads %value num_heads(2) : !tokens -> !heads
  %score = attn.score %q, %k scale(0.25) : !heads, !heads -> !scores
  %visible = attn.mask %score {
  ^bb0(%b: index, %head: index, %i: index, %j: index):
    %bit = tensor.extract %mask[%b, %i, %j] : tensor<?x?x?xi64>
    %zero = arith.constant 0 : i64
    %is_set = arith.cmpi ne, %bit, %zero : i64
    attn.yield %is_set : i1
  } : !scores
  %prob = attn.softmax %visible : !scores
  %dropped = attn.dropout %prob rate(0.1) : !scores
  %context = attn.context %dropped, %v : !scores, !heads -> !heads
  %merged = attn.merge_heads %context : !heads -> !tokens
  %projected = attn.linear %merged, %out_weight, %out_bias : !tokens, !square, !row -> !tokens
  %out = attn.dropout %projected rate(0.1) : !tokens
  return %out : !tokens
}
