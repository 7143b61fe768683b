// External attention (Guo et al. 2021, https://arxiv.org/abs/2105.02358): two linear layers
// are the memories. A softmax over the tokens, then every token's row normalised over the
// memory. No score between tokens and nothing to fuse: the work is linear in their number.

!tokens = tensor<?x?x32xf32>
!memory = tensor<?x?x16xf32>

func.func @external(
    %tokens: !tokens {attn.name = "tokens", attn.dims = ["batch", "len", 32]},
    %key_weight: tensor<16x32xf32> {attn.name = "key_weight"},
    %value_weight: tensor<32x16xf32> {attn.name = "value_weight"})
    -> (!tokens {attn.name = "out"}) {
  %score = attn.linear %tokens, %key_weight : !tokens, tensor<16x32xf32> -> !memory
  %over_tokens = attn.softmax %score axis(1) : !memory
  %sum = attn.reduce sum %over_tokens axes [-1] keep_dims : !memory -> tensor<?x?x1xf32>
  %prob = attn.map %over_tokens, %sum {
  ^bb0(%x: f32, %s: f32):
    %little = arith.constant 1.0e-9 : f32
    %positive = arith.addf %s, %little : f32
    %r = arith.divf %x, %positive : f32
    attn.yield %r : f32
  } : !memory, tensor<?x?x1xf32> -> !memory
  %out = attn.linear %prob, %value_weight : !memory, tensor<32x16xf32> -> !tokens
  return %out : !tokens
}
