// RUN: attn-opt %s --convert-attn-to-halide -split-input-file -verify-diagnostics

func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected an op that convert-attn-to-halide knows, found tensor.empty}}
  %e = tensor.empty() : tensor<4xf32>
  return %e : tensor<4xf32>
}

// -----

// expected-error @+1 {{expected ranked tensors as arguments and results, found 'f32'}}
func.func @scalar(%x: tensor<4xf32>, %y: f32) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @rank(%x: tensor<1x1x1x1x1x1x1x1x2xf32>) -> tensor<1x1x1x1x1x1x1x1x2xf32> {
  // expected-error @+1 {{expected tensors of rank 8 or less, found 9}}
  %y = attn.softmax %x : tensor<1x1x1x1x1x1x1x1x2xf32>
  return %y : tensor<1x1x1x1x1x1x1x1x2xf32>
}
