// Latent attention (MLA) in its absorbed form: one key head for all query heads, whose first 32
// dims are the values, too. The other 16 dims hold the rotary position. A query has been multiplied
// with the weights that would widen a latent to the keys of its head, and a context is widened to
// values afterwards, so that the cache holds one latent of 48 elements for each token, in pages of
// 16. DeepSeek's models have 128 heads, 576 dims and values of 512.
//
// A call appends the latents of q_len new tokens to the `past` tokens of each sequence. A caller
// passes the same memory for pages and next_pages.

!pages = tensor<?x16x1x48xf32>

func.func @latent(
    %query: tensor<?x32x?x48xf32> {attn.name = "query", attn.dims = ["batch", 32, "q_len", 48]},
    %latent: tensor<?x1x?x48xf32> {attn.name = "latent", attn.dims = ["batch", 1, "q_len", 48]},
    %pages: !pages {attn.name = "pages", attn.dims = ["num_pages", 16, 1, 48]},
    %block_table: tensor<?x?xi32> {attn.name = "block_table", attn.dims = ["batch", "max_pages"]},
    %past: tensor<?xi32> {attn.name = "past", attn.dims = ["batch"]})
    -> (tensor<?x32x?x32xf32> {attn.name = "context"}, !pages {attn.name = "next_pages"}) {
  %next = attn.append_pages %pages[%block_table], %latent, %past
      : !pages, tensor<?x?xi32>, tensor<?x1x?x48xf32>, tensor<?xi32>
  %key = attn.gather_pages %next[%block_table] : !pages, tensor<?x?xi32> -> tensor<?x1x?x48xf32>
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %key, %c0 : tensor<?x1x?x48xf32>
  %kv_len = tensor.dim %key, %c2 : tensor<?x1x?x48xf32>
  %value = tensor.extract_slice %key[0, 0, 0, 0] [%batch, 1, %kv_len, 32] [1, 1, 1, 1]
      : tensor<?x1x?x48xf32> to tensor<?x1x?x32xf32>
  %score = attn.score %query, %key scale(0.125)
      : tensor<?x32x?x48xf32>, tensor<?x1x?x48xf32> -> tensor<?x32x?x?xf32>
  %masked = attn.mask %score positions(%past : tensor<?xi32>) causal(top_left)
      : tensor<?x32x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x32x?x?xf32>
  %context = attn.context %prob, %value
      : tensor<?x32x?x?xf32>, tensor<?x1x?x32xf32> -> tensor<?x32x?x32xf32>
  return %context, %next : tensor<?x32x?x32xf32>, !pages
}
