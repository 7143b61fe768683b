// The self-attention of a BERT layer (384 wide, 12 heads of 32) with its output
// projection: hidden states and lengths in, the layer's attention out. Positions
// from kv_len on are padding. `--weights model.safetensors` makes the weights part of
// the library; without it they are arguments like any other.

func.func @attention_layer(
    %hidden: tensor<?x?x384xf32> {attn.name = "hidden", attn.dims = ["batch", "len", 384]},
    %kv_len: tensor<?xi32> {attn.name = "kv_len", attn.dims = ["batch"]},
    %query_weight: tensor<384x384xf32> {attn.weight = "encoder.layer.0.attention.self.query.weight"},
    %query_bias: tensor<384xf32> {attn.weight = "encoder.layer.0.attention.self.query.bias"},
    %key_weight: tensor<384x384xf32> {attn.weight = "encoder.layer.0.attention.self.key.weight"},
    %key_bias: tensor<384xf32> {attn.weight = "encoder.layer.0.attention.self.key.bias"},
    %value_weight: tensor<384x384xf32> {attn.weight = "encoder.layer.0.attention.self.value.weight"},
    %value_bias: tensor<384xf32> {attn.weight = "encoder.layer.0.attention.self.value.bias"},
    %output_weight: tensor<384x384xf32> {attn.weight = "encoder.layer.0.attention.output.dense.weight"},
    %output_bias: tensor<384xf32> {attn.weight = "encoder.layer.0.attention.output.dense.bias"})
    -> (tensor<?x?x384xf32> {attn.name = "attended"}) {
  %query_wide = attn.linear %hidden, %query_weight, %query_bias
      : tensor<?x?x384xf32>, tensor<384x384xf32>, tensor<384xf32> -> tensor<?x?x384xf32>
  %key_wide = attn.linear %hidden, %key_weight, %key_bias
      : tensor<?x?x384xf32>, tensor<384x384xf32>, tensor<384xf32> -> tensor<?x?x384xf32>
  %value_wide = attn.linear %hidden, %value_weight, %value_bias
      : tensor<?x?x384xf32>, tensor<384x384xf32>, tensor<384xf32> -> tensor<?x?x384xf32>
  %query = attn.split_heads %query_wide num_heads(12) : tensor<?x?x384xf32> -> tensor<?x12x?x32xf32>
  %key = attn.split_heads %key_wide num_heads(12) : tensor<?x?x384xf32> -> tensor<?x12x?x32xf32>
  %value = attn.split_heads %value_wide num_heads(12) : tensor<?x?x384xf32> -> tensor<?x12x?x32xf32>

  // 1 / sqrt(32)
  %score = attn.score %query, %key scale(0.17677669529663687)
      : tensor<?x12x?x32xf32>, tensor<?x12x?x32xf32> -> tensor<?x12x?x?xf32>
  %masked = attn.mask %score kv_lengths(%kv_len : tensor<?xi32>) : tensor<?x12x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x12x?x?xf32>
  %context = attn.context %prob, %value
      : tensor<?x12x?x?xf32>, tensor<?x12x?x32xf32> -> tensor<?x12x?x32xf32>

  %merged = attn.merge_heads %context : tensor<?x12x?x32xf32> -> tensor<?x?x384xf32>
  %attended = attn.linear %merged, %output_weight, %output_bias
      : tensor<?x?x384xf32>, tensor<384x384xf32>, tensor<384xf32> -> tensor<?x?x384xf32>
  return %attended : tensor<?x?x384xf32>
}
