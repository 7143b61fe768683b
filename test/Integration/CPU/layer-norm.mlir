// The mean of a row is no number of its type, and as far off as the row is wide.
// RUN: attnc run %s | FileCheck %s
// CHECK: first -1.41421 0.707107 0.707107

func.func @uneven() -> tensor<1x3xf32> {
  %x = arith.constant dense<[[8192.0, 8192.0009765625, 8192.0009765625]]> : tensor<1x3xf32>
  %y = attn.layer_norm %x epsilon(0.0) : tensor<1x3xf32>
  return %y : tensor<1x3xf32>
}
