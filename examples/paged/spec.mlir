// Keys and values in the pages of a pool that sequences share, 16 keys each, in the layout of
// vLLM's caches. Entry i of a sequence's row in block_table is the page of its keys 16 i to
// 16 i + 15; entries behind its last key may hold anything. The last query is aligned with the
// sequence's last key: q_len 1 decodes a token, larger ones prefill a chunk.

func.func @paged(
    %query: tensor<?x8x?x64xf32> {attn.name = "query", attn.dims = ["batch", 8, "q_len", 64]},
    %key_pages: tensor<?x16x2x64xf32> {attn.name = "key_pages", attn.dims = ["num_pages", 16, 2, 64]},
    %value_pages: tensor<?x16x2x64xf32> {attn.name = "value_pages", attn.dims = ["num_pages", 16, 2, 64]},
    %block_table: tensor<?x?xi32> {attn.name = "block_table", attn.dims = ["batch", "max_pages"]},
    %kv_len: tensor<?xi32> {attn.name = "kv_len", attn.dims = ["batch"]})
    -> (tensor<?x8x?x64xf32> {attn.name = "context"}) {
  %key = attn.gather_pages %key_pages[%block_table] lengths(%kv_len : tensor<?xi32>)
      : tensor<?x16x2x64xf32>, tensor<?x?xi32> -> tensor<?x2x?x64xf32>
  %value = attn.gather_pages %value_pages[%block_table] lengths(%kv_len : tensor<?xi32>)
      : tensor<?x16x2x64xf32>, tensor<?x?xi32> -> tensor<?x2x?x64xf32>
  %score = attn.score %query, %key scale(0.125)
      : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
  %masked = attn.mask %score {
  ^bb0(%batch: index, %head: index, %q: index, %k: index):
    %c2 = arith.constant 2 : index
    %length = tensor.extract %kv_len[%batch] : tensor<?xi32>
    %end = arith.index_cast %length : i32 to index
    %q_len = tensor.dim %query, %c2 : tensor<?x8x?x64xf32>
    %past = arith.subi %end, %q_len : index
    %last = arith.addi %q, %past : index
    %visible = arith.cmpi sle, %k, %last : index
    attn.yield %visible : i1
  } : tensor<?x8x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x8x?x?xf32>
  %context = attn.context %prob, %value
      : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x64xf32>
  return %context : tensor<?x8x?x64xf32>
}
