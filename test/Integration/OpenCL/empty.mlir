// RUN: attnc verify %s --target host-opencl --size kv_len=0 | FileCheck %s
// CHECK: cases, all within the allowed error

// The transformed key, which is empty, lies behind all others in the workspace.
func.func @attend(%query: tensor<3x2x4x8xf32>,
                  %key: tensor<3x2x?x8xf32> {attn.dims = [3, 2, "kv_len", 8]},
                  %value: tensor<3x2x?x8xf32> {attn.dims = [3, 2, "kv_len", 8]})
    -> tensor<3x2x4x8xf32> {
  %q = math.tanh %query : tensor<3x2x4x8xf32>
  %k = math.tanh %key : tensor<3x2x?x8xf32>
  %score = attn.score %q, %k : tensor<3x2x4x8xf32>, tensor<3x2x?x8xf32>
      -> tensor<3x2x4x?xf32>
  %prob = attn.softmax %score : tensor<3x2x4x?xf32>
  %context = attn.context %prob, %value : tensor<3x2x4x?xf32>, tensor<3x2x?x8xf32>
      -> tensor<3x2x4x8xf32>
  return %context : tensor<3x2x4x8xf32>
}
