// A server's step, in one call, with the heads of SmolLM-135M. Rows of all sequences lie behind each
// other: those of sequence b are rows offsets[b] to offsets[b + 1] - 1 of query, key and value, one if
// it decodes, more if they are a chunk of its prompt. `past` are the keys that it has before.
//
// Keys and values are quantised to 8 bits, with a scale for each token and head, and appended to pages
// of 16 keys; entry i of a row of block_table is the page of keys 16 i to 16 i + 15. A caller passes
// the same memory for each pool and its next_: only the new rows are written then.

!rows = tensor<?x3x64xf32>
!query = tensor<?x9x?x64xf32>
!score = tensor<?x9x?x?xf32>
!key = tensor<?x3x?x64xf32>
!key8 = tensor<?x3x?x64xi8>
!scale = tensor<?x3x?x1xf32>
!pages = tensor<?x3x16x64xi8>
!page_scales = tensor<?x3x16x1xf32>
!table = tensor<?x?xi32>
!lengths = tensor<?xi32>

func.func @serving(
    %query: tensor<?x9x64xf32> {attn.name = "query", attn.dims = ["total", 9, 64]},
    %key: !rows {attn.name = "key", attn.dims = ["total", 3, 64]},
    %value: !rows {attn.name = "value", attn.dims = ["total", 3, 64]},
    %offsets: !lengths {attn.name = "offsets"},
    %past: !lengths {attn.name = "past", attn.dims = ["batch"]},
    %block_table: !table {attn.name = "block_table", attn.dims = ["batch", "max_pages"]},
    %key_pages: !pages {attn.name = "key_pages", attn.dims = ["num_pages", 3, 16, 64]},
    %key_scales: !page_scales {attn.name = "key_scales", attn.dims = ["num_pages", 3, 16, 1]},
    %value_pages: !pages {attn.name = "value_pages", attn.dims = ["num_pages", 3, 16, 64]},
    %value_scales: !page_scales {attn.name = "value_scales", attn.dims = ["num_pages", 3, 16, 1]})
    -> (tensor<?x9x64xf32> {attn.name = "context"},
        !pages {attn.name = "next_key_pages"}, !page_scales {attn.name = "next_key_scales"},
        !pages {attn.name = "next_value_pages"}, !page_scales {attn.name = "next_value_scales"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %past, %c0 : !lengths
  // Rows of each sequence, and its keys with them.
  %first = tensor.extract_slice %offsets[0] [%batch] [1] : !lengths to !lengths
  %end = tensor.extract_slice %offsets[1] [%batch] [1] : !lengths to !lengths
  %counts = attn.map %end, %first {
  ^bb0(%e: i32, %f: i32):
    %n = arith.subi %e, %f : i32
    attn.yield %n : i32
  } : !lengths, !lengths -> !lengths
  %kv_lengths = attn.map %past, %counts {
  ^bb0(%p: i32, %n: i32):
    %all = arith.addi %p, %n : i32
    attn.yield %all : i32
  } : !lengths, !lengths -> !lengths

  %k_new = attn.unpack_rows %key offsets(%offsets) : !rows, !lengths
  %v_new = attn.unpack_rows %value offsets(%offsets) : !rows, !lengths
  %k8_new, %ks_new = attn.quantize %k_new : !key -> !key8, !scale
  %v8_new, %vs_new = attn.quantize %v_new : !key -> !key8, !scale
  %kp = attn.append_pages %key_pages[%block_table], %k8_new, %past counts(%counts : !lengths) layout(heads_first)
      : !pages, !table, !key8, !lengths
  %ksp = attn.append_pages %key_scales[%block_table], %ks_new, %past counts(%counts : !lengths) layout(heads_first)
      : !page_scales, !table, !scale, !lengths
  %vp = attn.append_pages %value_pages[%block_table], %v8_new, %past counts(%counts : !lengths) layout(heads_first)
      : !pages, !table, !key8, !lengths
  %vsp = attn.append_pages %value_scales[%block_table], %vs_new, %past counts(%counts : !lengths) layout(heads_first)
      : !page_scales, !table, !scale, !lengths

  %q = attn.unpack_rows %query offsets(%offsets) : tensor<?x9x64xf32>, !lengths
  %k8 = attn.gather_pages %kp[%block_table] lengths(%kv_lengths : !lengths) layout(heads_first) : !pages, !table
  %ks = attn.gather_pages %ksp[%block_table] lengths(%kv_lengths : !lengths) layout(heads_first) : !page_scales, !table
  %v8 = attn.gather_pages %vp[%block_table] lengths(%kv_lengths : !lengths) layout(heads_first) : !pages, !table
  %vs = attn.gather_pages %vsp[%block_table] lengths(%kv_lengths : !lengths) layout(heads_first) : !page_scales, !table
  %k = attn.dequantize %k8 scales(%ks : !scale) : !key8 -> !key
  %v = attn.dequantize %v8 scales(%vs : !scale) : !key8 -> !key
  %score = attn.score %q, %k scale(0.125) : !query, !key
  %masked = attn.mask %score causal(bottom_right) q_offsets(%offsets : !lengths)
      kv_lengths(%kv_lengths : !lengths) : !score
  %prob = attn.softmax %masked : !score
  %c = attn.context %prob, %v : !score, !key
  %context = attn.pack_rows %c offsets(%offsets) : !query, !lengths
  return %context, %kp, %ksp, %vp, %vsp : tensor<?x9x64xf32>, !pages, !page_scales, !pages, !page_scales
}
