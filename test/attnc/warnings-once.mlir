// A library's kernels and its JSON come of two lowerings, which warn once.

// RUN: attnc compile %s -o %t 2>&1 | FileCheck %s
// CHECK: warning: argument 2: the ops need "kv_lengths" to equal "kv_length"; did you mean "kv_length"?
// CHECK-NOT: warning:

func.func @attention(%q: tensor<1x4x?x64xf32> {attn.dims = [1, 4, "q_len", 64]},
                     %k: tensor<1x4x?x64xf32> {attn.dims = [1, 4, "kv_length", 64]},
                     %v: tensor<1x4x?x64xf32> {attn.dims = [1, 4, "kv_lengths", 64]}) -> tensor<1x4x?x64xf32> {
  %score = attn.score %q, %k scale(0.125) : tensor<1x4x?x64xf32>, tensor<1x4x?x64xf32>
  %prob = attn.softmax %score : tensor<1x4x?x?xf32>
  %context = attn.context %prob, %v : tensor<1x4x?x?xf32>, tensor<1x4x?x64xf32>
  return %context : tensor<1x4x?x64xf32>
}
