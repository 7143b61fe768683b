// RUN: attn-opt %s --convert-attn-to-halide -split-input-file -verify-diagnostics

func.func @attention(%q: tensor<1x2x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x8xf32>) -> tensor<1x2x3x8xf32> {
  // expected-error @+1 {{'attn.attention' op expected ops that have kernels: run attn-decompose first}}
  %c = attn.attention %q, %k, %v scale(1.0) : tensor<1x2x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32> -> tensor<1x2x3x8xf32>
  return %c : tensor<1x2x3x8xf32>
}

// -----

func.func @strided(%x: tensor<8x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{'tensor.extract_slice' op expected ops that have kernels: run attn-decompose first}}
  %s = tensor.extract_slice %x[1, 0] [4, 4] [2, 1] : tensor<8x4xf32> to tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}
