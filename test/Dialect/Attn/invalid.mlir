// RUN: attn-opt %s -split-input-file -verify-diagnostics
//
// One function per labelled constraint: @score_c1 breaks (C1) of attn.score.

func.func @score_c1(%q: tensor<2x4x5x8xf32>, %k: tensor<2x4x7x8xf16>) {
  // expected-error@+1 {{expected key elements 'f32' to match query, found 'f16'}}
  %s = attn.score %q, %k : tensor<2x4x5x8xf32>, tensor<2x4x7x8xf16> -> tensor<2x4x5x7xf32>
  return
}

// -----

func.func @score_c1_score(%q: tensor<2x4x5x8xf32>, %k: tensor<2x4x7x8xf32>) {
  // expected-error@+1 {{expected score elements 'f32' to match query, found 'f64'}}
  %s = attn.score %q, %k : tensor<2x4x5x8xf32>, tensor<2x4x7x8xf32> -> tensor<2x4x5x7xf64>
  return
}

// -----

func.func @score_c2_batch(%q: tensor<2x4x5x8xf32>, %k: tensor<3x4x7x8xf32>) {
  // expected-error@+1 {{expected key batch 2 to match query, found 3}}
  %s = attn.score %q, %k : tensor<2x4x5x8xf32>, tensor<3x4x7x8xf32> -> tensor<2x4x5x7xf32>
  return
}

// -----

func.func @score_c2_head_dim(%q: tensor<2x4x5x8xf32>, %k: tensor<?x4x7x16xf32>) {
  // expected-error@+1 {{expected key head_dim 8 to match query, found 16}}
  %s = attn.score %q, %k : tensor<2x4x5x8xf32>, tensor<?x4x7x16xf32> -> tensor<2x4x5x7xf32>
  return
}

// -----

func.func @score_c3(%q: tensor<2x4x5x8xf32>, %k: tensor<2x3x7x8xf32>) {
  // expected-error@+1 {{expected num_q_heads 4 to be a multiple of num_kv_heads, found 3}}
  %s = attn.score %q, %k : tensor<2x4x5x8xf32>, tensor<2x3x7x8xf32> -> tensor<2x4x5x7xf32>
  return
}

// -----

func.func @score_c3_zero(%q: tensor<2x4x5x8xf32>, %k: tensor<2x0x7x8xf32>) {
  // expected-error@+1 {{expected num_q_heads 4 to be a multiple of num_kv_heads, found 0}}
  %s = attn.score %q, %k : tensor<2x4x5x8xf32>, tensor<2x0x7x8xf32> -> tensor<2x4x5x7xf32>
  return
}

// -----

func.func @score_c4(%q: tensor<2x4x5x8xf32>, %k: tensor<2x4x7x8xf32>) {
  // expected-error@+1 {{expected score kv_len 7, found 5}}
  %s = attn.score %q, %k : tensor<2x4x5x8xf32>, tensor<2x4x7x8xf32> -> tensor<2x4x5x5xf32>
  return
}

// -----

func.func @score_c4_batch(%q: tensor<?x4x5x8xf32>, %k: tensor<2x4x7x8xf32>) {
  // expected-error@+1 {{expected score batch 2, found 3}}
  %s = attn.score %q, %k : tensor<?x4x5x8xf32>, tensor<2x4x7x8xf32> -> tensor<3x4x5x7xf32>
  return
}

// -----

func.func @score_c4_heads(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>) {
  // expected-error@+1 {{expected score num_q_heads 4, found 2}}
  %s = attn.score %q, %k : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32> -> tensor<2x2x5x7xf32>
  return
}

// -----

func.func @modify_score_c1(%s: tensor<1x2x3x4xf32>) {
  // expected-error@+1 {{expected the region to take ('f32', 'index', 'index', 'index', 'index'), found ('f16', 'index', 'index', 'index', 'index')}}
  %r = attn.modify_score %s {
  ^bb0(%x: f16, %batch: index, %head: index, %i: index, %j: index):
    attn.yield %x : f16
  } : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @modify_score_c1_arity(%s: tensor<1x2x3x4xf32>) {
  // expected-error@+1 {{expected the region to take ('f32', 'index', 'index', 'index', 'index'), found ('f32', 'index')}}
  %r = attn.modify_score %s {
  ^bb0(%x: f32, %i: index):
    attn.yield %x : f32
  } : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @modify_score_c1_yield(%s: tensor<1x2x3x4xf32>) {
  %r = attn.modify_score %s {
  ^bb0(%x: f32, %batch: index, %head: index, %i: index, %j: index):
    // expected-error@+1 {{expected a value of 'f32', found 'index'}}
    attn.yield %i : index
  } : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @modify_score_same_size(%s: tensor<2x4x3x5xf32>, %b: tensor<3x6xf32>, %at: index) {
  // expected-error@+1 {{expected operand kv_len 5 to match score, found 6}}
  %m = attn.modify_score %s {
  ^bb0(%score: f32, %batch: index, %head: index, %q: index, %k: index):
    %elsewhere = tensor.extract %b[%at, %at] {attn.same_size} : tensor<3x6xf32>
    %x = tensor.extract %b[%q, %k] {attn.same_size} : tensor<3x6xf32>
    %sum = arith.addf %x, %elsewhere : f32
    attn.yield %sum : f32
  } : tensor<2x4x3x5xf32>
  return
}

// -----

func.func @attention_same_size(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{expected operand q_len 3 to match query, found 4}}
  %c = attn.attention %q, %k, %k score_mod {
  ^bb0(%score: f32, %batch: index, %head: index, %i: index, %j: index):
    %x = tensor.extract %b[%i] {attn.same_size} : tensor<4xf32>
    %sum = arith.addf %score, %x : f32
    attn.yield %sum : f32
  } : tensor<2x4x3x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32> -> tensor<2x4x3x8xf32>
  return
}

// -----

func.func @mask_c1(%s: tensor<1x2x3x4xf32>) {
  // expected-error@+1 {{expected the region to take ('index', 'index', 'index', 'index'), found ('index', 'index')}}
  %r = attn.mask %s {
  ^bb0(%i: index, %j: index):
    %c = arith.cmpi sle, %j, %i : index
    attn.yield %c : i1
  } : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @mask_c1_yield(%s: tensor<1x2x3x4xf32>) {
  %r = attn.mask %s {
  ^bb0(%batch: index, %head: index, %i: index, %j: index):
    // expected-error@+1 {{expected a value of 'i1', found 'index'}}
    attn.yield %i : index
  } : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @modify_prob_c1(%s: tensor<1x2x3x4xf32>) {
  // expected-error@+1 {{expected the region to take ('f32', 'index', 'index', 'index', 'index'), found ('f64', 'index', 'index', 'index', 'index')}}
  %r = attn.modify_prob %s {
  ^bb0(%x: f64, %batch: index, %head: index, %i: index, %j: index):
    attn.yield %x : f64
  } : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @modify_prob_c1_yield(%s: tensor<1x2x3x4xf32>) {
  %r = attn.modify_prob %s {
  ^bb0(%x: f32, %batch: index, %head: index, %i: index, %j: index):
    // expected-error@+1 {{expected a value of 'f32', found 'index'}}
    attn.yield %i : index
  } : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @softmax_c1(%s: tensor<1x2x3x4xf32>) {
  // expected-error@+1 {{expected an axis within rank 4, found 4}}
  %p = attn.softmax %s axis(4) : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @softmax_c1_negative(%s: tensor<1x2x3x4xf32>) {
  // expected-error@+1 {{expected an axis within rank 4, found -5}}
  %p = attn.softmax %s axis(-5) : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @softmax_c2(%s: tensor<1x2x3x4xf32>, %sink: tensor<1x2x1xf32>) {
  // expected-error@+1 {{expected a score of rank 4 and its last axis beside a sink, found rank 4 and axis 2}}
  %p = attn.softmax %s sink(%sink : tensor<1x2x1xf32>) axis(2) : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @softmax_c2_element(%s: tensor<1x2x3x4xf32>, %sink: tensor<1x2x1xf16>) {
  // expected-error@+1 {{expected sink elements 'f32' to match score, found 'f16'}}
  %p = attn.softmax %s sink(%sink : tensor<1x2x1xf16>) : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @softmax_c3(%s: tensor<1x2x3x4xf32>, %sink: tensor<1x2x4xf32>) {
  // expected-error@+1 {{expected sink q_len 3 to match score, found 4}}
  %p = attn.softmax %s sink(%sink : tensor<1x2x4xf32>) : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @attention_c9(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %sink: tensor<1x2x1xf32>) {
  // expected-error@+1 {{expected sink num_q_heads 4 to match query, found 2}}
  %c = attn.attention %q, %k, %k sink(%sink : tensor<1x2x1xf32>)
      : tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32> -> tensor<1x4x3x8xf32>
  return
}

// -----

func.func @context_c1(%p: tensor<2x4x5x7xf32>, %v: tensor<2x4x7x8xf16>) {
  // expected-error@+1 {{expected value elements 'f32' to match prob, found 'f16'}}
  %c = attn.context %p, %v : tensor<2x4x5x7xf32>, tensor<2x4x7x8xf16> -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @context_c1_context(%p: tensor<2x4x5x7xf32>, %v: tensor<2x4x7x8xf32>) {
  // expected-error@+1 {{expected context elements 'f32' to match prob, found 'f16'}}
  %c = attn.context %p, %v : tensor<2x4x5x7xf32>, tensor<2x4x7x8xf32> -> tensor<2x4x5x8xf16>
  return
}

// -----

func.func @context_c2_batch(%p: tensor<2x4x5x7xf32>, %v: tensor<1x4x7x8xf32>) {
  // expected-error@+1 {{expected value batch 2 to match prob, found 1}}
  %c = attn.context %p, %v : tensor<2x4x5x7xf32>, tensor<1x4x7x8xf32> -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @context_c2_kv_len(%p: tensor<2x4x5x7xf32>, %v: tensor<2x4x6x8xf32>) {
  // expected-error@+1 {{expected value kv_len 7 to match prob, found 6}}
  %c = attn.context %p, %v : tensor<2x4x5x7xf32>, tensor<2x4x6x8xf32> -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @context_c3(%p: tensor<2x4x5x7xf32>, %v: tensor<2x8x7x8xf32>) {
  // expected-error@+1 {{expected num_q_heads 4 to be a multiple of num_kv_heads, found 8}}
  %c = attn.context %p, %v : tensor<2x4x5x7xf32>, tensor<2x8x7x8xf32> -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @context_c4(%p: tensor<2x4x5x7xf32>, %v: tensor<2x4x7x8xf32>) {
  // expected-error@+1 {{expected context value_dim 8, found 9}}
  %c = attn.context %p, %v : tensor<2x4x5x7xf32>, tensor<2x4x7x8xf32> -> tensor<2x4x5x9xf32>
  return
}

// -----

func.func @attention_c1(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf64>, %v: tensor<2x2x7x3xf32>) {
  // expected-error@+1 {{expected key elements 'f32' to match query, or narrower ones, found 'f64'}}
  %c = attn.attention %q, %k, %v : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf64>, tensor<2x2x7x3xf32> -> tensor<2x4x5x3xf32>
  return
}

// -----

func.func @attention_c1_value(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf64>) {
  // expected-error@+1 {{expected value elements 'f32' to match query, or narrower ones, found 'f64'}}
  %c = attn.attention %q, %k, %v : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x3xf64> -> tensor<2x4x5x3xf32>
  return
}

// -----

func.func @attention_c1_context(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>) {
  // expected-error@+1 {{expected context elements 'f32' to match query, found 'f16'}}
  %c = attn.attention %q, %k, %v : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x3xf32> -> tensor<2x4x5x3xf16>
  return
}

// -----

func.func @attention_c2_key_batch(%q: tensor<2x4x5x8xf32>, %k: tensor<1x2x7x8xf32>, %v: tensor<2x2x7x3xf32>) {
  // expected-error@+1 {{expected key batch 2 to match query, found 1}}
  %c = attn.attention %q, %k, %v : tensor<2x4x5x8xf32>, tensor<1x2x7x8xf32>, tensor<2x2x7x3xf32> -> tensor<2x4x5x3xf32>
  return
}

// -----

func.func @attention_c2_value_batch(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<1x2x7x3xf32>) {
  // expected-error@+1 {{expected value batch 2 to match query, found 1}}
  %c = attn.attention %q, %k, %v : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<1x2x7x3xf32> -> tensor<2x4x5x3xf32>
  return
}

// -----

func.func @attention_c2_head_dim(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x9xf32>, %v: tensor<2x2x7x3xf32>) {
  // expected-error@+1 {{expected key head_dim 8 to match query, found 9}}
  %c = attn.attention %q, %k, %v : tensor<2x4x5x8xf32>, tensor<2x2x7x9xf32>, tensor<2x2x7x3xf32> -> tensor<2x4x5x3xf32>
  return
}

// -----

func.func @attention_c2_num_kv_heads(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x4x7x3xf32>) {
  // expected-error@+1 {{expected value num_kv_heads 2 to match key, found 4}}
  %c = attn.attention %q, %k, %v : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x4x7x3xf32> -> tensor<2x4x5x3xf32>
  return
}

// -----

func.func @attention_c2_kv_len(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x6x3xf32>) {
  // expected-error@+1 {{expected value kv_len 7 to match key, found 6}}
  %c = attn.attention %q, %k, %v : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x6x3xf32> -> tensor<2x4x5x3xf32>
  return
}

// -----

func.func @attention_c3(%q: tensor<2x4x5x8xf32>, %k: tensor<2x3x7x8xf32>, %v: tensor<2x3x7x3xf32>) {
  // expected-error@+1 {{expected num_q_heads 4 to be a multiple of num_kv_heads, found 3}}
  %c = attn.attention %q, %k, %v : tensor<2x4x5x8xf32>, tensor<2x3x7x8xf32>, tensor<2x3x7x3xf32> -> tensor<2x4x5x3xf32>
  return
}

// -----

func.func @attention_c4(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>) {
  // expected-error@+1 {{expected context q_len 5, found 4}}
  %c = attn.attention %q, %k, %v : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x3xf32> -> tensor<2x4x4x3xf32>
  return
}

// -----

func.func @attention_c4_lse(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>) {
  // expected-error@+1 {{expected lse num_q_heads 4, found 2}}
  %c:2 = attn.attention %q, %k, %v : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x3xf32> -> tensor<2x4x5x3xf32>, tensor<2x2x5xf32>
  return
}

// -----

func.func @attention_c5_score_mod(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>) {
  // expected-error@+1 {{expected score_mod to take ('f32', 'index', 'index', 'index', 'index'), found ('index', 'index', 'index', 'index')}}
  %c = attn.attention %q, %k, %v score_mod {
  ^bb0(%batch: index, %head: index, %i: index, %j: index):
    attn.yield %i : index
  } : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x3xf32> -> tensor<2x4x5x3xf32>
  return
}

// -----

func.func @attention_c5_mask(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>) {
  %c = attn.attention %q, %k, %v mask {
  ^bb0(%batch: index, %head: index, %i: index, %j: index):
    // expected-error@+1 {{expected a value of 'i1', found 'index'}}
    attn.yield %i : index
  } : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x3xf32> -> tensor<2x4x5x3xf32>
  return
}

// -----

func.func @attention_c5_prob_mod(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x3xf32>) {
  %c = attn.attention %q, %k, %v prob_mod {
  ^bb0(%x: f32, %batch: index, %head: index, %i: index, %j: index):
    // expected-error@+1 {{expected a value of 'f32', found 'index'}}
    attn.yield %i : index
  } : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x3xf32> -> tensor<2x4x5x3xf32>
  return
}

// -----

func.func @matmul_c1(%a: tensor<2x3xf32>, %b: tensor<3x4xf16>) {
  // expected-error@+1 {{expected right elements 'f32' to match left, found 'f16'}}
  %c = attn.matmul %a, %b : tensor<2x3xf32>, tensor<3x4xf16> -> tensor<2x4xf32>
  return
}

// -----

func.func @matmul_c1_result(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{expected result elements 'f32' to match left, found 'f64'}}
  %c = attn.matmul %a, %b : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf64>
  return
}

// -----

func.func @matmul_c2(%a: tensor<3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{expected left of rank 2 or more, found 1}}
  %c = attn.matmul %a, %b : tensor<3xf32>, tensor<3x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @matmul_c2_right(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{expected right of rank 2 or more, found 1}}
  %c = attn.matmul %a, %b : tensor<2x3xf32>, tensor<3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @matmul_c3(%a: tensor<5x2x3xf32>, %b: tensor<2x4xf32>) {
  // expected-error@+1 {{expected right inner size 3 to match left, found 2}}
  %c = attn.matmul %a, %b : tensor<5x2x3xf32>, tensor<2x4xf32> -> tensor<5x2x4xf32>
  return
}

// -----

func.func @matmul_c4(%a: tensor<5x2x3xf32>, %b: tensor<6x5x3x4xf32>, %d: tensor<2x3x4xf32>) {
  %c = attn.matmul %a, %b : tensor<5x2x3xf32>, tensor<6x5x3x4xf32> -> tensor<6x5x2x4xf32>
  // expected-error@+1 {{expected right dim[0] 5 to match left, found 2}}
  %e = attn.matmul %a, %d : tensor<5x2x3xf32>, tensor<2x3x4xf32> -> tensor<5x2x4xf32>
  return
}

// -----

func.func @matmul_c5(%a: tensor<1x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error@+1 {{expected result dimension 0 of 5, found 1}}
  %c = attn.matmul %a, %b : tensor<1x2x3xf32>, tensor<5x3x4xf32> -> tensor<1x2x4xf32>
  return
}

// -----

func.func @matmul_c5_rank(%a: tensor<2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error@+1 {{expected a result of rank 3, found 2}}
  %c = attn.matmul %a, %b : tensor<2x3xf32>, tensor<5x3x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @linear_c1(%x: tensor<2x8xf32>, %w: tensor<3x8xf16>) {
  // expected-error@+1 {{expected weight elements 'f32' to match input, found 'f16'}}
  %y = attn.linear %x, %w : tensor<2x8xf32>, tensor<3x8xf16> -> tensor<2x3xf32>
  return
}

// -----

func.func @linear_c1_bias(%x: tensor<2x8xf32>, %w: tensor<3x8xf32>, %b: tensor<3xf16>) {
  // expected-error@+1 {{expected bias elements 'f32' to match input, found 'f16'}}
  %y = attn.linear %x, %w, %b : tensor<2x8xf32>, tensor<3x8xf32>, tensor<3xf16> -> tensor<2x3xf32>
  return
}

// -----

func.func @linear_c1_result(%x: tensor<2x8xf32>, %w: tensor<3x8xf32>) {
  // expected-error@+1 {{expected result elements 'f32' to match input, found 'f16'}}
  %y = attn.linear %x, %w : tensor<2x8xf32>, tensor<3x8xf32> -> tensor<2x3xf16>
  return
}

// -----

func.func @linear_c1_i8(%x: tensor<2x8xi8>, %w: tensor<3x8xi8>) {
  // expected-error@+1 {{expected a result of i32 beside products of i8, found 'tensor<2x3xf32>'}}
  %y = attn.linear %x, %w : tensor<2x8xi8>, tensor<3x8xi8> -> tensor<2x3xf32>
  return
}

// -----

func.func @linear_c1_i8_bias(%x: tensor<2x8xi8>, %w: tensor<3x8xi8>, %b: tensor<3xf32>) {
  // expected-error@+1 {{expected no bias of products of i8, found 'tensor<3xf32>'}}
  %y = attn.linear %x, %w, %b : tensor<2x8xi8>, tensor<3x8xi8>, tensor<3xf32> -> tensor<2x3xi32>
  return
}

// -----

func.func @linear_c1_i8_open(%x: tensor<2x?xi8>, %w: tensor<3x?xi8>) {
  // expected-error@+1 {{expected a known number of at most 65536 in_features beside products of i8, found 'tensor<3x?xi8>'}}
  %y = attn.linear %x, %w : tensor<2x?xi8>, tensor<3x?xi8> -> tensor<2x3xi32>
  return
}

// -----

func.func @linear_c1_i32(%x: tensor<2x8xf32>, %w: tensor<3x8xf32>) {
  // expected-error@+1 {{expected result elements 'f32' to match input, found 'i32'}}
  %y = attn.linear %x, %w : tensor<2x8xf32>, tensor<3x8xf32> -> tensor<2x3xi32>
  return
}

// -----

func.func @linear_c2(%x: tensor<2x8xf32>, %w: tensor<1x3x8xf32>) {
  // expected-error@+1 {{expected weight of rank 2, found 3}}
  %y = attn.linear %x, %w : tensor<2x8xf32>, tensor<1x3x8xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @linear_c2_in_features(%x: tensor<2x8xf32>, %w: tensor<8x3xf32>) {
  // expected-error@+1 {{expected weight in_features 8 to match input, found 3}}
  %y = attn.linear %x, %w : tensor<2x8xf32>, tensor<8x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @linear_c2_scalar(%x: tensor<f32>, %w: tensor<8x3xf32>) {
  // expected-error@+1 {{expected input of rank 1 or more, found 0}}
  %y = attn.linear %x, %w : tensor<f32>, tensor<8x3xf32> -> tensor<f32>
  return
}

// -----

func.func @linear_c3(%x: tensor<2x8xf32>, %w: tensor<3x8xf32>, %b: tensor<1x3xf32>) {
  // expected-error@+1 {{expected bias of rank 1, found 2}}
  %y = attn.linear %x, %w, %b : tensor<2x8xf32>, tensor<3x8xf32>, tensor<1x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @linear_c3_elements(%x: tensor<2x8xf32>, %w: tensor<3x8xf32>, %b: tensor<8xf32>) {
  // expected-error@+1 {{expected bias out_features 3 to match weight, found 8}}
  %y = attn.linear %x, %w, %b : tensor<2x8xf32>, tensor<3x8xf32>, tensor<8xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @linear_c4_rank(%x: tensor<2x8xf32>, %w: tensor<3x8xf32>) {
  // expected-error@+1 {{expected a result of rank 2, found 3}}
  %y = attn.linear %x, %w : tensor<2x8xf32>, tensor<3x8xf32> -> tensor<1x2x3xf32>
  return
}

// -----

func.func @linear_c4_rows(%x: tensor<2x8xf32>, %w: tensor<3x8xf32>) {
  // expected-error@+1 {{expected result dimension 0 of 2, found 1}}
  %y = attn.linear %x, %w : tensor<2x8xf32>, tensor<3x8xf32> -> tensor<1x3xf32>
  return
}

// -----

func.func @linear_c4_width(%x: tensor<2x8xf32>, %w: tensor<3x8xf32>) {
  // expected-error@+1 {{expected result dimension 1 of 3, found 4}}
  %y = attn.linear %x, %w : tensor<2x8xf32>, tensor<3x8xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @split_heads_c1(%x: tensor<2x5x12xf32>) {
  // expected-error@+1 {{expected result elements 'f32' to match input, found 'f16'}}
  %h = attn.split_heads %x num_heads(3) : tensor<2x5x12xf32> -> tensor<2x3x5x4xf16>
  return
}

// -----

func.func @split_heads_c2(%x: tensor<2x5x12xf32>) {
  // expected-error@+1 {{expected num_heads to divide the width 12, found 5}}
  %h = attn.split_heads %x num_heads(5) : tensor<2x5x12xf32> -> tensor<2x5x5x2xf32>
  return
}

// -----

func.func @split_heads_c2_positive(%x: tensor<2x5x12xf32>) {
  // expected-error@+1 {{expected a positive num_heads, found 0}}
  %h = attn.split_heads %x num_heads(0) : tensor<2x5x12xf32> -> tensor<2x5x5x2xf32>
  return
}

// -----

func.func @split_heads_c3(%x: tensor<2x5x12xf32>) {
  // expected-error@+1 {{expected result head_dim 4, found 3}}
  %h = attn.split_heads %x num_heads(3) : tensor<2x5x12xf32> -> tensor<2x3x5x3xf32>
  return
}

// -----

func.func @split_heads_c3_layout(%x: tensor<2x5x12xf32>) {
  // expected-error@+1 {{expected result batch 5, found 2}}
  %h = attn.split_heads %x num_heads(3) layout(time_first) : tensor<2x5x12xf32> -> tensor<2x3x5x4xf32>
  return
}

// -----

func.func @merge_heads_c1(%x: tensor<2x3x5x4xf32>) {
  // expected-error@+1 {{expected result elements 'f32' to match input, found 'f16'}}
  %m = attn.merge_heads %x : tensor<2x3x5x4xf32> -> tensor<2x5x12xf16>
  return
}

// -----

func.func @merge_heads_c2(%x: tensor<2x3x5x4xf32>) {
  // expected-error@+1 {{expected result width 12, found 13}}
  %m = attn.merge_heads %x : tensor<2x3x5x4xf32> -> tensor<2x5x13xf32>
  return
}

// -----

func.func @merge_heads_c2_layout(%x: tensor<2x3x5x4xf32>) {
  // expected-error@+1 {{expected result len 5, found 2}}
  %m = attn.merge_heads %x layout(time_first) : tensor<2x3x5x4xf32> -> tensor<2x5x12xf32>
  return
}

// -----

func.func @terminator(%s: tensor<1x2x3x4xf32>) {
  // expected-error@+1 {{expected the region to end with attn.yield, found ub.unreachable}}
  %r = attn.mask %s {
  ^bb0(%batch: index, %head: index, %i: index, %j: index):
    ub.unreachable
  } : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @lse_c1(%x: tensor<f32>) {
  // expected-error@+1 {{expected score of rank 1 or more, found 0}}
  %y = attn.lse %x : tensor<f32> -> tensor<f32>
  return
}

// -----

func.func @lse_c2(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{expected a result of rank 1, found 2}}
  %y = attn.lse %x : tensor<2x3xf32> -> tensor<2x1xf32>
  return
}

// -----

func.func @merge_c1(%c: tensor<1x2x3x4xf32>, %d: tensor<1x2x3x4xf16>, %l: tensor<1x2x3xf32>) {
  // expected-error@+1 {{failed to verify that all of {context_a, context_b, context} have same type}}
  %m:2 = "attn.merge"(%c, %l, %d, %l) : (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3x4xf16>, tensor<1x2x3xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>)
  return
}

// -----

func.func @merge_c1_lse(%c: tensor<1x2x3x4xf32>, %l: tensor<1x2x3xf32>) {
  // expected-error@+1 {{failed to verify that all of {lse_a, lse_b, lse} have same type}}
  %m:2 = "attn.merge"(%c, %l, %c, %l) : (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf16>)
  return
}

// -----

func.func @merge_c2(%c: tensor<?x2x3x4xf32>, %l: tensor<?x2x5xf32>) {
  // expected-error@+1 {{expected lse_a q_len 3 to match context_a, found 5}}
  %m, %n = attn.merge %c, %l, %c, %l : tensor<?x2x3x4xf32>, tensor<?x2x5xf32>
  return
}

// -----

func.func @lse_c2_size(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{expected result dimension 0 of 2, found 3}}
  %y = attn.lse %x : tensor<2x3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @map_c1() {
  // expected-error@+1 {{expected an operand, found none}}
  %y = "attn.map"() ({
    %c = arith.constant 0.0 : f32
    attn.yield %c : f32
  }) : () -> tensor<f32>
  return
}

// -----

func.func @map_c1_arguments(%x: tensor<2xf32>) {
  // expected-error@+1 {{expected the region to take ('f32'), found ('f16')}}
  %y = attn.map %x {
  ^bb0(%a: f16):
    attn.yield %a : f16
  } : tensor<2xf32> -> tensor<2xf16>
  return
}

// -----

func.func @map_c1_yield(%x: tensor<2xf32>) {
  %y = attn.map %x {
  ^bb0(%a: f32):
    // expected-error@+1 {{expected a value of 'f16', found 'f32'}}
    attn.yield %a : f32
  } : tensor<2xf32> -> tensor<2xf16>
  return
}

// -----

func.func @map_c2(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  // expected-error@+1 {{expected operand 1 dim[1] 3 to match operand 0, found 2}}
  %z = attn.map %x, %y {
  ^bb0(%a: f32, %b: f32):
    attn.yield %a : f32
  } : tensor<2x3xf32>, tensor<2xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @map_c3(%x: tensor<2x1xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{expected result dimension 1 of 3, found 1}}
  %z = attn.map %x, %y {
  ^bb0(%a: f32, %b: f32):
    attn.yield %a : f32
  } : tensor<2x1xf32>, tensor<3xf32> -> tensor<2x1xf32>
  return
}

// -----

func.func @map_c3_rank(%x: tensor<2x1xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{expected a result of rank 2, found 1}}
  %z = attn.map %x, %y {
  ^bb0(%a: f32, %b: f32):
    attn.yield %a : f32
  } : tensor<2x1xf32>, tensor<3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @reduce_c1(%x: tensor<2xf32>) {
  // expected-error@+1 {{expected result elements 'f32' to match input, found 'f16'}}
  %y = attn.reduce sum %x axes [0] : tensor<2xf32> -> tensor<f16>
  return
}

// -----

func.func @reduce_c1_bool(%x: tensor<2xi1>) {
  // expected-error@+1 {{expected elements that max takes, found 'i1'}}
  %y = attn.reduce max %x axes [0] : tensor<2xi1> -> tensor<i1>
  return
}

// -----

func.func @reduce_c1_integer(%x: tensor<2xi32>) {
  // expected-error@+1 {{expected elements that mean takes, found 'i32'}}
  %y = attn.reduce mean %x axes [0] : tensor<2xi32> -> tensor<i32>
  return
}

// -----

func.func @reduce_c2(%x: tensor<2xf32>) {
  // expected-error@+1 {{expected axes within rank 1, found 1}}
  %y = attn.reduce sum %x axes [1] : tensor<2xf32> -> tensor<f32>
  return
}

// -----

func.func @reduce_c2_twice(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{expected every axis once, found -1 twice}}
  %y = attn.reduce sum %x axes [1, -1] : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @reduce_c3(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{expected a result of rank 1, found 2}}
  %y = attn.reduce sum %x axes [1] : tensor<2x3xf32> -> tensor<2x1xf32>
  return
}

// -----

func.func @reduce_c3_keep(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{expected result dimension 1 of 1, found 3}}
  %y = attn.reduce sum %x axes [1] keep_dims : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @transpose_c1(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{expected result elements 'f32' to match input, found 'f16'}}
  %y = attn.transpose %x [1, 0] : tensor<2x3xf32> -> tensor<3x2xf16>
  return
}

// -----

func.func @transpose_c2(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{expected a permutation of 2 dimensions, found [1, 1]}}
  %y = attn.transpose %x [1, 1] : tensor<2x3xf32> -> tensor<3x3xf32>
  return
}

// -----

func.func @transpose_c3(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{expected result dimension 0 of 3, found 2}}
  %y = attn.transpose %x [1, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @layer_norm_c1(%x: tensor<f32>) {
  // expected-error@+1 {{expected input of rank 1 or more, found 0}}
  %y = attn.layer_norm %x epsilon(0.0) : tensor<f32>
  return
}

// -----

func.func @layer_norm_c2(%x: tensor<2x3xf32>, %s: tensor<3xf16>) {
  // expected-error@+1 {{expected scale elements 'f32' to match input, found 'f16'}}
  %y = attn.layer_norm %x scale(%s : tensor<3xf16>) epsilon(0.0) : tensor<2x3xf32>
  return
}

// -----

func.func @layer_norm_c3(%x: tensor<2x3xf32>, %s: tensor<2xf32>) {
  // expected-error@+1 {{expected bias width 3 to match input, found 2}}
  %y = attn.layer_norm %x bias(%s : tensor<2xf32>) epsilon(0.0) : tensor<2x3xf32>
  return
}

// -----

func.func @layer_norm_c4(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{expected an epsilon of 0 or more, found -1.0}}
  %y = attn.layer_norm %x epsilon(-1.0) : tensor<2x3xf32>
  return
}

// -----

func.func @embedding_c1(%t: tensor<5xf32>, %i: tensor<2xi64>) {
  // expected-error@+1 {{expected table of rank 2, found 1}}
  %y = attn.embedding %t, %i : tensor<5xf32>, tensor<2xi64> -> tensor<2xf32>
  return
}

// -----

func.func @embedding_c2(%t: tensor<5x4xf32>, %i: tensor<2xi64>) {
  // expected-error@+1 {{expected result dimension 1 of 4, found 5}}
  %y = attn.embedding %t, %i : tensor<5x4xf32>, tensor<2xi64> -> tensor<2x5xf32>
  return
}

// -----

func.func @additive_score_c1(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf16>, %w: tensor<8xf32>) {
  // expected-error@+1 {{expected key}}
  %s = attn.additive_score %q, %k, %w : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf16>, tensor<8xf32> -> tensor<2x4x5x7xf32>
  return
}

// -----

func.func @additive_score_c2(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %w: tensor<9xf32>) {
  // expected-error@+1 {{weight width}}
  %s = attn.additive_score %q, %k, %w : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<9xf32> -> tensor<2x4x5x7xf32>
  return
}

// -----

func.func @additive_score_c3(%q: tensor<2x4x5x8xf32>, %k: tensor<2x3x7x8xf32>, %w: tensor<8xf32>) {
  // expected-error@+1 {{expected num_q_heads 4 to be a multiple of num_kv_heads, found 3}}
  %s = attn.additive_score %q, %k, %w : tensor<2x4x5x8xf32>, tensor<2x3x7x8xf32>, tensor<8xf32> -> tensor<2x4x5x7xf32>
  return
}

// -----

func.func @additive_score_c4(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %w: tensor<8xf32>) {
  // expected-error@+1 {{kv_len}}
  %s = attn.additive_score %q, %k, %w : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<8xf32> -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @positions_c1(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected input of rank 2 or more, found 1}}
  %y = attn.positions %x kind(sinusoidal) : tensor<8xf32>
  return
}

// -----

func.func @positions_c1_offset(%x: tensor<5x8xf32>, %n: tensor<5xi32>) {
  // expected-error@+1 {{expected input of rank 3 or more, found 2}}
  %y = attn.positions %x kind(sinusoidal) offset(%n : tensor<5xi32>) : tensor<5x8xf32>
  return
}

// -----

func.func @positions_c2(%x: tensor<5x7xf32>) {
  // expected-error@+1 {{expected an even width to rotate, found 7}}
  %y = attn.positions %x kind(rotary_halves) : tensor<5x7xf32>
  return
}

// -----

func.func @positions_c3(%x: tensor<2x5x8xf32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{offset size}}
  %y = attn.positions %x kind(sinusoidal) offset(%n : tensor<3xi32>) : tensor<2x5x8xf32>
  return
}

// -----

func.func @positions_c4(%x: tensor<5x8xf32>) {
  // expected-error@+1 {{expected a positive base, found}}
  %y = attn.positions %x kind(sinusoidal) base(0.0) : tensor<5x8xf32>
  return
}

// -----

func.func @append_cache_c1(%c: tensor<2x4x5x8xf32>, %r: tensor<2x4x1x8xf16>, %n: tensor<2xi32>) {
  // expected-error@+1 {{expected rows}}
  %y = attn.append_cache %c, %r, %n : tensor<2x4x5x8xf32>, tensor<2x4x1x8xf16>, tensor<2xi32>
  return
}

// -----

func.func @append_cache_c2(%c: tensor<2x4x5x8xf32>, %r: tensor<2x3x1x8xf32>, %n: tensor<2xi32>) {
  // expected-error@+1 {{rows heads}}
  %y = attn.append_cache %c, %r, %n : tensor<2x4x5x8xf32>, tensor<2x3x1x8xf32>, tensor<2xi32>
  return
}

// -----

func.func @append_cache_c3(%c: tensor<2x4x5x8xf32>, %r: tensor<2x4x1x8xf32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{expected length batch 2 to match cache, found}}
  %y = attn.append_cache %c, %r, %n : tensor<2x4x5x8xf32>, tensor<2x4x1x8xf32>, tensor<3xi32>
  return
}

// -----

func.func @gather_pages_c1(%p: tensor<9x16x2x8xf32>, %t: tensor<3x4xi32>) {
  // expected-error@+1 {{expected result elements 'f32' to match pool, found 'f16'}}
  %y = attn.gather_pages %p[%t] : tensor<9x16x2x8xf32>, tensor<3x4xi32> -> tensor<3x2x64x8xf16>
  return
}

// -----

func.func @gather_pages_c2(%p: tensor<9x16x2x8xf32>, %t: tensor<3x4xi32>, %n: tensor<2xi32>) {
  // expected-error@+1 {{expected lengths batch 3 to match table, found 2}}
  %y = attn.gather_pages %p[%t] lengths(%n : tensor<2xi32>) : tensor<9x16x2x8xf32>, tensor<3x4xi32>
  return
}

// -----

func.func @gather_pages_c3(%p: tensor<9x16x2x8xf32>, %t: tensor<3x4xi32>) {
  // expected-error@+1 {{expected result num_kv_heads 16, found 2}}
  %y = attn.gather_pages %p[%t] layout(heads_first) : tensor<9x16x2x8xf32>, tensor<3x4xi32> -> tensor<3x2x64x8xf32>
  return
}

// -----

func.func @gather_pages_c4(%p: tensor<9x0x2x8xf32>, %t: tensor<3x4xi32>) {
  // expected-error@+1 {{expected a page_size of at least 1, found 0}}
  %y = attn.gather_pages %p[%t] : tensor<9x0x2x8xf32>, tensor<3x4xi32>
  return
}

// -----

func.func @gather_pages_c5(%p: tensor<9x16x2x8xf32>, %t: tensor<12xi32>) {
  // expected-error@+1 {{expected offsets without lengths for a table of rank 1, and no offsets for one of a higher rank}}
  %y = attn.gather_pages %p[%t] : tensor<9x16x2x8xf32>, tensor<12xi32> -> tensor<3x2x192x8xf32>
  return
}

// -----

func.func @gather_pages_c6(%p: tensor<9x16x2x8xf32>, %t: tensor<3x4x5xi32>) {
  // expected-error@+1 {{expected num_kv_heads 2 to be a multiple of head_groups, found 4}}
  %y = attn.gather_pages %p[%t] : tensor<9x16x2x8xf32>, tensor<3x4x5xi32>
  return
}

// -----

func.func @gather_pages_in_csr_c3(%p: tensor<9x16x2x8xf32>, %t: tensor<12xi32>, %o: tensor<4xi32>) {
  // expected-error@+1 {{expected result batch 3, found 4}}
  %y = attn.gather_pages %p[%t] offsets(%o : tensor<4xi32>) : tensor<9x16x2x8xf32>, tensor<12xi32> -> tensor<4x2x192x8xf32>
  return
}

// -----

func.func @page_lengths_c1(%p: tensor<9x16x2x8xf32>, %t: tensor<12xi32>, %o: tensor<4xi32>, %l: tensor<4xi32>) {
  // expected-error@+1 {{expected offsets batch 4 to match last, found 3}}
  %y = attn.page_lengths %p[%t] offsets(%o : tensor<4xi32>) last(%l : tensor<4xi32>) : tensor<9x16x2x8xf32>, tensor<12xi32>
  return
}

// -----

func.func @page_lengths_c2(%p: tensor<9x0x2x8xf32>, %t: tensor<12xi32>, %o: tensor<4xi32>, %l: tensor<3xi32>) {
  // expected-error@+1 {{expected a page_size of at least 1, found 0}}
  %y = attn.page_lengths %p[%t] offsets(%o : tensor<4xi32>) last(%l : tensor<3xi32>) : tensor<9x0x2x8xf32>, tensor<12xi32>
  return
}

// -----

func.func @page_lengths_c3(%p: tensor<9x16x2x8xf32>, %t: tensor<3x4xi32>, %o: tensor<4xi32>, %l: tensor<3xi32>) {
  // expected-error@+1 {{expected table of rank 1, found 2}}
  %y = attn.page_lengths %p[%t] offsets(%o : tensor<4xi32>) last(%l : tensor<3xi32>) : tensor<9x16x2x8xf32>, tensor<3x4xi32>
  return
}

// -----

func.func @gather_pages_of_floats(%p: tensor<9x16x2x8xf32>, %t: tensor<3x4xf32>) {
  // expected-error@+1 {{operand #1 must be}}
  %y = attn.gather_pages %p[%t] : tensor<9x16x2x8xf32>, tensor<3x4xf32>
  return
}

// -----

func.func @quantize_c1(%x: tensor<2x3x4x8xf64>) {
  // expected-error@+1 {{operand #0 must be}}
  %q, %s = attn.quantize %x : tensor<2x3x4x8xf64> -> tensor<2x3x4x8xi8>, tensor<2x3x4x1xf32>
  return
}

// -----

func.func @quantize_c2(%x: tensor<2x3x4x8xf32>) {
  // expected-error@+1 {{expected result len 4, found 5}}
  %q, %s = attn.quantize %x : tensor<2x3x4x8xf32> -> tensor<2x3x5x8xi8>, tensor<2x3x4x1xf32>
  return
}

// -----

func.func @quantize_c2_scales(%x: tensor<2x3x4x8xf32>) {
  // expected-error@+1 {{expected scales heads 3, found 1}}
  %q, %s = attn.quantize %x : tensor<2x3x4x8xf32> -> tensor<2x3x4x8xi8>, tensor<2x1x4x1xf32>
  return
}

// -----

func.func @quantize_c3(%x: tensor<2x3x4x8xf32>) {
  // expected-error@+1 {{expected the number of scales of a row to divide its static width, found 'tensor<2x3x4x3xf32>' of 'tensor<2x3x4x8xf32>'}}
  %q, %s = attn.quantize %x : tensor<2x3x4x8xf32> -> tensor<2x3x4x8xi8>, tensor<2x3x4x3xf32>
  return
}

// -----

func.func @dequantize_c1(%x: tensor<2x3x4x8xf16>) {
  // expected-error@+1 {{expected result elements of more bits than those of the input, 'f16', found 'bf16'}}
  %y = attn.dequantize %x : tensor<2x3x4x8xf16> -> tensor<2x3x4x8xbf16>
  return
}

// -----

func.func @dequantize_c2(%x: tensor<2x3x4x8xi8>, %s: tensor<2x3x5x1xf32>) {
  // expected-error@+1 {{expected scales len 4 to match input, found 5}}
  %y = attn.dequantize %x scales(%s : tensor<2x3x5x1xf32>) : tensor<2x3x4x8xi8> -> tensor<2x3x4x8xf32>
  return
}

// -----

func.func @dequantize_c2_result(%x: tensor<2x3x4x8xi8>) {
  // expected-error@+1 {{expected result width 8, found 9}}
  %y = attn.dequantize %x : tensor<2x3x4x8xi8> -> tensor<2x3x4x9xf32>
  return
}

// -----

func.func @dequantize_c3(%x: tensor<2x3x4x8xi8>, %s: tensor<2x3x4x?xf32>) {
  // expected-error@+1 {{expected a static, positive number of scales of a row, found 'tensor<2x3x4x?xf32>'}}
  %y = attn.dequantize %x scales(%s : tensor<2x3x4x?xf32>) : tensor<2x3x4x8xi8> -> tensor<2x3x4x8xf32>
  return
}

// -----

func.func @attention_c1_wider(%q: tensor<2x3x4x8xf16>, %k: tensor<2x3x4x8xf32>) {
  // expected-error@+1 {{expected key elements 'f16' to match query, or narrower ones, found 'f32'}}
  %y = attn.attention %q, %k, %k : tensor<2x3x4x8xf16>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32> -> tensor<2x3x4x8xf16>
  return
}

// -----

func.func @attention_c2_scales(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x4x8xi8>, %s: tensor<2x3x5x1xf32>) {
  // expected-error@+1 {{expected key_scales kv_len 4 to match key, found 5}}
  %y = attn.attention %q, %k, %k key_scales(%s : tensor<2x3x5x1xf32>) : tensor<2x3x4x8xf32>, tensor<2x3x4x8xi8>, tensor<2x3x4x8xi8> -> tensor<2x3x4x8xf32>
  return
}

// -----

func.func @attention_c15_widened(%q: tensor<2x3x4x8xbf16>, %k: tensor<2x3x4x8xi8>) {
  // expected-error@+1 {{expected key and value as they are stored beside products bf16_pairs, found 'tensor<2x3x4x8xi8>'}}
  %y = attn.attention %q, %k, %k schedule([#attn.prefill<q_block = 16, kv_block = 16, vector_width = 16, score_vectors = 1, score_keys = 4, context_rows = 4, context_vectors = 1, products = bf16_pairs>])
      : tensor<2x3x4x8xbf16>, tensor<2x3x4x8xi8>, tensor<2x3x4x8xi8> -> tensor<2x3x4x8xbf16>
  return
}

// -----

func.func @attention_c16(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x4x8xf32>, %s: tensor<2x3x4x1xf32>) {
  // expected-error@+1 {{expected value narrower than the query beside its scales}}
  %y = attn.attention %q, %k, %k value_scales(%s : tensor<2x3x4x1xf32>) : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32> -> tensor<2x3x4x8xf32>
  return
}

// -----

func.func @append_pages_c1(%p: tensor<9x16x2x8xf32>, %t: tensor<3x4xi32>, %r: tensor<3x2x5x8xf16>, %n: tensor<3xi32>) {
  // expected-error@+1 {{expected rows elements 'f32' to match pool, found 'f16'}}
  %y = attn.append_pages %p[%t], %r, %n : tensor<9x16x2x8xf32>, tensor<3x4xi32>, tensor<3x2x5x8xf16>, tensor<3xi32>
  return
}

// -----

func.func @append_pages_c2(%p: tensor<9x16x2x8xf32>, %t: tensor<3x4xi32>, %r: tensor<3x2x5x8xf32>, %n: tensor<2xi32>) {
  // expected-error@+1 {{expected length batch 3 to match table, found 2}}
  %y = attn.append_pages %p[%t], %r, %n : tensor<9x16x2x8xf32>, tensor<3x4xi32>, tensor<3x2x5x8xf32>, tensor<2xi32>
  return
}

// -----

func.func @append_pages_c2_heads(%p: tensor<9x16x2x8xf32>, %t: tensor<3x4xi32>, %r: tensor<3x2x5x8xf32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{expected rows num_kv_heads 16 to match pool, found 2}}
  %y = attn.append_pages %p[%t], %r, %n layout(heads_first) : tensor<9x16x2x8xf32>, tensor<3x4xi32>, tensor<3x2x5x8xf32>, tensor<3xi32>
  return
}

// -----

func.func @append_pages_in_csr_c2(%p: tensor<9x16x2x8xf32>, %t: tensor<12xi32>, %o: tensor<3xi32>, %r: tensor<3x2x5x8xf32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{expected offsets batch 3 to match rows, found 2}}
  %y = attn.append_pages %p[%t] offsets(%o : tensor<3xi32>), %r, %n : tensor<9x16x2x8xf32>, tensor<12xi32>, tensor<3x2x5x8xf32>, tensor<3xi32>
  return
}

// -----

func.func @append_pages_c3(%p: tensor<9x0x2x8xf32>, %t: tensor<3x4xi32>, %r: tensor<3x2x5x8xf32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{expected a page_size of at least 1, found 0}}
  %y = attn.append_pages %p[%t], %r, %n : tensor<9x0x2x8xf32>, tensor<3x4xi32>, tensor<3x2x5x8xf32>, tensor<3xi32>
  return
}

// -----

func.func @append_pages_c4(%p: tensor<9x16x2x8xf32>, %t: tensor<12xi32>, %r: tensor<3x2x5x8xf32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{expected offsets for a table of rank 1, and no offsets for one of rank 2}}
  %y = attn.append_pages %p[%t], %r, %n : tensor<9x16x2x8xf32>, tensor<12xi32>, tensor<3x2x5x8xf32>, tensor<3xi32>
  return
}

// -----

func.func @append_pages_c4_rank_2(%p: tensor<9x16x2x8xf32>, %t: tensor<3x4xi32>, %o: tensor<4xi32>, %r: tensor<3x2x5x8xf32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{expected offsets for a table of rank 1, and no offsets for one of rank 2}}
  %y = attn.append_pages %p[%t] offsets(%o : tensor<4xi32>), %r, %n : tensor<9x16x2x8xf32>, tensor<3x4xi32>, tensor<3x2x5x8xf32>, tensor<3xi32>
  return
}

// -----

func.func @append_pages_c5(%p: tensor<9x16x2x8xf32>, %t: tensor<3x4xi32>, %r: tensor<3x2x5x8xf32>, %o: tensor<4xi32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{expected a batch of 1 of rows, and no counts, with row_offsets}}
  %y = attn.append_pages %p[%t], %r, %n row_offsets(%o : tensor<4xi32>) : tensor<9x16x2x8xf32>, tensor<3x4xi32>, tensor<3x2x5x8xf32>, tensor<3xi32>
  return
}

// -----

func.func @append_pages_c5_counts(%p: tensor<9x16x2x8xf32>, %t: tensor<3x4xi32>, %r: tensor<1x2x5x8xf32>, %o: tensor<4xi32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{expected a batch of 1 of rows, and no counts, with row_offsets}}
  %y = attn.append_pages %p[%t], %r, %n counts(%n : tensor<3xi32>) row_offsets(%o : tensor<4xi32>) : tensor<9x16x2x8xf32>, tensor<3x4xi32>, tensor<1x2x5x8xf32>, tensor<3xi32>
  return
}

// -----

func.func @append_pages_packed_c2(%p: tensor<9x16x2x8xf32>, %t: tensor<3x4xi32>, %r: tensor<1x2x5x8xf32>, %o: tensor<3xi32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{expected row_offsets batch 3 to match table, found 2}}
  %y = attn.append_pages %p[%t], %r, %n row_offsets(%o : tensor<3xi32>) : tensor<9x16x2x8xf32>, tensor<3x4xi32>, tensor<1x2x5x8xf32>, tensor<3xi32>
  return
}

// -----

func.func @append_pages_of_head_groups(%p: tensor<9x16x2x8xf32>, %t: tensor<3x2x4xi32>, %r: tensor<3x2x5x8xf32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{operand #1 must be}}
  %y = attn.append_pages %p[%t], %r, %n : tensor<9x16x2x8xf32>, tensor<3x2x4xi32>, tensor<3x2x5x8xf32>, tensor<3xi32>
  return
}

// -----

func.func @attention_c2_batch_of_pages(%q: tensor<2x4x5x8xf32>, %k: tensor<9x2x16x8xf32>, %t: tensor<3x4xi32>) {
  // expected-error@+1 {{expected pages batch 2 to match query, found 3}}
  %c = attn.attention %q, %k, %k pages(%t : tensor<3x4xi32>)
      : tensor<2x4x5x8xf32>, tensor<9x2x16x8xf32>, tensor<9x2x16x8xf32> -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @attention_c2_page_size(%q: tensor<2x4x5x8xf32>, %k: tensor<9x2x16x8xf32>, %v: tensor<9x2x8x8xf32>, %t: tensor<2x4xi32>) {
  // expected-error@+1 {{expected value page_size 16 to match key, found 8}}
  %c = attn.attention %q, %k, %v pages(%t : tensor<2x4xi32>)
      : tensor<2x4x5x8xf32>, tensor<9x2x16x8xf32>, tensor<9x2x8x8xf32> -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @attention_c11(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x16x8xf32>, %n: tensor<2xi32>) {
  // expected-error@+1 {{expected lengths together with pages}}
  %c = attn.attention %q, %k, %k lengths(%n : tensor<2xi32>)
      : tensor<2x4x5x8xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32> -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @attention_c12(%q: tensor<2x4x5x8xf32>, %k: tensor<9x2x0x8xf32>, %t: tensor<2x4xi32>) {
  // expected-error@+1 {{expected a page_size of at least 1, found 0}}
  %c = attn.attention %q, %k, %k pages(%t : tensor<2x4xi32>)
      : tensor<2x4x5x8xf32>, tensor<9x2x0x8xf32>, tensor<9x2x0x8xf32> -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @dropout_c1(%x: tensor<5x8xf32>) {
  // expected-error@+1 {{expected a rate of at least 0 and below 1, found}}
  %y = attn.dropout %x rate(1.0) : tensor<5x8xf32>
  return
}

// -----

func.func @score_c5(%q: tensor<2x4x5x8xf32>, %k: tensor<2x4x7x8xf32>) {
  // expected-error@+1 {{expected a finite scale in f32, found 1.0E+40}}
  %s = attn.score %q, %k scale(1.0e40) : tensor<2x4x5x8xf32>, tensor<2x4x7x8xf32>
  return
}

// -----

func.func @attention_c13(%q: tensor<2x4x5x8xf64>) {
  // expected-error@+1 {{expected a finite scale in f64, found +Inf}}
  %c = attn.attention %q, %q, %q scale(0x7FF0000000000000)
      : tensor<2x4x5x8xf64>, tensor<2x4x5x8xf64>, tensor<2x4x5x8xf64> -> tensor<2x4x5x8xf64>
  return
}

// -----

func.func @unpack_rows_c1(%r: tensor<9x2x8xf32>, %o: tensor<4xi32>) {
  // expected-error@+1 {{expected result elements 'f32' to match rows, found 'f16'}}
  %y = attn.unpack_rows %r offsets(%o) : tensor<9x2x8xf32>, tensor<4xi32> -> tensor<3x2x9x8xf16>
  return
}

// -----

func.func @unpack_rows_c2(%r: tensor<9x2x8xf32>, %o: tensor<0xi32>) {
  // expected-error@+1 {{expected at least one offset, found none}}
  %y = attn.unpack_rows %r offsets(%o) : tensor<9x2x8xf32>, tensor<0xi32>
  return
}

// -----

func.func @unpack_rows_c3(%r: tensor<9x2x8xf32>, %o: tensor<4xi32>) {
  // expected-error@+1 {{expected result batch 3, found 4}}
  %y = attn.unpack_rows %r offsets(%o) : tensor<9x2x8xf32>, tensor<4xi32> -> tensor<4x2x9x8xf32>
  return
}

// -----

func.func @pack_rows_c1(%r: tensor<3x2x9x8xf32>, %o: tensor<4xi32>) {
  // expected-error@+1 {{expected result elements 'f32' to match input, found 'f16'}}
  %y = attn.pack_rows %r offsets(%o) : tensor<3x2x9x8xf32>, tensor<4xi32> -> tensor<9x2x8xf16>
  return
}

// -----

func.func @pack_rows_c2(%r: tensor<4x2x9x8xf32>, %o: tensor<4xi32>) {
  // expected-error@+1 {{expected offsets batch 4 to match input, found 3}}
  %y = attn.pack_rows %r offsets(%o) : tensor<4x2x9x8xf32>, tensor<4xi32>
  return
}

// -----

func.func @pack_rows_c3(%r: tensor<3x2x9xf32>, %o: tensor<4xi32>) {
  // expected-error@+1 {{expected result dimension 0 of 9, found 8}}
  %y = attn.pack_rows %r offsets(%o) : tensor<3x2x9xf32>, tensor<4xi32> -> tensor<8x2xf32>
  return
}

// -----

func.func @attention_c2_offsets(%q: tensor<1x4x5x8xf32>, %k: tensor<2x2x16x8xf32>, %o: tensor<2xi32>) {
  // expected-error@+1 {{expected key batch 1 to match offsets, found 2}}
  %c = attn.attention %q, %k, %k offsets(%o : tensor<2xi32>)
      : tensor<1x4x5x8xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32> -> tensor<1x4x5x8xf32>
  return
}

// -----

func.func @attention_c17(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x16x8xf32>, %o: tensor<3xi32>) {
  // expected-error@+1 {{expected packed queries of batch 1, found 2}}
  %c = attn.attention %q, %k, %k offsets(%o : tensor<3xi32>)
      : tensor<2x4x5x8xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32> -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @attention_c17_keys(%q: tensor<2x4x5x8xf32>, %k: tensor<?x2x16x8xf32>, %o: tensor<3xi32>) {
  // expected-error@+1 {{expected packed keys of batch 1, found an open one}}
  %c = attn.attention %q, %k, %k kv_offsets(%o : tensor<3xi32>)
      : tensor<2x4x5x8xf32>, tensor<?x2x16x8xf32>, tensor<?x2x16x8xf32> -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @attention_c18(%q: tensor<2x4x5x8xf32>, %k: tensor<1x2x16x8xf32>, %t: tensor<2x4xi32>, %o: tensor<3xi32>) {
  // expected-error@+1 {{expected pages or kv_offsets, found both}}
  %c = attn.attention %q, %k, %k pages(%t : tensor<2x4xi32>) kv_offsets(%o : tensor<3xi32>)
      : tensor<2x4x5x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32> -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @attention_c18_scales(%q: tensor<2x4x5x8xf32>, %k: tensor<1x2x16x8xf16>, %s: tensor<1x2x16x1xf32>, %o: tensor<3xi32>) {
  // expected-error@+1 {{expected packed keys and values of floats without scales}}
  %c = attn.attention %q, %k, %k key_scales(%s : tensor<1x2x16x1xf32>) kv_offsets(%o : tensor<3xi32>)
      : tensor<2x4x5x8xf32>, tensor<1x2x16x8xf16>, tensor<1x2x16x8xf16> -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @attention_c18_integers(%q: tensor<2x4x5x8xf32>, %k: tensor<1x2x16x8xi8>, %o: tensor<3xi32>) {
  // expected-error@+1 {{expected packed keys and values of floats without scales}}
  %c = attn.attention %q, %k, %k kv_offsets(%o : tensor<3xi32>)
      : tensor<2x4x5x8xf32>, tensor<1x2x16x8xi8>, tensor<1x2x16x8xi8> -> tensor<2x4x5x8xf32>
  return
}

// -----

func.func @all_gather_c1(%x: tensor<?x8xf32>, %places: tensor<?xi32>, %n: index) {
  // expected-error @+1 {{expected a dynamic dimension of 'tensor<?x8xf32>', found 1}}
  %all = attn.all_gather %x of %places layout(zigzag) along 1 to %n : tensor<?x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @all_gather_c2(%x: tensor<?x8xf32>, %places: tensor<?xi32>, %n: index) {
  // expected-error @+1 {{expected halo to be two numbers of places in a sequence of blocks}}
  %all = attn.all_gather %x of %places layout(zigzag) along 0 to %n halo [3, 0] : tensor<?x8xf32>, tensor<?xi32>
  return
}

// -----

func.func @ring_c1(%block: tensor<?xi32>, %x: tensor<?xf32>) {
  // expected-error @+1 {{expected the region to take ('tensor<?xi32>', 'tensor<?xf32>'), found ('tensor<?xi32>')}}
  %ring = attn.ring %block init(%x) {
  ^bb0(%b: tensor<?xi32>):
    attn.yield %x : tensor<?xf32>
  } : tensor<?xi32> -> tensor<?xf32>
  return
}

// -----

func.func @ring_c1_yield(%block: tensor<?xi32>, %x: tensor<?xf32>) {
  %ring = attn.ring %block init(%x) {
  ^bb0(%b: tensor<?xi32>, %c: tensor<?xf32>):
    // expected-error @+1 {{expected tensors of ('tensor<?xf32>'), found ('tensor<?xi32>')}}
    attn.yield %b : tensor<?xi32>
  } : tensor<?xi32> -> tensor<?xf32>
  return
}

// -----

func.func @all_reduce_c1(%x: tensor<?xf32>) {
  // expected-error @+1 {{expected the region to take ('tensor<?xf32>', 'tensor<?xf32>'), found ('tensor<?xf32>')}}
  %sum = attn.all_reduce %x {
  ^bb0(%a: tensor<?xf32>):
    attn.yield %a : tensor<?xf32>
  } : tensor<?xf32>
  return
}

// -----

// expected-error@+1 {{expected attn.q_len or attn.shard on a function, or an op's own attributes, found "attn.shards"}}
func.func @misspelled() attributes {attn.shards = 3} {
  return
}

// -----

func.func @misspelled_of_op(%x: tensor<?xf32>) {
  // expected-error@+1 {{expected attn.q_len or attn.shard on a function, or an op's own attributes, found "attn.scale"}}
  %y = attn.softmax %x {attn.scale = 2.0} : tensor<?xf32>
  return
}
