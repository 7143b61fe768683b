// RUN: attn-opt %s --split-input-file --verify-diagnostics

!q = tensor<1x8x?x64xf32>
!k = tensor<1x2x?x64xf32>
// (C6)
func.func @limit_c6(%q: !q, %k: !k) -> !q {
  // expected-error@+1 {{expected a last schedule without max_q_len, found 9}}
  %c = attn.attention %q, %k, %k schedule([#attn.prefill<q_block = 48, kv_block = 64, vector_width = 16, score_vectors = 3, score_keys = 8, context_rows = 6, context_vectors = 4, max_q_len = 9>]) : !q, !k, !k -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x?x64xf32>
!k = tensor<1x2x?x64xf32>
// (C6)
func.func @order_c6(%q: !q, %k: !k) -> !q {
  // expected-error@+1 {{expected a max_q_len above 9, found 9}}
  %c = attn.attention %q, %k, %k schedule([
    #attn.prefill<q_block = 16, kv_block = 64, vector_width = 16, score_vectors = 1, score_keys = 8, context_rows = 4, context_vectors = 4, max_q_len = 9>,
    #attn.prefill<q_block = 32, kv_block = 64, vector_width = 16, score_vectors = 2, score_keys = 8, context_rows = 4, context_vectors = 4, max_q_len = 9>,
    #attn.prefill<q_block = 48, kv_block = 64, vector_width = 16, score_vectors = 3, score_keys = 8, context_rows = 6, context_vectors = 4>]) : !q, !k, !k -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x?x64xf32>
!k = tensor<1x2x?x64xf32>
// (C7)
func.func @shared_c7(%q: !q, %k: !k) -> !q {
  // expected-error@+1 {{expected packed_heads to divide 4, found 8}}
  %c = attn.attention %q, %k, %k schedule([#attn.decode<q_block = 8, packed_heads = 8, kv_block = 64, vector_width = 16, score_rows = 4, score_keys = 4, context_rows = 4, context_vectors = 4>]) : !q, !k, !k -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x?x24xf32>
!k = tensor<1x2x?x24xf32>
// (C7)
func.func @width_c7(%q: !q, %k: !k) -> !q {
  // expected-error@+1 {{expected vector_width to divide head_dim, found 16}}
  %c = attn.attention %q, %k, %k schedule([#attn.decode<q_block = 4, packed_heads = 4, kv_block = 64, vector_width = 16, score_rows = 4, score_keys = 4, context_rows = 4, context_vectors = 4>]) : !q, !k, !k -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x9x64xf32>
// (C15)
func.func @pairs_f32_c15(%q: !q) -> !q {
  // expected-error@+1 {{expected bf16 elements and an even head_dim beside products bf16_pairs, found 'tensor<1x8x9x64xf32>'}}
  %c = attn.attention %q, %q, %q schedule([#attn.prefill<q_block = 48, kv_block = 64, vector_width = 16, score_vectors = 3, score_keys = 8, context_rows = 6, context_vectors = 4, products = bf16_pairs>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x9x7xbf16>
// (C15)
func.func @pairs_odd_c15(%q: !q) -> !q {
  // expected-error@+1 {{expected bf16 elements and an even head_dim beside products bf16_pairs, found 'tensor<1x8x9x7xbf16>'}}
  %c = attn.attention %q, %q, %q schedule([#attn.prefill<q_block = 48, kv_block = 64, vector_width = 16, score_vectors = 3, score_keys = 8, context_rows = 6, context_vectors = 4, products = bf16_pairs>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x1x64xf32>
// (C10)
func.func @splits_gpu_c10(%q: !q) -> !q {
  // expected-error@+1 {{expected kv_splits 1 beside a prob region, found 8}}
  %c = attn.attention %q, %q, %q prob_mod {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %p : f32
  } schedule([#attn.gpu<q_block = 1, packed_heads = 1, kv_block = 64, kv_splits = 8, threads_x = 32, threads_y = 1, context_columns = 2>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x1x64xf32>
// (C10)
func.func @splits_c10(%q: !q) -> !q {
  // expected-error@+1 {{expected kv_splits 1 beside a prob region, found 2}}
  %c = attn.attention %q, %q, %q prob_mod {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %p : f32
  } schedule([#attn.decode<q_block = 1, packed_heads = 1, kv_block = 64, vector_width = 16, score_rows = 1, score_keys = 8, context_rows = 1, context_vectors = 4, kv_splits = 2>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

// expected-error@+1 {{expected a positive min_split_keys, found 0}}
#part = #attn.decode<q_block = 1, packed_heads = 1, kv_block = 64, vector_width = 16, score_rows = 1, score_keys = 8, context_rows = 1, context_vectors = 4, kv_splits = 2, min_split_keys = 0>

// -----

// expected-error@+1 {{expected min_split_keys above kv_block 64, found 64}}
#part = #attn.decode<q_block = 1, packed_heads = 1, kv_block = 64, vector_width = 16, score_rows = 1, score_keys = 8, context_rows = 1, context_vectors = 4, kv_splits = 2, min_split_keys = 64>

// -----

// expected-error@+1 {{expected q_block to be a multiple of packed_heads 3, found 4}}
#rows = #attn.decode<q_block = 4, packed_heads = 3, kv_block = 64, vector_width = 16, score_rows = 4, score_keys = 4, context_rows = 4, context_vectors = 4>

// -----

// expected-error@+1 {{expected kv_block to be a multiple of vector_width 16, found 40}}
#chunk = #attn.decode<q_block = 4, packed_heads = 4, kv_block = 40, vector_width = 16, score_rows = 4, score_keys = 4, context_rows = 4, context_vectors = 4>

// -----

!q = tensor<1x8x?x64xf32>
!k = tensor<1x2x?x64xf32>
// (C8)
func.func @shared_c8(%q: !q, %k: !k) -> !q {
  // expected-error@+1 {{expected packed_heads to divide 4, found 8}}
  %c = attn.attention %q, %k, %k schedule([#attn.gpu<q_block = 8, packed_heads = 8, kv_block = 32, kv_splits = 1, threads_x = 16, threads_y = 8, context_columns = 4>]) : !q, !k, !k -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x?x128xf32>
// (C8)
func.func @columns_c8(%q: !q) -> !q {
  // expected-error@+1 {{expected threads_x * context_columns to be at least value_dim, found 64}}
  %c = attn.attention %q, %q, %q schedule([#attn.gpu<q_block = 8, packed_heads = 1, kv_block = 32, kv_splits = 1, threads_x = 16, threads_y = 8, context_columns = 4>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

// expected-error@+1 {{expected at most 1024 threads, found 16 * 1152921504606846976}}
#many_threads = #attn.gpu<q_block = 1152921504606846976, packed_heads = 1, kv_block = 64, kv_splits = 1, threads_x = 16, threads_y = 1152921504606846976, context_columns = 4>

// -----

// expected-error@+1 {{expected at most 1024 threads, found 64 * 32}}
#threads = #attn.gpu<q_block = 32, packed_heads = 1, kv_block = 64, kv_splits = 1, threads_x = 64, threads_y = 32, context_columns = 4>

// -----

// expected-error@+1 {{expected q_block to be a multiple of threads_y 8, found 12}}
#tile = #attn.gpu<q_block = 12, packed_heads = 1, kv_block = 64, kv_splits = 1, threads_x = 16, threads_y = 8, context_columns = 4>

// -----

// expected-error@+1 {{expected an even number of context_columns, found 5}}
#columns = #attn.gpu<q_block = 8, packed_heads = 1, kv_block = 64, kv_splits = 1, threads_x = 16, threads_y = 8, context_columns = 5>

// -----

!q = tensor<1x8x480x64xf32>
func.func @prefill_tile(%q: !q) -> !q {
  // expected-error@+1 {{expected context_rows * context_vectors of at most 128, found 480 * 4}}
  %c = attn.attention %q, %q, %q schedule([#attn.prefill<q_block = 480, kv_block = 64, vector_width = 16, score_vectors = 3, score_keys = 8, context_rows = 480, context_vectors = 4>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x480x64xf32>
func.func @prefill_lanes(%q: !q) -> !q {
  // expected-error@+1 {{expected vector_width of at most 64, found 480}}
  %c = attn.attention %q, %q, %q schedule([#attn.prefill<q_block = 480, kv_block = 64, vector_width = 480, score_vectors = 1, score_keys = 8, context_rows = 6, context_vectors = 4>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x480x64xf32>
func.func @decode_tile(%q: !q) -> !q {
  // expected-error@+1 {{expected score_rows * score_keys of at most 128, found 4 * 64}}
  %c = attn.attention %q, %q, %q schedule([#attn.decode<q_block = 4, packed_heads = 1, kv_block = 64, vector_width = 16, score_rows = 4, score_keys = 64, context_rows = 4, context_vectors = 4>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

// expected-error@+1 {{expected q_block to be a multiple of a tile's 16, found 40}}
#tile_rows = #attn.mma<q_block = 40, kv_block = 64>

// -----

// expected-error@+1 {{expected a positive kv_block, found 0}}
#no_keys = #attn.mma<q_block = 64, kv_block = 0>

// -----

// expected-error@+1 {{expected q_block of at most 128, found 256}}
#many_rows = #attn.mma<q_block = 256, kv_block = 64>

// -----

// expected-error@+1 {{expected warp_rows to be 16 or 32, found 64}}
#many_rows_of_warp = #attn.mma<q_block = 64, kv_block = 64, warp_rows = 64>

// -----

// expected-error@+1 {{expected q_block to be a multiple of warp_rows 32, found 48}}
#part_of_warp = #attn.mma<q_block = 48, kv_block = 64, warp_rows = 32>

// -----

// expected-error@+1 {{expected packed_heads of at most 16, found 32}}
#many_heads = #attn.mma<q_block = 16, kv_block = 64, packed_heads = 32>

// -----

// expected-error@+1 {{expected kv_splits of at most 64, found 65}}
#many_splits = #attn.mma<q_block = 16, kv_block = 64, kv_splits = 65>

// -----

// expected-error@+1 {{expected q_block to be a multiple of a warpgroup's 64, found 96}}
#warpgroup_rows = #attn.wgmma<q_block = 96, kv_block = 64, stages = 2>

// -----

// expected-error@+1 {{expected kv_block to be a multiple of a tile's 16, found 40}}
#warpgroup_keys = #attn.wgmma<q_block = 128, kv_block = 40, stages = 2>

// -----

// expected-error@+1 {{expected stages of at most 4, found 5}}
#warpgroup_stages = #attn.wgmma<q_block = 128, kv_block = 64, stages = 5>

// -----

!q = tensor<1x8x?x256xf16>
// (C14)
func.func @warpgroup_shared_c14(%q: !q) -> !q {
  // expected-error@+1 {{expected tiles of at most 232448 bytes of shared memory, found 327752}}
  %c = attn.attention %q, %q, %q schedule([#attn.wgmma<q_block = 128, kv_block = 128, stages = 2>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

!q = tensor<2x8x100x64xf16>
!pool = tensor<?x8x16x64xf16>
// (C14)
func.func @warpgroup_pages_c14(%q: !q, %pool: !pool, %pages: tensor<2x?xi32>) -> !q {
  // expected-error@+1 {{expected an op that products of warpgroups compute, but keys and values are in pages}}
  %c = attn.attention %q, %pool, %pool pages(%pages : tensor<2x?xi32>) schedule([#attn.wgmma<q_block = 128, kv_block = 64, stages = 2>]) : !q, !pool, !pool -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x?x64xf16>
!k = tensor<1x2x?x64xf16>
// (C8)
func.func @packed_c8(%q: !q, %k: !k) -> !q {
  // expected-error@+1 {{expected packed_heads to divide 4, found 3}}
  %c = attn.attention %q, %k, %k schedule([#attn.mma<q_block = 16, kv_block = 64, packed_heads = 3>]) : !q, !k, !k -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x?x64xf32>
// (C14)
func.func @elements_c14(%q: !q) -> !q {
  // expected-error@+1 {{expected an op that tensor cores compute, but elements are neither f16 nor bf16}}
  %c = attn.attention %q, %q, %q schedule([#attn.mma<q_block = 64, kv_block = 64>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x?x512xf16>
// (C14)
func.func @dims_c14(%q: !q) -> !q {
  // expected-error@+1 {{but head_dim or value_dim is open, 0 or above 256}}
  %c = attn.attention %q, %q, %q schedule([#attn.mma<q_block = 64, kv_block = 64>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x?x64xf16>
// (C14)
func.func @lse_c14(%q: !q) -> (!q, tensor<1x8x?xf64>) {
  // expected-error@+1 {{but the lse is f64}}
  %c, %lse = attn.attention %q, %q, %q schedule([#attn.mma<q_block = 64, kv_block = 64>]) : !q, !q, !q -> !q, tensor<1x8x?xf64>
  return %c, %lse : !q, tensor<1x8x?xf64>
}

// -----

!q = tensor<1x8x?x64xf16>
// (C14)
func.func @region_c14(%q: !q) -> !q {
  // expected-error@+1 {{but a region calls what they have no instruction for}}
  %c = attn.attention %q, %q, %q score_mod {
  ^bb0(%s: f16, %b: index, %h: index, %i: index, %j: index):
    %e = math.sin %s : f16
    attn.yield %e : f16
  } schedule([#attn.mma<q_block = 64, kv_block = 64>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x?x128xf16>
// (C14)
func.func @shared_c14(%q: !q) -> !q {
  // expected-error@+1 {{expected tiles of at most 49152 bytes of shared memory, found 65536}}
  %c = attn.attention %q, %q, %q schedule([#attn.mma<q_block = 128, kv_block = 64>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x?x64xf32>
!k = tensor<1x2x?x64xf32>
// (C7)
func.func @shared_prefill_c7(%q: !q, %k: !k) -> !q {
  // expected-error@+1 {{expected packed_heads to divide 4, found 8}}
  %c = attn.attention %q, %k, %k schedule([#attn.prefill<q_block = 16, kv_block = 64, vector_width = 16, score_vectors = 1, score_keys = 8, context_rows = 4, context_vectors = 4, packed_heads = 8>]) : !q, !k, !k -> !q
  return %c : !q
}

// -----

// expected-error@+1 {{expected q_block to be a multiple of packed_heads 3, found 16}}
#heads = #attn.prefill<q_block = 16, kv_block = 64, vector_width = 16, score_vectors = 1, score_keys = 8, context_rows = 4, context_vectors = 4, packed_heads = 3>

// -----

!q = tensor<1x1x?x64xf32>
// (C10)
func.func @splits_prefill_c10(%q: !q) -> !q {
  // expected-error@+1 {{expected kv_splits 1 beside a prob region, found 2}}
  %c = attn.attention %q, %q, %q prob_mod {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %p : f32
  } schedule([#attn.prefill<q_block = 16, kv_block = 64, vector_width = 16, score_vectors = 1, score_keys = 8, context_rows = 4, context_vectors = 4, kv_splits = 2>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

// expected-error@+1 {{expected row_block to be a power of 2 from 16 to 128, found 48}}
#rows = #attn.mma_linear<row_block = 48, feature_block = 64, depth = 32, stages = 3>

// -----

// expected-error@+1 {{expected 2 to 4 stages, found 1}}
#stages = #attn.mma_linear<row_block = 16, feature_block = 64, depth = 32, stages = 1>

// -----

// expected-error@+1 {{expected stages of at most 49152 bytes of shared memory, found 65536}}
#bytes = #attn.mma_linear<row_block = 128, feature_block = 128, depth = 64, stages = 2>

// -----

// (C5)
func.func @kind_c5(%x: tensor<2x8xf16>, %w: tensor<3x8xf16>) {
  // expected-error@+1 {{expected schedules of linear layers, found #attn.mma<q_block = 64, kv_block = 64>}}
  %y = attn.linear %x, %w schedule([#attn.mma<q_block = 64, kv_block = 64>]) : tensor<2x8xf16>, tensor<3x8xf16> -> tensor<2x3xf16>
  return
}

// -----

!q = tensor<1x8x?x64xf16>
func.func @kind(%q: !q) -> !q {
  // expected-error@+1 {{expected schedules of attention, found #attn.mma_linear<row_block = 16, feature_block = 64, depth = 32, stages = 2>}}
  %c = attn.attention %q, %q, %q schedule([#attn.mma_linear<row_block = 16, feature_block = 64, depth = 32, stages = 2>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

// (C5)
func.func @elements_c5(%x: tensor<2x8xf32>, %w: tensor<3x8xf32>) {
  // expected-error@+1 {{expected an op that tensor cores compute, but elements are neither f16 nor bf16}}
  %y = attn.linear %x, %w schedule([#attn.mma_linear<row_block = 16, feature_block = 64, depth = 32, stages = 2>]) : tensor<2x8xf32>, tensor<3x8xf32> -> tensor<2x3xf32>
  return
}

// -----

// (C5)
func.func @limit_c5(%x: tensor<2x8xf16>, %w: tensor<3x8xf16>) {
  // expected-error@+1 {{expected a last schedule without max_rows}}
  %y = attn.linear %x, %w schedule([#attn.mma_linear<row_block = 16, feature_block = 64, depth = 32, stages = 2, max_rows = 16>]) : tensor<2x8xf16>, tensor<3x8xf16> -> tensor<2x3xf16>
  return
}

// -----

// expected-error@+1 {{expected row_block to be a multiple of row_tile 6, found 64}}
#tail = #attn.linear<row_tile = 6, vectors = 4, vector_width = 16, row_block = 64>

// -----

// expected-error@+1 {{expected a positive vectors, found 0}}
#none = #attn.linear<row_tile = 6, vectors = 0, vector_width = 16, row_block = 48>

// -----

// expected-error@+1 {{expected row_tile * vectors of at most 128, found 64 * 4}}
#tile = #attn.linear<row_tile = 64, vectors = 4, vector_width = 16, row_block = 64>

// -----

// expected-error@+1 {{expected row_block of at most 2048, found 4096}}
#stack = #attn.linear<row_tile = 1, vectors = 4, vector_width = 16, row_block = 4096>

// -----

// (C6)
func.func @panels_c6(%x: tensor<?x8xf32>, %w: tensor<3x8xf32>) {
  // expected-error@+1 {{expected schedules with the same vectors, vector_width and products, as they share packed weights, found #attn.linear<row_tile = 6, vectors = 4, vector_width = 8, row_block = 6> beside #attn.linear<row_tile = 1, vectors = 2, vector_width = 8, row_block = 6, max_rows = 1>}}
  %y = attn.linear %x, %w schedule([#attn.linear<row_tile = 1, vectors = 2, vector_width = 8, row_block = 6, max_rows = 1>, #attn.linear<row_tile = 6, vectors = 4, vector_width = 8, row_block = 6>]) : tensor<?x8xf32>, tensor<3x8xf32> -> tensor<?x3xf32>
  return
}

// -----

// expected-error@+1 {{expected products f32 of weights that are not packed, found bf16_pairs}}
#in_place = #attn.linear<row_tile = 4, vectors = 4, vector_width = 16, row_block = 16, products = bf16_pairs, packed = false>

// -----

// (C6)
func.func @in_place_c6(%x: tensor<?x24xf32>, %w: tensor<3x24xf32>) {
  // expected-error@+1 {{expected packed weights where they are constant, not f32, f16 or bf16, or in_features are not known to be a multiple of vector_width 16, found 'tensor<3x24xf32>'}}
  %y = attn.linear %x, %w schedule([#attn.linear<row_tile = 4, vectors = 4, vector_width = 16, row_block = 16, packed = false>]) : tensor<?x24xf32>, tensor<3x24xf32> -> tensor<?x3xf32>
  return
}

// -----

// (C6)
func.func @pairs_c6(%x: tensor<?x8xf16>, %w: tensor<3x8xf16>) {
  // expected-error@+1 {{expected a bf16 weight with at most 65536 in_features beside products bf16_pairs, found 'tensor<3x8xf16>'}}
  %y = attn.linear %x, %w schedule([#attn.linear<row_tile = 6, vectors = 2, vector_width = 8, row_block = 6, products = bf16_pairs>]) : tensor<?x8xf16>, tensor<3x8xf16> -> tensor<?x3xf16>
  return
}

// -----

// (C5)
func.func @kinds_c5(%x: tensor<?x8xbf16>, %w: tensor<3x8xbf16>) {
  // expected-error@+1 {{expected schedules with the same vectors, vector_width and products, as they share packed weights, found #attn.mma_linear}}
  %y = attn.linear %x, %w schedule([#attn.linear<row_tile = 6, vectors = 2, vector_width = 8, row_block = 6, max_rows = 1>, #attn.mma_linear<row_block = 16, feature_block = 64, depth = 32, stages = 2>]) : tensor<?x8xbf16>, tensor<3x8xbf16> -> tensor<?x3xbf16>
  return
}

// -----

// (C5)
func.func @in_place_kinds_c5(%x: tensor<?x8xbf16>, %w: tensor<3x8xbf16>) {
  // expected-error@+1 {{expected schedules with the same vectors, vector_width and products, as they share packed weights, found #attn.mma_linear}}
  %y = attn.linear %x, %w schedule([#attn.linear<row_tile = 4, vectors = 4, vector_width = 8, row_block = 16, packed = false, max_rows = 16>, #attn.mma_linear<row_block = 16, feature_block = 64, depth = 32, stages = 2>]) : tensor<?x8xbf16>, tensor<3x8xbf16> -> tensor<?x3xbf16>
  return
}

// -----

// expected-error@+1 {{expected vectors * vector_width to be a multiple of 16 beside products bf16_tiles, found 3 * 8}}
#columns = #attn.linear<row_tile = 1, vectors = 3, vector_width = 8, row_block = 64, products = bf16_tiles>

// -----

// expected-error@+1 {{expected a vector_width of 16 and a kv_block that is a multiple of 32 beside products bf16_tiles, found 16 and 48}}
#keys = #attn.prefill<q_block = 32, kv_block = 48, vector_width = 16, score_vectors = 2, score_keys = 8, context_rows = 4, context_vectors = 4, products = bf16_tiles>

// -----

// (C6)
func.func @tiles_c6(%x: tensor<?x8xf16>, %w: tensor<3x8xf16>) {
  // expected-error@+1 {{expected a bf16 weight with at most 65536 in_features beside products bf16_tiles, found 'tensor<3x8xf16>'}}
  %y = attn.linear %x, %w schedule([#attn.linear<row_tile = 6, vectors = 2, vector_width = 8, row_block = 6, products = bf16_tiles>]) : tensor<?x8xf16>, tensor<3x8xf16> -> tensor<?x3xf16>
  return
}

// -----

!q = tensor<1x8x1x48xbf16>
// (C7)
func.func @pair_width_c7(%q: !q) -> !q {
  // expected-error@+1 {{expected 2 * vector_width to divide head_dim, found 32}}
  %c = attn.attention %q, %q, %q schedule([#attn.decode<q_block = 1, packed_heads = 1, kv_block = 64, vector_width = 16, score_rows = 1, score_keys = 1, context_rows = 1, context_vectors = 1, products = bf16_pairs>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x1x64xf32>
// (C15)
func.func @decode_pairs_f32_c15(%q: !q) -> !q {
  // expected-error@+1 {{expected bf16 elements and an even head_dim beside products bf16_pairs, found 'tensor<1x8x1x64xf32>'}}
  %c = attn.attention %q, %q, %q schedule([#attn.decode<q_block = 1, packed_heads = 1, kv_block = 64, vector_width = 16, score_rows = 1, score_keys = 1, context_rows = 1, context_vectors = 1, products = bf16_pairs>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

// expected-error@+1 {{expected an even vector_width and a kv_block that is a multiple of twice that beside products bf16_pairs, found 16 and 48}}
func.func private @pair_blocks() attributes {x = #attn.decode<q_block = 1, packed_heads = 1, kv_block = 48, vector_width = 16, score_rows = 1, score_keys = 1, context_rows = 1, context_vectors = 1, products = bf16_pairs>}

// -----

// expected-error@+1 {{expected an even vector_width and a kv_block that is a multiple of twice that beside products bf16_pairs, found 1 and 2}}
func.func private @odd_pairs() attributes {x = #attn.decode<q_block = 1, packed_heads = 1, kv_block = 2, vector_width = 1, score_rows = 1, score_keys = 1, context_rows = 1, context_vectors = 1, products = bf16_pairs>}

// -----

// expected-error@+1 {{expected products f32 or bf16_pairs, found bf16_tiles}}
func.func private @decode_tiles() attributes {x = #attn.decode<q_block = 1, packed_heads = 1, kv_block = 64, vector_width = 16, score_rows = 1, score_keys = 1, context_rows = 1, context_vectors = 1, products = bf16_tiles>}

// -----

// expected-error@+1 {{expected fetch_ahead of at least 0, found -1}}
func.func private @fetch_ahead_1() attributes {x = #attn.decode<q_block = 1, packed_heads = 1, kv_block = 64, vector_width = 16, score_rows = 1, score_keys = 1, context_rows = 1, context_vectors = 1, fetch_ahead = -1>}

// -----

// expected-error@+1 {{expected fetch_ahead of at most 4096, found 4097}}
func.func private @fetch_ahead_4097() attributes {x = #attn.decode<q_block = 1, packed_heads = 1, kv_block = 64, vector_width = 16, score_rows = 1, score_keys = 1, context_rows = 1, context_vectors = 1, fetch_ahead = 4097>}

// -----

// expected-error@+1 {{expected fetch_ahead of at most 4096, found 4097}}
func.func private @prefill_fetch_ahead_4097() attributes {x = #attn.prefill<q_block = 16, kv_block = 16, vector_width = 16, score_vectors = 1, score_keys = 1, context_rows = 1, context_vectors = 1, fetch_ahead = 4097>}

// -----

// expected-error@+1 {{expected fetches of at most 4, found 5}}
func.func private @fetches_5() attributes {x = #attn.decode<q_block = 1, packed_heads = 1, kv_block = 64, vector_width = 16, score_rows = 1, score_keys = 1, context_rows = 1, context_vectors = 1, fetches = 5>}

// -----

// expected-error@+1 {{expected fetch_locality of at most 3, found 4}}
func.func private @fetch_locality_4() attributes {x = #attn.decode<q_block = 1, packed_heads = 1, kv_block = 64, vector_width = 16, score_rows = 1, score_keys = 1, context_rows = 1, context_vectors = 1, fetch_locality = 4>}

// -----

// expected-error@+1 {{expected fetch_blocks of at most 4, found 5}}
func.func private @fetch_blocks_5() attributes {x = #attn.decode<q_block = 1, packed_heads = 1, kv_block = 64, vector_width = 16, score_rows = 1, score_keys = 1, context_rows = 1, context_vectors = 1, fetch_blocks = 5>}

// -----

// expected-error@+1 {{expected fetch_blocks of at least 0, found -1}}
func.func private @fetch_blocks_negative() attributes {x = #attn.decode<q_block = 1, packed_heads = 1, kv_block = 64, vector_width = 16, score_rows = 1, score_keys = 1, context_rows = 1, context_vectors = 1, fetch_blocks = -1>}

// -----

// expected-error@+1 {{expected a positive fetches, found 0}}
func.func private @fetches_0() attributes {x = #attn.decode<q_block = 1, packed_heads = 1, kv_block = 64, vector_width = 16, score_rows = 1, score_keys = 1, context_rows = 1, context_vectors = 1, fetches = 0>}

// -----

!q = tensor<1x6x1x64xf32>
!k = tensor<1x3x?x64xf32>
// (C7)
func.func @interleaved_heads_c7(%q: !q, %k: !k) -> !q {
  // expected-error@+1 {{expected packed_heads * interleaved_heads to divide num_q_heads, found 2 * 2}}
  %c = attn.attention %q, %k, %k schedule([#attn.decode<q_block = 2, packed_heads = 2, kv_block = 64, vector_width = 16, score_rows = 2, score_keys = 4, context_rows = 2, context_vectors = 4, interleaved_heads = 2>]) : !q, !k, !k -> !q
  return %c : !q
}

// -----

// expected-error@+1 {{expected q_block * interleaved_heads of at most 1024, found 8 * 129}}
#many = #attn.decode<q_block = 8, packed_heads = 8, kv_block = 64, vector_width = 16, score_rows = 4, score_keys = 4, context_rows = 4, context_vectors = 4, interleaved_heads = 129>

// -----

// expected-error@+1 {{expected a positive interleaved_heads, found 0}}
#none = #attn.decode<q_block = 8, packed_heads = 8, kv_block = 64, vector_width = 16, score_rows = 4, score_keys = 4, context_rows = 4, context_vectors = 4, interleaved_heads = 0>

// -----

// expected-error@+1 {{expected copy_kv_blocks of at most 1, found 2}}
func.func private @copy_kv_blocks_2() attributes {x = #attn.prefill<q_block = 16, kv_block = 16, vector_width = 16, score_vectors = 1, score_keys = 1, context_rows = 1, context_vectors = 1, copy_kv_blocks = 2>}

// -----

// expected-error@+1 {{expected fetch_locality of at most 3, found 4}}
func.func private @prefill_fetch_locality_4() attributes {x = #attn.prefill<q_block = 16, kv_block = 16, vector_width = 16, score_vectors = 1, score_keys = 1, context_rows = 1, context_vectors = 1, fetch_locality = 4>}

// -----

// expected-error@+1 {{expected kv_block of at most 65536, found 2147483648}}
#keys = #attn.prefill<q_block = 16, kv_block = 2147483648, vector_width = 16, score_vectors = 1, score_keys = 8, context_rows = 4, context_vectors = 4>

// -----

// expected-error@+1 {{expected kv_block of at most 65536, found 2147483648}}
#cache = #attn.decode<q_block = 4, packed_heads = 4, kv_block = 2147483648, vector_width = 16, score_rows = 4, score_keys = 4, context_rows = 4, context_vectors = 4>

// -----

// expected-error@+1 {{expected q_block / threads_y * kv_block / threads_x of at most 128, found 4 * 512}}
#scores = #attn.gpu<q_block = 64, packed_heads = 1, kv_block = 4096, kv_splits = 1, threads_x = 8, threads_y = 16, context_columns = 2>

// -----

func.func @none(%q: tensor<1x8x9x64xf32>) -> tensor<1x8x9x64xf32> {
  // expected-error@+1 {{expected a schedule, found none}}
  %c = attn.attention %q, %q, %q schedule([]) : tensor<1x8x9x64xf32>, tensor<1x8x9x64xf32>, tensor<1x8x9x64xf32> -> tensor<1x8x9x64xf32>
  return %c : tensor<1x8x9x64xf32>
}

// -----

func.func @lanes_of_i8(%x: tensor<2x8xi8>, %w: tensor<3x8xi8>) -> tensor<2x3xi32> {
  // expected-error@+1 {{expected a vector_width of at least 4 beside products of i8, found 1}}
  %y = attn.linear %x, %w schedule([#attn.linear<row_tile = 6, vectors = 2, vector_width = 1, row_block = 12>]) : tensor<2x8xi8>, tensor<3x8xi8> -> tensor<2x3xi32>
  return %y : tensor<2x3xi32>
}
