// RUN: attn-opt %s -attn-fuse-attention=remarks -split-input-file -verify-diagnostics
// RUN: attn-opt %s -attn-fuse-attention -split-input-file | FileCheck %s
//
// Remarks on fusion, with the reason against it. Only the first function fuses.

// CHECK: attn.attention
// CHECK-NOT: attn.attention

// The remark of a fused core names what went in.
func.func @fused(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %half = arith.constant 0.5 : f32
  %s = attn.score %q, %k scale(0.125) : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %m = attn.mask %s causal(top_left) : tensor<?x8x?x?xf32>
  %a = attn.modify_score %m {
  ^bb0(%score: f32, %batch: index, %head: index, %i: index, %j: index):
    %x = math.tanh %score : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %b = attn.mask %a block(4) : tensor<?x8x?x?xf32>
  // expected-remark@+1 {{fused into attn.attention: scale 0.125, mask, score modification, prob modification}}
  %p = attn.softmax %b : tensor<?x8x?x?xf32>
  %d = attn.modify_prob %p {
  ^bb0(%prob: f32, %batch: index, %head: index, %i: index, %j: index):
    %x = arith.mulf %prob, %half : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %c = attn.context %d, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// -----

func.func @score_used(%q: tensor<?x8x1x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> (tensor<?x8x1x64xf32>, tensor<?x8x1x?xf32>) {
  %s = attn.score %q, %k : tensor<?x8x1x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x1x?xf32>
  // expected-remark@+1 {{not fused: the score has another use}}
  %p = attn.softmax %s : tensor<?x8x1x?xf32>
  %c = attn.context %p, %v : tensor<?x8x1x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x1x64xf32>
  // expected-note@+1 {{used by func.return}}
  return %c, %s : tensor<?x8x1x64xf32>, tensor<?x8x1x?xf32>
}

// -----

func.func @score_captured(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %a = attn.modify_score %s {
  ^bb0(%score: f32, %batch: index, %head: index, %i: index, %j: index):
    // expected-note@+1 {{used by tensor.extract}}
    %e = tensor.extract %s[%batch, %head, %i, %i] : tensor<?x8x?x?xf32>
    %x = arith.subf %score, %e : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  // expected-remark@+1 {{not fused: the score has another use}}
  %p = attn.softmax %a : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// -----

func.func @prob_used(%q: tensor<?x8x1x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> (tensor<?x8x1x64xf32>, tensor<?x8x1x?xf32>) {
  %s = attn.score %q, %k : tensor<?x8x1x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x1x?xf32>
  // expected-remark@+1 {{not fused: the prob has another use}}
  %p = attn.softmax %s : tensor<?x8x1x?xf32>
  %c = attn.context %p, %v : tensor<?x8x1x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x1x64xf32>
  // expected-note@+1 {{used by func.return}}
  return %c, %p : tensor<?x8x1x64xf32>, tensor<?x8x1x?xf32>
}

// -----

func.func @prob_unused(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  // expected-remark@+1 {{not fused: the prob has no use}}
  %p = attn.softmax %s : tensor<?x8x?x?xf32>
  return %v : tensor<?x8x?x64xf32>
}

// -----

func.func @prob_returned(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x?xf32> {
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  // expected-remark@+1 {{not fused: no attn.context takes the prob}}
  %p = attn.softmax %s : tensor<?x8x?x?xf32>
  // expected-note@+1 {{taken by func.return}}
  return %p : tensor<?x8x?x?xf32>
}

// -----

func.func @no_score(%s: tensor<?x8x?x?xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  // expected-remark@+1 {{not fused: its operand does not come from attn.score}}
  %p = attn.softmax %s : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// -----

func.func @axis(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  // expected-remark@+1 {{not fused: its axis 2 is not the last one}}
  %p = attn.softmax %s axis(2) : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// -----

func.func @prob_square(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %half = arith.constant 0.5 : f32
  %zero = arith.constant 0.0 : f32
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  // expected-remark@+1 {{not fused: a prob region is not linear in the prob}}
  %p = attn.softmax %s : tensor<?x8x?x?xf32>
  // expected-note@+1 {{of attn.modify_prob}}
  %d = attn.modify_prob %p {
  ^bb0(%prob: f32, %batch: index, %head: index, %i: index, %j: index):
    %x = arith.mulf %prob, %prob : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %c = attn.context %d, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// -----

func.func @prob_offset(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %half = arith.constant 0.5 : f32
  %zero = arith.constant 0.0 : f32
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  // expected-remark@+1 {{not fused: a prob region is not linear in the prob}}
  %p = attn.softmax %s : tensor<?x8x?x?xf32>
  // expected-note@+1 {{of attn.modify_prob}}
  %d = attn.modify_prob %p {
  ^bb0(%prob: f32, %batch: index, %head: index, %i: index, %j: index):
    %x = arith.addf %prob, %half : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %c = attn.context %d, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// -----

func.func @prob_quotient(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %half = arith.constant 0.5 : f32
  %zero = arith.constant 0.0 : f32
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  // expected-remark@+1 {{not fused: a prob region is not linear in the prob}}
  %p = attn.softmax %s : tensor<?x8x?x?xf32>
  // expected-note@+1 {{of attn.modify_prob}}
  %d = attn.modify_prob %p {
  ^bb0(%prob: f32, %batch: index, %head: index, %i: index, %j: index):
    %x = arith.divf %half, %prob : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %c = attn.context %d, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// -----

func.func @prob_threshold(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %half = arith.constant 0.5 : f32
  %zero = arith.constant 0.0 : f32
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  // expected-remark@+1 {{not fused: a prob region is not linear in the prob}}
  %p = attn.softmax %s : tensor<?x8x?x?xf32>
  // expected-note@+1 {{of attn.modify_prob}}
  %d = attn.modify_prob %p {
  ^bb0(%prob: f32, %batch: index, %head: index, %i: index, %j: index):
    %g = arith.cmpf ogt, %prob, %half : f32
    %x = arith.select %g, %prob, %zero : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %c = attn.context %d, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// -----

func.func @prob_constant_arm(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %half = arith.constant 0.5 : f32
  %zero = arith.constant 0.0 : f32
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  // expected-remark@+1 {{not fused: a prob region is not linear in the prob}}
  %p = attn.softmax %s : tensor<?x8x?x?xf32>
  // expected-note@+1 {{of attn.modify_prob}}
  %d = attn.modify_prob %p {
  ^bb0(%prob: f32, %batch: index, %head: index, %i: index, %j: index):
    %g = arith.cmpi sle, %j, %i : index
    %x = arith.select %g, %prob, %half : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %c = attn.context %d, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// -----

// Key and value are grouped in different ways.
func.func @heads(%q: tensor<1x4x5x8xf32>, %k: tensor<1x2x7x8xf32>, %v: tensor<1x4x7x8xf32>) -> tensor<1x4x5x8xf32> {
  %s = attn.score %q, %k : tensor<1x4x5x8xf32>, tensor<1x2x7x8xf32> -> tensor<1x4x5x7xf32>
  // expected-remark@+1 {{not fused: its operands differ in num_kv_heads, 2 and 4}}
  %p = attn.softmax %s : tensor<1x4x5x7xf32>
  %c = attn.context %p, %v : tensor<1x4x5x7xf32>, tensor<1x4x7x8xf32> -> tensor<1x4x5x8xf32>
  return %c : tensor<1x4x5x8xf32>
}

// -----

// Values of other heads are in no context together.
func.func @two_contexts(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x2x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) {
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  // expected-remark@+1 {{not fused: the prob has another use}}
  %p = attn.softmax %s : tensor<?x8x?x?xf32>
  // expected-note@+1 {{used by attn.context}}
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x64xf32>
  %d = attn.context %p, %k : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c, %d : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>
}

// -----

// Sigmoid attention has no softmax.
func.func @sigmoid(%q: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %s = attn.score %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  // expected-note@+1 {{comes from attn.map}}
  %p = attn.map %s {
  ^bb0(%x: f32):
    %y = math.tanh %x : f32
    attn.yield %y : f32
  } : tensor<?x8x?x?xf32> -> tensor<?x8x?x?xf32>
  // expected-remark@+1 {{not fused: its prob does not come from attn.softmax}}
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}
