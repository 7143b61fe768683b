// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @rank(%query: tensor<8x7x64xf32>, %key: tensor<1x8x7x64xf32>) {
  // expected-error@+1 {{op operand #0 must be 4D tensor}}
  %score = attn.score %query, %key
      : tensor<8x7x64xf32>, tensor<1x8x7x64xf32>
  return
}

// -----

func.func @no_dimension(%input: tensor<3x4xf32>) {
  // expected-error@+1 {{expected a permutation of 2 dimensions, found [1, 2]}}
  %turned = attn.transpose %input [1, 2] : tensor<3x4xf32>
  return
}

// -----

func.func @no_axis(%input: tensor<3x4xf32>) {
  // expected-error@+1 {{expected axes within rank 2, found -3}}
  %sum = attn.reduce sum %input axes [-3] : tensor<3x4xf32>
  return
}

// -----

func.func @no_heads(%input: tensor<2x3x4xf32>) {
  // expected-error@+1 {{expected a positive num_heads, found 0}}
  %heads = attn.split_heads %input num_heads(0) : tensor<2x3x4xf32>
  return
}

// -----

// The verifier reports wrong sizes.
func.func @indivisible(%input: tensor<2x3x4xf32>) {
  // expected-error@+1 {{num_heads}}
  %heads = attn.split_heads %input num_heads(3) : tensor<2x3x4xf32>
  return
}

// -----

func.func @no_broadcast(%a: tensor<3xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{expected operand 1 dim[0] 3 to match operand 0, found 4}}
  %sum = attn.map %a, %b {
  ^bb0(%left: f32, %right: f32):
    attn.yield %left : f32
  } : tensor<3xf32>, tensor<4xf32>
  return
}

// -----

func.func @no_element(%a: tensor<3xf32>) {
  // expected-error@+1 {{expected '->' and a result type, as none can be inferred from the operands}}
  %none = attn.map %a {
  ^bb0(%element: f32):
    %zero = arith.constant 0.0 : f32
  } : tensor<3xf32>
  return
}
