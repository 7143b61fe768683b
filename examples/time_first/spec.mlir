// Multi-head attention as sequence models have it: time × batch × channel. Heads are views
// of what the projections wrote, also in this order; nothing is transposed.

!sequence = tensor<?x?x32xf32>
!heads = tensor<?x2x?x16xf32>
!score = tensor<?x2x?x?xf32>
!square = tensor<32x32xf32>
!row = tensor<32xf32>

// Self-attention with biases; keys where key_padding is true take no part. The prob is a
// second result and is stored, as the caller asks for it.
func.func @self_attention(
    %query: !sequence {attn.name = "query", attn.dims = ["len", "batch", 32]},
    %key_padding: tensor<?x?xi1> {attn.name = "key_padding", attn.dims = ["batch", "len"]},
    %q_weight: !square {attn.name = "q_proj_weight"}, %q_bias: !row {attn.name = "q_proj_bias"},
    %k_weight: !square {attn.name = "k_proj_weight"}, %k_bias: !row {attn.name = "k_proj_bias"},
    %v_weight: !square {attn.name = "v_proj_weight"}, %v_bias: !row {attn.name = "v_proj_bias"},
    %out_weight: !square {attn.name = "out_proj_weight"}, %out_bias: !row {attn.name = "out_proj_bias"})
    -> (!sequence {attn.name = "out"}, !score {attn.name = "prob"}) {
  %q_row = attn.linear %query, %q_weight, %q_bias : !sequence, !square, !row -> !sequence
  %k_row = attn.linear %query, %k_weight, %k_bias : !sequence, !square, !row -> !sequence
  %v_row = attn.linear %query, %v_weight, %v_bias : !sequence, !square, !row -> !sequence
  %q = attn.split_heads %q_row num_heads(2) layout(time_first) : !sequence -> !heads
  %k = attn.split_heads %k_row num_heads(2) layout(time_first) : !sequence -> !heads
  %v = attn.split_heads %v_row num_heads(2) layout(time_first) : !sequence -> !heads
  %score = attn.score %q, %k scale(0.25) : !heads, !heads -> !score
  %masked = attn.mask %score {
  ^bb0(%batch: index, %head: index, %i: index, %j: index):
    %is_padding = tensor.extract %key_padding[%batch, %j] : tensor<?x?xi1>
    %true = arith.constant true
    %visible = arith.xori %is_padding, %true : i1
    attn.yield %visible : i1
  } : !score
  %prob = attn.softmax %masked : !score
  %context = attn.context %prob, %v : !score, !heads -> !heads
  %merged = attn.merge_heads %context layout(time_first) : !heads -> !sequence
  %out = attn.linear %merged, %out_weight, %out_bias : !sequence, !square, !row -> !sequence
  return %out, %prob : !sequence, !score
}

// Cross-attention without biases; a float mask is added to the score.
func.func @cross_attention(
    %query: !sequence {attn.name = "query", attn.dims = ["tgt_len", "batch", 32]},
    %memory: !sequence {attn.name = "memory", attn.dims = ["src_len", "batch", 32]},
    %attn_mask: tensor<?x?xf32> {attn.name = "attn_mask", attn.dims = ["tgt_len", "src_len"]},
    %q_weight: !square {attn.name = "q_proj_weight"}, %k_weight: !square {attn.name = "k_proj_weight"},
    %v_weight: !square {attn.name = "v_proj_weight"}, %out_weight: !square {attn.name = "out_proj_weight"})
    -> (!sequence {attn.name = "out"}) {
  %q_row = attn.linear %query, %q_weight : !sequence, !square -> !sequence
  %k_row = attn.linear %memory, %k_weight : !sequence, !square -> !sequence
  %v_row = attn.linear %memory, %v_weight : !sequence, !square -> !sequence
  %q = attn.split_heads %q_row num_heads(2) layout(time_first) : !sequence -> !heads
  %k = attn.split_heads %k_row num_heads(2) layout(time_first) : !sequence -> !heads
  %v = attn.split_heads %v_row num_heads(2) layout(time_first) : !sequence -> !heads
  %score = attn.score %q, %k scale(0.25) : !heads, !heads -> !score
  %biased = attn.modify_score %score {
  ^bb0(%s: f32, %batch: index, %head: index, %i: index, %j: index):
    %m = tensor.extract %attn_mask[%i, %j] : tensor<?x?xf32>
    %r = arith.addf %s, %m : f32
    attn.yield %r : f32
  } : !score
  %prob = attn.softmax %biased : !score
  %context = attn.context %prob, %v : !score, !heads -> !heads
  %merged = attn.merge_heads %context layout(time_first) : !heads -> !sequence
  %out = attn.linear %merged, %out_weight : !sequence, !square -> !sequence
  return %out : !sequence
}

// Cross-attention in a decoder's step: key and value were projected and split once, when
// the encoder was done.
func.func @static_key_value(
    %query: !sequence {attn.name = "query", attn.dims = ["tgt_len", "batch", 32]},
    %prev_key: !heads {attn.name = "prev_key", attn.dims = ["batch", 2, "src_len", 16]},
    %prev_value: !heads {attn.name = "prev_value", attn.dims = ["batch", 2, "src_len", 16]},
    %key_padding: tensor<?x?xi1> {attn.name = "key_padding", attn.dims = ["batch", "src_len"]},
    %q_weight: !square {attn.name = "q_proj_weight"}, %q_bias: !row {attn.name = "q_proj_bias"},
    %out_weight: !square {attn.name = "out_proj_weight"}, %out_bias: !row {attn.name = "out_proj_bias"})
    -> (!sequence {attn.name = "out"}) {
  %q_row = attn.linear %query, %q_weight, %q_bias : !sequence, !square, !row -> !sequence
  %q = attn.split_heads %q_row num_heads(2) layout(time_first) : !sequence -> !heads
  %score = attn.score %q, %prev_key scale(0.25) : !heads, !heads -> !score
  %masked = attn.mask %score {
  ^bb0(%batch: index, %head: index, %i: index, %j: index):
    %is_padding = tensor.extract %key_padding[%batch, %j] : tensor<?x?xi1>
    %true = arith.constant true
    %visible = arith.xori %is_padding, %true : i1
    attn.yield %visible : i1
  } : !score
  %prob = attn.softmax %masked : !score
  %context = attn.context %prob, %prev_value : !score, !heads -> !heads
  %merged = attn.merge_heads %context layout(time_first) : !heads -> !sequence
  %out = attn.linear %merged, %out_weight, %out_bias : !sequence, !square, !row -> !sequence
  return %out : !sequence
}

// Incremental decoding: the key and value of the step's token are appended to those of the
// steps before. The step's part is a result, which the caller keeps for the next one. With
// a cache of fixed size that is written in place, it is attn.append_cache instead.
func.func @incremental(
    %query: !sequence {attn.name = "query", attn.dims = ["step_len", "batch", 32]},
    %prev_key: !heads {attn.name = "prev_key", attn.dims = ["batch", 2, "prev_len", 16]},
    %prev_value: !heads {attn.name = "prev_value", attn.dims = ["batch", 2, "prev_len", 16]},
    %q_weight: !square {attn.name = "q_proj_weight"}, %q_bias: !row {attn.name = "q_proj_bias"},
    %k_weight: !square {attn.name = "k_proj_weight"}, %k_bias: !row {attn.name = "k_proj_bias"},
    %v_weight: !square {attn.name = "v_proj_weight"}, %v_bias: !row {attn.name = "v_proj_bias"},
    %out_weight: !square {attn.name = "out_proj_weight"}, %out_bias: !row {attn.name = "out_proj_bias"})
    -> (!sequence {attn.name = "out"}, !heads {attn.name = "step_key"},
        !heads {attn.name = "step_value"}) {
  %q_row = attn.linear %query, %q_weight, %q_bias : !sequence, !square, !row -> !sequence
  %k_row = attn.linear %query, %k_weight, %k_bias : !sequence, !square, !row -> !sequence
  %v_row = attn.linear %query, %v_weight, %v_bias : !sequence, !square, !row -> !sequence
  %q = attn.split_heads %q_row num_heads(2) layout(time_first) : !sequence -> !heads
  %k = attn.split_heads %k_row num_heads(2) layout(time_first) : !sequence -> !heads
  %v = attn.split_heads %v_row num_heads(2) layout(time_first) : !sequence -> !heads
  %keys = tensor.concat dim(2) %prev_key, %k : (!heads, !heads) -> !heads
  %values = tensor.concat dim(2) %prev_value, %v : (!heads, !heads) -> !heads
  %score = attn.score %q, %keys scale(0.25) : !heads, !heads -> !score
  %masked = attn.mask %score causal(bottom_right) : !score
  %prob = attn.softmax %masked : !score
  %context = attn.context %prob, %values : !score, !heads -> !heads
  %merged = attn.merge_heads %context layout(time_first) : !heads -> !sequence
  %out = attn.linear %merged, %out_weight, %out_bias : !sequence, !square, !row -> !sequence
  return %out, %k, %v : !sequence, !heads, !heads
}
