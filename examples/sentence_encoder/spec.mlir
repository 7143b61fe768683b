// A pretrained sentence encoder as a whole: six BERT layers, 384 wide, 12 heads of 32.
// Token ids and their mask in, an embedding of length 1 for each sentence out; the
// cosine of two sentences is the dot product of their embeddings.
//
//     attnc compile spec.mlir --weights model.safetensors -o DIR
//
// makes one library of it, weights included. `attention_mask` is 0 at padding.

!hidden = tensor<?x?x384xf32>
!heads = tensor<?x12x?x32xf32>
!square = tensor<384x384xf32>
!wide = tensor<1536x384xf32>
!tall = tensor<384x1536xf32>
!row = tensor<384xf32>
!wide_row = tensor<1536xf32>
!mask = tensor<?x?xi64>

// Self-attention, add & norm, feed-forward with GELU, add & norm.
func.func private @layer(
    %hidden: !hidden, %attention_mask: !mask,
    %query_weight: !square, %query_bias: !row, %key_weight: !square, %key_bias: !row,
    %value_weight: !square, %value_bias: !row, %output_weight: !square, %output_bias: !row,
    %attention_scale: !row, %attention_shift: !row,
    %up_weight: !wide, %up_bias: !wide_row, %down_weight: !tall, %down_bias: !row,
    %feed_scale: !row, %feed_shift: !row) -> !hidden {
  %query_row = attn.linear %hidden, %query_weight, %query_bias : !hidden, !square, !row -> !hidden
  %key_row = attn.linear %hidden, %key_weight, %key_bias : !hidden, !square, !row -> !hidden
  %value_row = attn.linear %hidden, %value_weight, %value_bias : !hidden, !square, !row -> !hidden
  %query = attn.split_heads %query_row num_heads(12) : !hidden -> !heads
  %key = attn.split_heads %key_row num_heads(12) : !hidden -> !heads
  %value = attn.split_heads %value_row num_heads(12) : !hidden -> !heads

  // 1 / sqrt(32)
  %score = attn.score %query, %key scale(0.17677669529663687) : !heads, !heads -> tensor<?x12x?x?xf32>
  %masked = attn.mask %score {
  ^bb0(%batch: index, %head: index, %q: index, %k: index):
    %token = tensor.extract %attention_mask[%batch, %k] : !mask
    %zero = arith.constant 0 : i64
    %visible = arith.cmpi ne, %token, %zero : i64
    attn.yield %visible : i1
  } : tensor<?x12x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x12x?x?xf32>
  %context = attn.context %prob, %value : tensor<?x12x?x?xf32>, !heads -> !heads
  %merged = attn.merge_heads %context : !heads -> !hidden
  %attended = attn.linear %merged, %output_weight, %output_bias : !hidden, !square, !row -> !hidden

  %added = attn.map %attended, %hidden {
  ^bb0(%x: f32, %residual: f32):
    %sum = arith.addf %x, %residual : f32
    attn.yield %sum : f32
  } : !hidden, !hidden -> !hidden
  %normed = attn.layer_norm %added scale(%attention_scale : !row) bias(%attention_shift : !row)
      epsilon(1.0e-12) : !hidden

  %up = attn.linear %normed, %up_weight, %up_bias : !hidden, !wide, !wide_row -> tensor<?x?x1536xf32>
  %active = attn.map %up {
  ^bb0(%x: f32):
    // GELU: x / 2 · (1 + erf(x / sqrt(2)))
    %root = arith.constant 0.70710678118654752 : f32
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %scaled = arith.mulf %x, %root : f32
    %erf = math.erf %scaled : f32
    %share = arith.addf %erf, %one : f32
    %halved = arith.mulf %x, %half : f32
    %gelu = arith.mulf %halved, %share : f32
    attn.yield %gelu : f32
  } : tensor<?x?x1536xf32> -> tensor<?x?x1536xf32>
  %down = attn.linear %active, %down_weight, %down_bias : tensor<?x?x1536xf32>, !tall, !row -> !hidden
  %fed = attn.map %down, %normed {
  ^bb0(%x: f32, %residual: f32):
    %sum = arith.addf %x, %residual : f32
    attn.yield %sum : f32
  } : !hidden, !hidden -> !hidden
  %result = attn.layer_norm %fed scale(%feed_scale : !row) bias(%feed_shift : !row)
      epsilon(1.0e-12) : !hidden
  return %result : !hidden
}

// The mean of the hidden states of what is no padding, of length 1.
func.func private @pool(%hidden: !hidden, %attention_mask: !mask) -> tensor<?x384xf32> {
  %weight = attn.map %attention_mask {
  ^bb0(%token: i64):
    %zero = arith.constant 0 : i64
    %visible = arith.cmpi ne, %token, %zero : i64
    %float = arith.uitofp %visible : i1 to f32
    attn.yield %float : f32
  } : !mask -> tensor<?x?xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %attention_mask, %c0 : !mask
  %len = tensor.dim %attention_mask, %c1 : !mask
  %column = tensor.expand_shape %weight [[0], [1, 2]] output_shape [%batch, %len, 1]
      : tensor<?x?xf32> into tensor<?x?x1xf32>
  %weighted = attn.map %hidden, %column {
  ^bb0(%x: f32, %w: f32):
    %zero = arith.constant 0.0 : f32
    %visible = arith.cmpf one, %w, %zero : f32
    %kept = arith.select %visible, %x, %zero : f32
    attn.yield %kept : f32
  } : !hidden, tensor<?x?x1xf32> -> !hidden
  %sum = attn.reduce sum %weighted axes [1] : !hidden -> tensor<?x384xf32>
  // The count of tokens cancels out: what is left is a direction.
  %norm = attn.reduce l2 %sum axes [-1] keep_dims : tensor<?x384xf32> -> tensor<?x1xf32>
  %unit = attn.map %sum, %norm {
  ^bb0(%x: f32, %n: f32):
    %tiny = arith.constant 1.0e-12 : f32
    %length = arith.maximumf %n, %tiny : f32
    %y = arith.divf %x, %length : f32
    attn.yield %y : f32
  } : tensor<?x384xf32>, tensor<?x1xf32> -> tensor<?x384xf32>
  return %unit : tensor<?x384xf32>
}

func.func @sentence_encoder(
    %token_ids: !mask {attn.name = "token_ids", attn.dims = ["batch", "len"]},
    %attention_mask: !mask {attn.name = "attention_mask", attn.dims = ["batch", "len"]},
    %words: tensor<30522x384xf32> {attn.weight = "embeddings.word_embeddings.weight"},
    %positions: tensor<512x384xf32> {attn.weight = "embeddings.position_embeddings.weight"},
    %types: tensor<2x384xf32> {attn.weight = "embeddings.token_type_embeddings.weight"},
    %scale: !row {attn.weight = "embeddings.LayerNorm.weight"},
    %shift: !row {attn.weight = "embeddings.LayerNorm.bias"},
    %q0: !square {attn.weight = "encoder.layer.0.attention.self.query.weight"},
    %q0_b: !row {attn.weight = "encoder.layer.0.attention.self.query.bias"},
    %k0: !square {attn.weight = "encoder.layer.0.attention.self.key.weight"},
    %k0_b: !row {attn.weight = "encoder.layer.0.attention.self.key.bias"},
    %v0: !square {attn.weight = "encoder.layer.0.attention.self.value.weight"},
    %v0_b: !row {attn.weight = "encoder.layer.0.attention.self.value.bias"},
    %o0: !square {attn.weight = "encoder.layer.0.attention.output.dense.weight"},
    %o0_b: !row {attn.weight = "encoder.layer.0.attention.output.dense.bias"},
    %an0: !row {attn.weight = "encoder.layer.0.attention.output.LayerNorm.weight"},
    %an0_b: !row {attn.weight = "encoder.layer.0.attention.output.LayerNorm.bias"},
    %up0: !wide {attn.weight = "encoder.layer.0.intermediate.dense.weight"},
    %up0_b: !wide_row {attn.weight = "encoder.layer.0.intermediate.dense.bias"},
    %down0: !tall {attn.weight = "encoder.layer.0.output.dense.weight"},
    %down0_b: !row {attn.weight = "encoder.layer.0.output.dense.bias"},
    %fn0: !row {attn.weight = "encoder.layer.0.output.LayerNorm.weight"},
    %fn0_b: !row {attn.weight = "encoder.layer.0.output.LayerNorm.bias"},
    %q1: !square {attn.weight = "encoder.layer.1.attention.self.query.weight"},
    %q1_b: !row {attn.weight = "encoder.layer.1.attention.self.query.bias"},
    %k1: !square {attn.weight = "encoder.layer.1.attention.self.key.weight"},
    %k1_b: !row {attn.weight = "encoder.layer.1.attention.self.key.bias"},
    %v1: !square {attn.weight = "encoder.layer.1.attention.self.value.weight"},
    %v1_b: !row {attn.weight = "encoder.layer.1.attention.self.value.bias"},
    %o1: !square {attn.weight = "encoder.layer.1.attention.output.dense.weight"},
    %o1_b: !row {attn.weight = "encoder.layer.1.attention.output.dense.bias"},
    %an1: !row {attn.weight = "encoder.layer.1.attention.output.LayerNorm.weight"},
    %an1_b: !row {attn.weight = "encoder.layer.1.attention.output.LayerNorm.bias"},
    %up1: !wide {attn.weight = "encoder.layer.1.intermediate.dense.weight"},
    %up1_b: !wide_row {attn.weight = "encoder.layer.1.intermediate.dense.bias"},
    %down1: !tall {attn.weight = "encoder.layer.1.output.dense.weight"},
    %down1_b: !row {attn.weight = "encoder.layer.1.output.dense.bias"},
    %fn1: !row {attn.weight = "encoder.layer.1.output.LayerNorm.weight"},
    %fn1_b: !row {attn.weight = "encoder.layer.1.output.LayerNorm.bias"},
    %q2: !square {attn.weight = "encoder.layer.2.attention.self.query.weight"},
    %q2_b: !row {attn.weight = "encoder.layer.2.attention.self.query.bias"},
    %k2: !square {attn.weight = "encoder.layer.2.attention.self.key.weight"},
    %k2_b: !row {attn.weight = "encoder.layer.2.attention.self.key.bias"},
    %v2: !square {attn.weight = "encoder.layer.2.attention.self.value.weight"},
    %v2_b: !row {attn.weight = "encoder.layer.2.attention.self.value.bias"},
    %o2: !square {attn.weight = "encoder.layer.2.attention.output.dense.weight"},
    %o2_b: !row {attn.weight = "encoder.layer.2.attention.output.dense.bias"},
    %an2: !row {attn.weight = "encoder.layer.2.attention.output.LayerNorm.weight"},
    %an2_b: !row {attn.weight = "encoder.layer.2.attention.output.LayerNorm.bias"},
    %up2: !wide {attn.weight = "encoder.layer.2.intermediate.dense.weight"},
    %up2_b: !wide_row {attn.weight = "encoder.layer.2.intermediate.dense.bias"},
    %down2: !tall {attn.weight = "encoder.layer.2.output.dense.weight"},
    %down2_b: !row {attn.weight = "encoder.layer.2.output.dense.bias"},
    %fn2: !row {attn.weight = "encoder.layer.2.output.LayerNorm.weight"},
    %fn2_b: !row {attn.weight = "encoder.layer.2.output.LayerNorm.bias"},
    %q3: !square {attn.weight = "encoder.layer.3.attention.self.query.weight"},
    %q3_b: !row {attn.weight = "encoder.layer.3.attention.self.query.bias"},
    %k3: !square {attn.weight = "encoder.layer.3.attention.self.key.weight"},
    %k3_b: !row {attn.weight = "encoder.layer.3.attention.self.key.bias"},
    %v3: !square {attn.weight = "encoder.layer.3.attention.self.value.weight"},
    %v3_b: !row {attn.weight = "encoder.layer.3.attention.self.value.bias"},
    %o3: !square {attn.weight = "encoder.layer.3.attention.output.dense.weight"},
    %o3_b: !row {attn.weight = "encoder.layer.3.attention.output.dense.bias"},
    %an3: !row {attn.weight = "encoder.layer.3.attention.output.LayerNorm.weight"},
    %an3_b: !row {attn.weight = "encoder.layer.3.attention.output.LayerNorm.bias"},
    %up3: !wide {attn.weight = "encoder.layer.3.intermediate.dense.weight"},
    %up3_b: !wide_row {attn.weight = "encoder.layer.3.intermediate.dense.bias"},
    %down3: !tall {attn.weight = "encoder.layer.3.output.dense.weight"},
    %down3_b: !row {attn.weight = "encoder.layer.3.output.dense.bias"},
    %fn3: !row {attn.weight = "encoder.layer.3.output.LayerNorm.weight"},
    %fn3_b: !row {attn.weight = "encoder.layer.3.output.LayerNorm.bias"},
    %q4: !square {attn.weight = "encoder.layer.4.attention.self.query.weight"},
    %q4_b: !row {attn.weight = "encoder.layer.4.attention.self.query.bias"},
    %k4: !square {attn.weight = "encoder.layer.4.attention.self.key.weight"},
    %k4_b: !row {attn.weight = "encoder.layer.4.attention.self.key.bias"},
    %v4: !square {attn.weight = "encoder.layer.4.attention.self.value.weight"},
    %v4_b: !row {attn.weight = "encoder.layer.4.attention.self.value.bias"},
    %o4: !square {attn.weight = "encoder.layer.4.attention.output.dense.weight"},
    %o4_b: !row {attn.weight = "encoder.layer.4.attention.output.dense.bias"},
    %an4: !row {attn.weight = "encoder.layer.4.attention.output.LayerNorm.weight"},
    %an4_b: !row {attn.weight = "encoder.layer.4.attention.output.LayerNorm.bias"},
    %up4: !wide {attn.weight = "encoder.layer.4.intermediate.dense.weight"},
    %up4_b: !wide_row {attn.weight = "encoder.layer.4.intermediate.dense.bias"},
    %down4: !tall {attn.weight = "encoder.layer.4.output.dense.weight"},
    %down4_b: !row {attn.weight = "encoder.layer.4.output.dense.bias"},
    %fn4: !row {attn.weight = "encoder.layer.4.output.LayerNorm.weight"},
    %fn4_b: !row {attn.weight = "encoder.layer.4.output.LayerNorm.bias"},
    %q5: !square {attn.weight = "encoder.layer.5.attention.self.query.weight"},
    %q5_b: !row {attn.weight = "encoder.layer.5.attention.self.query.bias"},
    %k5: !square {attn.weight = "encoder.layer.5.attention.self.key.weight"},
    %k5_b: !row {attn.weight = "encoder.layer.5.attention.self.key.bias"},
    %v5: !square {attn.weight = "encoder.layer.5.attention.self.value.weight"},
    %v5_b: !row {attn.weight = "encoder.layer.5.attention.self.value.bias"},
    %o5: !square {attn.weight = "encoder.layer.5.attention.output.dense.weight"},
    %o5_b: !row {attn.weight = "encoder.layer.5.attention.output.dense.bias"},
    %an5: !row {attn.weight = "encoder.layer.5.attention.output.LayerNorm.weight"},
    %an5_b: !row {attn.weight = "encoder.layer.5.attention.output.LayerNorm.bias"},
    %up5: !wide {attn.weight = "encoder.layer.5.intermediate.dense.weight"},
    %up5_b: !wide_row {attn.weight = "encoder.layer.5.intermediate.dense.bias"},
    %down5: !tall {attn.weight = "encoder.layer.5.output.dense.weight"},
    %down5_b: !row {attn.weight = "encoder.layer.5.output.dense.bias"},
    %fn5: !row {attn.weight = "encoder.layer.5.output.LayerNorm.weight"},
    %fn5_b: !row {attn.weight = "encoder.layer.5.output.LayerNorm.bias"})
    -> (tensor<?x384xf32> {attn.name = "embedding", attn.dims = ["batch", 384]}) {
  %c1 = arith.constant 1 : index
  %len = tensor.dim %token_ids, %c1 : !mask
  %word = attn.embedding %words, %token_ids : tensor<30522x384xf32>, !mask -> !hidden
  %position = tensor.extract_slice %positions[0, 0] [%len, 384] [1, 1] : tensor<512x384xf32> to tensor<?x384xf32>
  %type = tensor.extract_slice %types[0, 0] [1, 384] [1, 1] : tensor<2x384xf32> to tensor<384xf32>
  %embedded = attn.map %word, %position, %type {
  ^bb0(%x: f32, %p: f32, %t: f32):
    %xp = arith.addf %x, %p : f32
    %sum = arith.addf %xp, %t : f32
    attn.yield %sum : f32
  } : !hidden, tensor<?x384xf32>, !row -> !hidden
  %h0 = attn.layer_norm %embedded scale(%scale : !row) bias(%shift : !row) epsilon(1.0e-12) : !hidden

  %h1 = call @layer(%h0, %attention_mask, %q0, %q0_b, %k0, %k0_b, %v0, %v0_b, %o0, %o0_b,
      %an0, %an0_b, %up0, %up0_b, %down0, %down0_b, %fn0, %fn0_b)
      : (!hidden, !mask, !square, !row, !square, !row, !square, !row, !square, !row,
         !row, !row, !wide, !wide_row, !tall, !row, !row, !row) -> !hidden
  %h2 = call @layer(%h1, %attention_mask, %q1, %q1_b, %k1, %k1_b, %v1, %v1_b, %o1, %o1_b,
      %an1, %an1_b, %up1, %up1_b, %down1, %down1_b, %fn1, %fn1_b)
      : (!hidden, !mask, !square, !row, !square, !row, !square, !row, !square, !row,
         !row, !row, !wide, !wide_row, !tall, !row, !row, !row) -> !hidden
  %h3 = call @layer(%h2, %attention_mask, %q2, %q2_b, %k2, %k2_b, %v2, %v2_b, %o2, %o2_b,
      %an2, %an2_b, %up2, %up2_b, %down2, %down2_b, %fn2, %fn2_b)
      : (!hidden, !mask, !square, !row, !square, !row, !square, !row, !square, !row,
         !row, !row, !wide, !wide_row, !tall, !row, !row, !row) -> !hidden
  %h4 = call @layer(%h3, %attention_mask, %q3, %q3_b, %k3, %k3_b, %v3, %v3_b, %o3, %o3_b,
      %an3, %an3_b, %up3, %up3_b, %down3, %down3_b, %fn3, %fn3_b)
      : (!hidden, !mask, !square, !row, !square, !row, !square, !row, !square, !row,
         !row, !row, !wide, !wide_row, !tall, !row, !row, !row) -> !hidden
  %h5 = call @layer(%h4, %attention_mask, %q4, %q4_b, %k4, %k4_b, %v4, %v4_b, %o4, %o4_b,
      %an4, %an4_b, %up4, %up4_b, %down4, %down4_b, %fn4, %fn4_b)
      : (!hidden, !mask, !square, !row, !square, !row, !square, !row, !square, !row,
         !row, !row, !wide, !wide_row, !tall, !row, !row, !row) -> !hidden
  %h6 = call @layer(%h5, %attention_mask, %q5, %q5_b, %k5, %k5_b, %v5, %v5_b, %o5, %o5_b,
      %an5, %an5_b, %up5, %up5_b, %down5, %down5_b, %fn5, %fn5_b)
      : (!hidden, !mask, !square, !row, !square, !row, !square, !row, !square, !row,
         !row, !row, !wide, !wide_row, !tall, !row, !row, !row) -> !hidden
  %embedding = call @pool(%h6, %attention_mask) : (!hidden, !mask) -> tensor<?x384xf32>
  return %embedding : tensor<?x384xf32>
}
