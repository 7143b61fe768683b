// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @softmax(%s: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  // expected-error @+1 {{custom op 'attn.soft_max' is unknown; did you mean 'attn.softmax'?}}
  %p = attn.soft_max %s : tensor<1x2x3x4xf32>
  return %p : tensor<1x2x3x4xf32>
}

// -----

// Nothing is like it.
func.func @other(%s: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  // expected-error @+1 {{custom op 'attn.convolution3d' is unknown}}
  %p = attn.convolution3d %s : tensor<1x2x3x4xf32>
  return %p : tensor<1x2x3x4xf32>
}
