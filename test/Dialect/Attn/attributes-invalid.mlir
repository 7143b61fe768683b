// RUN: attn-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{expected attn.name to be a string, found 3}}
func.func private @name_type(tensor<2xf32> {attn.name = 3})

// -----

// expected-error@+1 {{expected attn.name to be a C identifier, found "2q"}}
func.func private @name_digit(tensor<2xf32> {attn.name = "2q"})

// -----

// expected-error@+1 {{expected attn.name to be a C identifier, found "float"}}
func.func private @name_keyword(tensor<2xf32> {attn.name = "float"})

// -----

// Macros of C's headers.
// expected-error@+1 {{expected attn.name to be a C identifier, found "EOF"}}
func.func private @name_macro(tensor<2xf32> {attn.name = "EOF"})

// -----

// expected-error@+1 {{expected attn.name to be a C identifier, found "INT_MAX"}}
func.func private @name_limit(tensor<2xf32> {attn.name = "INT_MAX"})

// -----

// expected-error@+1 {{expected every attn.name once, found "x" twice}}
func.func private @name_twice(tensor<2xf32> {attn.name = "x"}, tensor<2xf32> {attn.name = "x"})

// -----

// expected-error@+1 {{expected every attn.name once, found "x" twice}}
func.func private @name_of_result(tensor<2xf32> {attn.name = "x"}) -> (tensor<2xf32> {attn.name = "x"})

// -----

// expected-error@+1 {{expected attn.dims to be an array, found "n"}}
func.func private @dims_type(tensor<2xf32> {attn.dims = "n"})

// -----

// expected-error@+1 {{expected attn.dims with 2 entries, found 1}}
func.func private @dims_rank(tensor<2x?xf32> {attn.dims = [2]})

// -----

// expected-error@+1 {{expected attn.dims to hold symbols and sizes, found 2.000000e+00}}
func.func private @dims_entry(tensor<2xf32> {attn.dims = [2.0]})

// -----

// expected-error@+1 {{expected attn.dims to repeat size 2 of dimension 0, found 3}}
func.func private @dims_size(tensor<2xf32> {attn.dims = [3]})

// -----

// expected-error@+1 {{expected a symbol for dynamic dimension 0 in attn.dims, found 3}}
func.func private @dims_dynamic(tensor<?xf32> {attn.dims = [3]})

// -----

// expected-error@+1 {{expected attn.dims on a ranked tensor, found 'f32'}}
func.func private @dims_scalar(f32 {attn.dims = []})

// -----

// expected-error@+1 {{expected attn.weight to name a tensor, found 0}}
func.func private @weight_type(tensor<2xf32> {attn.weight = 0})

// -----

// expected-error@+1 {{expected attn.weight on an argument, found it on a result}}
func.func private @weight_result() -> (tensor<2xf32> {attn.weight = "w"})

// -----

// expected-error@+1 {{expected attn.name, attn.dims, attn.weight, attn.result or attn.in_place, found "attn.nam"}}
func.func private @unknown(tensor<2xf32> {attn.nam = "w"})

// -----

// expected-error@+1 {{expected a positive score_keys, found 0}}
#zero = #attn.prefill<q_block = 48, kv_block = 64, vector_width = 16, score_vectors = 3, score_keys = 0, context_rows = 6, context_vectors = 4>

// -----

// expected-error@+1 {{expected q_block to be a multiple of vector_width 16, found 50}}
#rows = #attn.prefill<q_block = 50, kv_block = 64, vector_width = 16, score_vectors = 3, score_keys = 8, context_rows = 5, context_vectors = 4>

// -----

// expected-error@+1 {{expected q_block to be a multiple of vector_width * score_vectors, found 48 and 16 * 2}}
#vectors = #attn.prefill<q_block = 48, kv_block = 64, vector_width = 16, score_vectors = 2, score_keys = 8, context_rows = 6, context_vectors = 4>

// -----

// expected-error@+1 {{expected q_block to be a multiple of context_rows 5, found 48}}
#context = #attn.prefill<q_block = 48, kv_block = 64, vector_width = 16, score_vectors = 3, score_keys = 8, context_rows = 5, context_vectors = 4>

// -----

// expected-error@+1 {{expected kv_block to be a multiple of 4, found 90}}
#chains = #attn.prefill<q_block = 48, kv_block = 90, vector_width = 16, score_vectors = 3, score_keys = 9, context_rows = 6, context_vectors = 4>

// -----

// expected-error@+1 {{expected kv_block to be a multiple of score_keys 8, found 60}}
#keys = #attn.prefill<q_block = 48, kv_block = 60, vector_width = 16, score_vectors = 3, score_keys = 8, context_rows = 6, context_vectors = 4>

// -----

// expected-error@+1 {{expected attn.result on an argument and without value}}
func.func @result(%x: memref<4xf32> {attn.result = 1}) {
  return
}

// -----

// expected-error@+1 {{expected attn.in_place on an argument with attn.result and with the number of an argument before it, found 1 : i64}}
func.func private @later(memref<4xf32>, memref<4xf32> {attn.result, attn.in_place = 1 : i64})

// -----

// expected-error@+1 {{expected attn.in_place on an argument with attn.result and with the number of an argument before it, found 0 : i64}}
func.func private @no_result(memref<4xf32>, memref<4xf32> {attn.in_place = 0 : i64})

// -----

// expected-error@+1 {{expected attn.in_place to number an argument of type 'memref<4xf32>', found 'memref<5xf32>'}}
func.func private @other_type(memref<5xf32>, memref<4xf32> {attn.result, attn.in_place = 0 : i64})
