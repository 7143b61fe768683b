// Constants that only tensors without elements are computed from are not in the library.
// RUN: attnc compile %s -o %t
// RUN: attnc verify %s | FileCheck %s
// CHECK: cases, all within the allowed error
func.func @empty(%cache: tensor<0x1x33x64xf32>, %rows: tensor<0x19x64xf32>, %past: tensor<0xi64>) -> tensor<0x1x33x64xf32> {
  %factors = arith.constant dense<[-1.25, 1.5, 0.5, 2.0, -1.25, 1.5, 0.5, 2.0, -1.25, 1.5, 0.5, 2.0, -1.25, 1.5, 0.5, 2.0, -1.25, 1.5, 0.5, 2.0, -1.25, 1.5, 0.5, 2.0, -1.25, 1.5, 0.5, 2.0, -1.25, 1.5, 0.5, 2.0, -1.25, 1.5, 0.5, 2.0, -1.25, 1.5, 0.5, 2.0, -1.25, 1.5, 0.5, 2.0, -1.25, 1.5, 0.5, 2.0, -1.25, 1.5, 0.5, 2.0, -1.25, 1.5, 0.5, 2.0, -1.25, 1.5, 0.5, 2.0, -1.25, 1.5, 0.5, 2.0]> : tensor<64xf32>
  %scaled = attn.map %factors, %rows {
  ^bb0(%f: f32, %x: f32):
    %y = arith.mulf %f, %x : f32
    attn.yield %y : f32
  } : tensor<64xf32>, tensor<0x19x64xf32> -> tensor<0x19x64xf32>
  %heads = attn.split_heads %scaled num_heads(1) : tensor<0x19x64xf32> -> tensor<0x1x19x64xf32>
  %next = attn.append_cache %cache, %heads, %past : tensor<0x1x33x64xf32>, tensor<0x1x19x64xf32>, tensor<0xi64>
  return %next : tensor<0x1x33x64xf32>
}
