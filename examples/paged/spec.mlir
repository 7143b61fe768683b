// Keys and values in the pages of a pool that sequences share, 16 keys each, in the layout of
// vLLM's caches. Entry i of a sequence's row in block_table is the page of its keys 16 i to
// 16 i + 15; entries behind its last key may hold anything.
//
// A call appends the keys and values of q_len new tokens to the `past` tokens of each sequence, and
// attends to all of them: q_len 1 decodes a token, larger ones prefill a chunk. A caller passes the
// same memory for key_pages and next_key_pages, and for those of values: only the new rows are
// written then.

!rows = tensor<?x2x?x64xf32>
!pages = tensor<?x16x2x64xf32>

func.func @paged(
    %query: tensor<?x8x?x64xf32> {attn.name = "query", attn.dims = ["batch", 8, "q_len", 64]},
    %key: !rows {attn.name = "key", attn.dims = ["batch", 2, "q_len", 64]},
    %value: !rows {attn.name = "value", attn.dims = ["batch", 2, "q_len", 64]},
    %key_pages: !pages {attn.name = "key_pages", attn.dims = ["num_pages", 16, 2, 64]},
    %value_pages: !pages {attn.name = "value_pages", attn.dims = ["num_pages", 16, 2, 64]},
    %block_table: tensor<?x?xi32> {attn.name = "block_table", attn.dims = ["batch", "max_pages"]},
    %past: tensor<?xi32> {attn.name = "past", attn.dims = ["batch"]})
    -> (tensor<?x8x?x64xf32> {attn.name = "context"}, !pages {attn.name = "next_key_pages"},
        !pages {attn.name = "next_value_pages"}) {
  %keys = attn.append_pages %key_pages[%block_table], %key, %past
      : !pages, tensor<?x?xi32>, !rows, tensor<?xi32>
  %values = attn.append_pages %value_pages[%block_table], %value, %past
      : !pages, tensor<?x?xi32>, !rows, tensor<?xi32>
  %c2 = arith.constant 2 : index
  %q_len = tensor.dim %query, %c2 : tensor<?x8x?x64xf32>
  %new = arith.index_cast %q_len : index to i32
  %kv_len = attn.map %past {
  ^bb0(%before: i32):
    %all = arith.addi %before, %new : i32
    attn.yield %all : i32
  } : tensor<?xi32> -> tensor<?xi32>
  %k = attn.gather_pages %keys[%block_table] lengths(%kv_len : tensor<?xi32>)
      : !pages, tensor<?x?xi32> -> !rows
  %v = attn.gather_pages %values[%block_table] lengths(%kv_len : tensor<?xi32>)
      : !pages, tensor<?x?xi32> -> !rows
  %score = attn.score %query, %k scale(0.125) : tensor<?x8x?x64xf32>, !rows -> tensor<?x8x?x?xf32>
  %masked = attn.mask %score positions(%past : tensor<?xi32>) causal(top_left) : tensor<?x8x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x8x?x?xf32>
  %context = attn.context %prob, %v : tensor<?x8x?x?xf32>, !rows -> tensor<?x8x?x64xf32>
  return %context, %keys, %values : tensor<?x8x?x64xf32>, !pages, !pages
}
