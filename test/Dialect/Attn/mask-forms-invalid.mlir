// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @unknown(%s: tensor<1x2x3x4xf32>) {
  // expected-error@+1 {{expected a region or one of causal, window, kv_lengths, kv_offsets, q_offsets, prefix, documents, block and tensor, found casual}}
  %m = attn.mask %s casual(top_left) : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @nothing(%s: tensor<1x2x3x4xf32>) {
  // expected-error@+1 {{expected a region or a mask such as causal(top_left)}}
  %m = attn.mask %s : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @corner(%s: tensor<1x2x3x4xf32>) {
  // expected-error@+1 {{expected top_left or bottom_right}}
  %m = attn.mask %s causal(top_right) : tensor<1x2x3x4xf32>
  return
}

// -----

// The corner is never left to a default.
func.func @no_corner(%s: tensor<1x2x3x4xf32>) {
  // expected-error@+1 {{expected '('}}
  %m = attn.mask %s causal : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @window(%s: tensor<1x2x3x4xf32>) {
  // expected-error@+1 {{expected a left window of 0 or more, found -1}}
  %m = attn.mask %s window(-1, 0) : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @block(%s: tensor<1x2x3x4xf32>) {
  // expected-error@+1 {{expected a block size of 1 or more, found 0}}
  %m = attn.mask %s block(0) : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @lengths_rank(%s: tensor<1x2x3x4xf32>, %n: tensor<1x2xi32>) {
  // expected-error@+1 {{expected a rank 1 tensor of i32 or i64 for kv_lengths, found 'tensor<1x2xi32>'}}
  %m = attn.mask %s kv_lengths(%n : tensor<1x2xi32>) : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @lengths_element(%s: tensor<1x2x3x4xf32>, %n: tensor<1xf32>) {
  // expected-error@+1 {{expected a rank 1 tensor of i32 or i64 for prefix, found 'tensor<1xf32>'}}
  %m = attn.mask %s prefix(%n : tensor<1xf32>) : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @lengths_count(%s: tensor<1x2x3x4xf32>, %n: tensor<1xi32>) {
  // expected-error@+1 {{expected one tensor for kv_lengths, found 2}}
  %m = attn.mask %s kv_lengths(%n, %n : tensor<1xi32>, tensor<1xi32>) : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @documents(%s: tensor<1x2x3x4xf32>, %n: tensor<4xi32>) {
  // expected-error@+1 {{expected a rank 2 tensor of i32 or i64 for documents, found 'tensor<4xi32>'}}
  %m = attn.mask %s documents(%n : tensor<4xi32>) : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @documents_types(%s: tensor<1x2x3x4xf32>, %a: tensor<1x3xi32>, %b: tensor<1x4xi64>) {
  // expected-error@+1 {{expected document ids of one type, found 'i32' and 'i64'}}
  %m = attn.mask %s documents(%a, %b : tensor<1x3xi32>, tensor<1x4xi64>) : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @tensor(%s: tensor<1x2x3x4xf32>, %t: tensor<3x4xf32>) {
  // expected-error@+1 {{expected an i1 tensor of rank 1 to 4 for tensor, found 'tensor<3x4xf32>'}}
  %m = attn.mask %s tensor(%t : tensor<3x4xf32>) : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @positions_count(%s: tensor<1x2x3x4xf32>, %p: tensor<1xi32>) {
  // expected-error@+1 {{expected one or two tensors for positions, found 3}}
  %m = attn.mask %s positions(%p, %p, %p : tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) causal(top_left) : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @positions_type(%s: tensor<1x2x3x4xf32>, %p: tensor<1x3x1xi32>) {
  // expected-error@+1 {{expected a tensor of rank 0 to 2 of i32 or i64 for positions, found 'tensor<1x3x1xi32>'}}
  %m = attn.mask %s positions(%p : tensor<1x3x1xi32>) causal(top_left) : tensor<1x2x3x4xf32>
  return
}

// -----

// Rows at positions have no corner of a score.
func.func @positions_corner(%s: tensor<1x2x3x4xf32>, %p: tensor<1xi32>) {
  // expected-error@+1 {{expected top_left at positions, found bottom_right}}
  %m = attn.mask %s positions(%p : tensor<1xi32>) window(2, 0, bottom_right) : tensor<1x2x3x4xf32>
  return
}

// -----

func.func @positions_alone(%s: tensor<1x2x3x4xf32>, %p: tensor<1xi32>) {
  // expected-error@+1 {{expected a region or a mask such as causal(top_left)}}
  %m = attn.mask %s positions(%p : tensor<1xi32>) : tensor<1x2x3x4xf32>
  return
}

// -----

// The end of packed keys is no position.
func.func @positions_kv_offsets(%s: tensor<1x2x3x4xf32>, %p: tensor<1xi32>, %o: tensor<2xi32>) {
  // expected-error@+1 {{expected no kv_offsets at positions of keys, which they would compare: put them in a mask of their own}}
  %m = attn.mask %s positions(%p, %p : tensor<1xi32>, tensor<1xi32>) kv_offsets(%o : tensor<2xi32>) : tensor<1x2x3x4xf32>
  return
}
