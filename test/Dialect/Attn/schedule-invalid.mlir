// RUN: attn-opt %s --split-input-file --verify-diagnostics

!q = tensor<1x8x?x64xf32>
!k = tensor<1x2x?x64xf32>
// (C6)
func.func @limit_c6(%q: !q, %k: !k) -> !q {
  // expected-error@+1 {{expected a last schedule without max_q_len}}
  %c = attn.attention %q, %k, %k schedule([#attn.prefill<row_tile = 48, key_chunk = 64, vector_width = 16, score_vectors = 3, score_keys = 8, context_rows = 6, context_vectors = 4, max_q_len = 9>]) : !q, !k, !k -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x?x64xf32>
!k = tensor<1x2x?x64xf32>
// (C6)
func.func @order_c6(%q: !q, %k: !k) -> !q {
  // expected-error@+1 {{expected a max_q_len above 9, found 9}}
  %c = attn.attention %q, %k, %k schedule([
    #attn.prefill<row_tile = 16, key_chunk = 64, vector_width = 16, score_vectors = 1, score_keys = 8, context_rows = 4, context_vectors = 4, max_q_len = 9>,
    #attn.prefill<row_tile = 32, key_chunk = 64, vector_width = 16, score_vectors = 2, score_keys = 8, context_rows = 4, context_vectors = 4, max_q_len = 9>,
    #attn.prefill<row_tile = 48, key_chunk = 64, vector_width = 16, score_vectors = 3, score_keys = 8, context_rows = 6, context_vectors = 4>]) : !q, !k, !k -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x?x64xf32>
!k = tensor<1x2x?x64xf32>
// (C7)
func.func @shared_c7(%q: !q, %k: !k) -> !q {
  // expected-error@+1 {{expected shared_heads to divide 4, found 8}}
  %c = attn.attention %q, %k, %k schedule([#attn.decode<row_tile = 8, shared_heads = 8, key_chunk = 64, vector_width = 16, score_rows = 4, score_keys = 4, context_rows = 4, context_vectors = 4>]) : !q, !k, !k -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x?x24xf32>
!k = tensor<1x2x?x24xf32>
// (C7)
func.func @width_c7(%q: !q, %k: !k) -> !q {
  // expected-error@+1 {{expected vector_width to divide head_dim, found 16}}
  %c = attn.attention %q, %k, %k schedule([#attn.decode<row_tile = 4, shared_heads = 4, key_chunk = 64, vector_width = 16, score_rows = 4, score_keys = 4, context_rows = 4, context_vectors = 4>]) : !q, !k, !k -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x1x64xf32>
// (C10)
func.func @splits_c10(%q: !q) -> !q {
  // expected-error@+1 {{expected key_splits 1 beside a prob region, found 2}}
  %c = attn.attention %q, %q, %q prob_mod {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %p : f32
  } schedule([#attn.decode<row_tile = 1, shared_heads = 1, key_chunk = 64, vector_width = 16, score_rows = 1, score_keys = 8, context_rows = 1, context_vectors = 4, key_splits = 2>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

// expected-error@+1 {{expected a positive least_part, found 0}}
#part = #attn.decode<row_tile = 1, shared_heads = 1, key_chunk = 64, vector_width = 16, score_rows = 1, score_keys = 8, context_rows = 1, context_vectors = 4, key_splits = 2, least_part = 0>

// -----

// expected-error@+1 {{expected row_tile to be a multiple of shared_heads 3, found 4}}
#rows = #attn.decode<row_tile = 4, shared_heads = 3, key_chunk = 64, vector_width = 16, score_rows = 4, score_keys = 4, context_rows = 4, context_vectors = 4>

// -----

// expected-error@+1 {{expected key_chunk to be a multiple of vector_width 16, found 40}}
#chunk = #attn.decode<row_tile = 4, shared_heads = 4, key_chunk = 40, vector_width = 16, score_rows = 4, score_keys = 4, context_rows = 4, context_vectors = 4>

// -----

!q = tensor<1x8x?x64xf32>
!k = tensor<1x2x?x64xf32>
// (C8)
func.func @shared_c8(%q: !q, %k: !k) -> !q {
  // expected-error@+1 {{expected shared_heads to divide 4, found 8}}
  %c = attn.attention %q, %k, %k schedule([#attn.gpu<row_tile = 8, shared_heads = 8, key_chunk = 32, key_splits = 1, threads_x = 16, threads_y = 8, context_columns = 4>]) : !q, !k, !k -> !q
  return %c : !q
}

// -----

!q = tensor<1x8x?x128xf32>
// (C8)
func.func @columns_c8(%q: !q) -> !q {
  // expected-error@+1 {{expected threads_x * context_columns to be at least value_dim, found 64}}
  %c = attn.attention %q, %q, %q schedule([#attn.gpu<row_tile = 8, shared_heads = 1, key_chunk = 32, key_splits = 1, threads_x = 16, threads_y = 8, context_columns = 4>]) : !q, !q, !q -> !q
  return %c : !q
}

// -----

// expected-error@+1 {{expected at most 1024 threads, found 16 * 1152921504606846976}}
#many_threads = #attn.gpu<row_tile = 1152921504606846976, shared_heads = 1, key_chunk = 64, key_splits = 1, threads_x = 16, threads_y = 1152921504606846976, context_columns = 4>

// -----

// expected-error@+1 {{expected at most 1024 threads, found 64 * 32}}
#threads = #attn.gpu<row_tile = 32, shared_heads = 1, key_chunk = 64, key_splits = 1, threads_x = 64, threads_y = 32, context_columns = 4>

// -----

// expected-error@+1 {{expected row_tile to be a multiple of threads_y 8, found 12}}
#tile = #attn.gpu<row_tile = 12, shared_heads = 1, key_chunk = 64, key_splits = 1, threads_x = 16, threads_y = 8, context_columns = 4>

// -----

// expected-error@+1 {{expected an even number of context_columns, found 5}}
#columns = #attn.gpu<row_tile = 8, shared_heads = 1, key_chunk = 64, key_splits = 1, threads_x = 16, threads_y = 8, context_columns = 5>
