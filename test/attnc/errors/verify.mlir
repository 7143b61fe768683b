// RUN: %exits 1 attnc compile %s -o %t 2>&1 | FileCheck %s
// RUN: test ! -e %t

// An op does not verify.
// CHECK: verify.mlir:[[#@LINE+2]]:8: error: 'attn.softmax' op expected an axis within rank 1, found 1
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %p = attn.softmax %a axis(1) : tensor<4xf32>
  return %p : tensor<4xf32>
}
