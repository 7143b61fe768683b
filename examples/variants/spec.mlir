// What models change about attention, a function each: `attnc run spec.mlir --function=prefix`.
// All take heads that were split already, with open batch and length, and fuse into one
// kernel that never stores the score, except where the comment says otherwise. Causal,
// padded, windowed, biased and softcapped attention, ALiBi and grouped heads have folders
// of their own beside this one.

!heads = tensor<?x4x?x16xf32>
!wide = tensor<?x4x?x32xf32>
!score = tensor<?x4x?x?xf32>

// Each position sees all others.
func.func @bidirectional(
    %query: !heads {attn.name = "query", attn.dims = ["batch", 4, "len", 16]},
    %key: !heads {attn.name = "key", attn.dims = ["batch", 4, "len", 16]},
    %value: !heads {attn.name = "value", attn.dims = ["batch", 4, "len", 16]})
    -> (!heads {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25) : !heads, !heads -> !score
  %prob = attn.softmax %score : !score
  %context = attn.context %prob, %value : !score, !heads -> !heads
  return %context : !heads
}

// A decoder's batch of prompts of different lengths: causal, and padding hidden.
func.func @causal_padded(
    %query: !heads {attn.name = "query", attn.dims = ["batch", 4, "len", 16]},
    %key: !heads {attn.name = "key", attn.dims = ["batch", 4, "len", 16]},
    %value: !heads {attn.name = "value", attn.dims = ["batch", 4, "len", 16]},
    %kv_len: tensor<?xi32> {attn.name = "kv_len", attn.dims = ["batch"]})
    -> (!heads {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25) : !heads, !heads -> !score
  %masked = attn.mask %score causal(top_left) kv_lengths(%kv_len : tensor<?xi32>) : !score
  %prob = attn.softmax %masked : !score
  %context = attn.context %prob, %value : !score, !heads -> !heads
  return %context : !heads
}

// Multi-query attention: all heads read the same key and value. New tokens are the last
// ones of the cache (bottom_right).
func.func @multi_query(
    %query: !heads {attn.name = "query", attn.dims = ["batch", 4, "q_len", 16]},
    %key: tensor<?x1x?x16xf32> {attn.name = "key", attn.dims = ["batch", 1, "kv_len", 16]},
    %value: tensor<?x1x?x16xf32> {attn.name = "value", attn.dims = ["batch", 1, "kv_len", 16]})
    -> (!heads {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25) : !heads, tensor<?x1x?x16xf32> -> !score
  %masked = attn.mask %score causal(bottom_right) : !score
  %prob = attn.softmax %masked : !score
  %context = attn.context %prob, %value : !score, tensor<?x1x?x16xf32> -> !heads
  return %context : !heads
}

// Prefix LM: the first prefix_len tokens see each other, all others what came before.
func.func @prefix(
    %query: !heads {attn.name = "query", attn.dims = ["batch", 4, "len", 16]},
    %key: !heads {attn.name = "key", attn.dims = ["batch", 4, "len", 16]},
    %value: !heads {attn.name = "value", attn.dims = ["batch", 4, "len", 16]},
    %prefix_len: tensor<?xi32> {attn.name = "prefix_len", attn.dims = ["batch"]})
    -> (!heads {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25) : !heads, !heads -> !score
  %masked = attn.mask %score prefix(%prefix_len : tensor<?xi32>) : !score
  %prob = attn.softmax %masked : !score
  %context = attn.context %prob, %value : !score, !heads -> !heads
  return %context : !heads
}

// Packed sequences: several documents in one row, each token sees its own up to itself.
func.func @documents(
    %query: !heads {attn.name = "query", attn.dims = ["batch", 4, "len", 16]},
    %key: !heads {attn.name = "key", attn.dims = ["batch", 4, "len", 16]},
    %value: !heads {attn.name = "value", attn.dims = ["batch", 4, "len", 16]},
    %document: tensor<?x?xi32> {attn.name = "document", attn.dims = ["batch", "len"]})
    -> (!heads {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25) : !heads, !heads -> !score
  %masked = attn.mask %score causal(top_left) documents(%document : tensor<?x?xi32>) : !score
  %prob = attn.softmax %masked : !score
  %context = attn.context %prob, %value : !score, !heads -> !heads
  return %context : !heads
}

// Each position sees the three before it.
func.func @sliding_window(
    %query: !heads {attn.name = "query", attn.dims = ["batch", 4, "len", 16]},
    %key: !heads {attn.name = "key", attn.dims = ["batch", 4, "len", 16]},
    %value: !heads {attn.name = "value", attn.dims = ["batch", 4, "len", 16]})
    -> (!heads {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25) : !heads, !heads -> !score
  %masked = attn.mask %score window(3, 0) : !score
  %prob = attn.softmax %masked : !score
  %context = attn.context %prob, %value : !score, !heads -> !heads
  return %context : !heads
}

// T5: a learned bias for each head and bucket of the distance between key and query. There
// are 8 buckets for keys before the query and 8 for those behind: distances up to 3 have
// one of their own, larger ones share buckets that grow with the logarithm up to distance
// 32. T5 does not scale the score. The bucket is computed where it is needed.
func.func @t5(
    %query: !heads {attn.name = "query", attn.dims = ["batch", 4, "len", 16]},
    %key: !heads {attn.name = "key", attn.dims = ["batch", 4, "len", 16]},
    %value: !heads {attn.name = "value", attn.dims = ["batch", 4, "len", 16]},
    %table: tensor<16x4xf32> {attn.name = "table"})
    -> (!heads {attn.name = "context"}) {
  %score = attn.score %query, %key : !heads, !heads -> !score
  %biased = attn.modify_score %score {
  ^bb0(%s: f32, %batch: index, %head: index, %q: index, %k: index):
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %exact = arith.constant 4 : index
    %last = arith.constant 7 : index
    %half = arith.constant 8 : index

    %forward = arith.subi %k, %q : index
    %backward = arith.subi %q, %k : index
    %distance = arith.maxsi %forward, %backward : index
    %is_behind = arith.cmpi sgt, %forward, %zero : index

    // 4 + log(distance / 4) / log(32 / 4) · 4
    %at_least_one = arith.maxsi %distance, %one : index
    %int = arith.index_cast %at_least_one : index to i32
    %float = arith.sitofp %int : i32 to f32
    %quarter = arith.constant 0.25 : f32
    %ratio = arith.mulf %float, %quarter : f32
    %log = math.log %ratio : f32
    %log_of_largest = arith.constant 2.0794415416798357 : f32
    %share = arith.divf %log, %log_of_largest : f32
    %buckets = arith.constant 4.0 : f32
    %steps = arith.mulf %share, %buckets : f32
    %step_int = arith.fptosi %steps : f32 to i32
    %step = arith.index_cast %step_int : i32 to index
    %far = arith.addi %step, %exact : index
    %far_clamped = arith.minsi %far, %last : index

    %is_near = arith.cmpi slt, %distance, %exact : index
    %bucket_before = arith.select %is_near, %distance, %far_clamped : index
    %bucket_behind = arith.addi %bucket_before, %half : index
    %bucket = arith.select %is_behind, %bucket_behind, %bucket_before : index
    %bias = tensor.extract %table[%bucket, %head] : tensor<16x4xf32>
    %r = arith.addf %s, %bias : f32
    attn.yield %r : f32
  } : !score
  %prob = attn.softmax %biased : !score
  %context = attn.context %prob, %value : !score, !heads -> !heads
  return %context : !heads
}

// Attention sink: a learned score for each head takes part in the softmax and has no value,
// so that a row may attend to nothing.
func.func @sink(
    %query: !heads {attn.name = "query", attn.dims = ["batch", 4, "len", 16]},
    %key: !heads {attn.name = "key", attn.dims = ["batch", 4, "len", 16]},
    %value: !heads {attn.name = "value", attn.dims = ["batch", 4, "len", 16]},
    %sink: tensor<4xf32> {attn.name = "sink"})
    -> (!heads {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25) : !heads, !heads -> !score
  %masked = attn.mask %score causal(top_left) : !score
  %of_head = tensor.expand_shape %sink [[0, 1, 2]] output_shape [1, 4, 1]
      : tensor<4xf32> into tensor<1x4x1xf32>
  %prob = attn.softmax %masked sink(%of_head : tensor<1x4x1xf32>) : !score
  %context = attn.context %prob, %value : !score, !heads -> !heads
  return %context : !heads
}

// Sigmoid attention: every key has a weight of its own, without a softmax. The bias is minus
// the logarithm of the number of keys. There is no softmax to fuse, so the score is stored.
func.func @sigmoid(
    %query: !heads {attn.name = "query", attn.dims = ["batch", 4, "len", 16]},
    %key: !heads {attn.name = "key", attn.dims = ["batch", 4, "len", 16]},
    %value: !heads {attn.name = "value", attn.dims = ["batch", 4, "len", 16]})
    -> (!heads {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25) : !heads, !heads -> !score
  %masked = attn.mask %score causal(top_left) : !score
  %c2 = arith.constant 2 : index
  %len = tensor.dim %key, %c2 : !heads
  %len_int = arith.index_cast %len : index to i32
  %len_float = arith.sitofp %len_int : i32 to f32
  %prob = attn.map %masked {
  ^bb0(%s: f32):
    // 1 / (1 + exp(-(s - log(len))))
    %one = arith.constant 1.0 : f32
    %minus = arith.negf %s : f32
    %exp = math.exp %minus : f32
    %scaled = arith.mulf %exp, %len_float : f32
    %sum = arith.addf %scaled, %one : f32
    %r = arith.divf %one, %sum : f32
    attn.yield %r : f32
  } : !score -> !score
  %context = attn.context %prob, %value : !score, !heads -> !heads
  return %context : !heads
}

// Differential attention: what two softmaxes have in common is taken for noise. Two cores,
// each fused, over the same values, which are twice as wide as the heads.
func.func @differential(
    %query_1: !heads {attn.name = "query_1", attn.dims = ["batch", 4, "len", 16]},
    %key_1: !heads {attn.name = "key_1", attn.dims = ["batch", 4, "len", 16]},
    %query_2: !heads {attn.name = "query_2", attn.dims = ["batch", 4, "len", 16]},
    %key_2: !heads {attn.name = "key_2", attn.dims = ["batch", 4, "len", 16]},
    %value: !wide {attn.name = "value", attn.dims = ["batch", 4, "len", 32]},
    %share: tensor<4x1x1xf32> {attn.name = "share"})
    -> (!wide {attn.name = "context"}) {
  %score_1 = attn.score %query_1, %key_1 scale(0.25) : !heads, !heads -> !score
  %masked_1 = attn.mask %score_1 causal(top_left) : !score
  %prob_1 = attn.softmax %masked_1 : !score
  %context_1 = attn.context %prob_1, %value : !score, !wide -> !wide

  %score_2 = attn.score %query_2, %key_2 scale(0.25) : !heads, !heads -> !score
  %masked_2 = attn.mask %score_2 causal(top_left) : !score
  %prob_2 = attn.softmax %masked_2 : !score
  %context_2 = attn.context %prob_2, %value : !score, !wide -> !wide

  %context = attn.map %context_1, %context_2, %share {
  ^bb0(%signal: f32, %noise: f32, %part: f32):
    %shared = arith.mulf %part, %noise : f32
    %r = arith.subf %signal, %shared : f32
    attn.yield %r : f32
  } : !wide, !wide, tensor<4x1x1xf32> -> !wide
  return %context : !wide
}
