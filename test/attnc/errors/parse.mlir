// RUN: %exits 1 attnc compile %s -o %t 2>&1 | FileCheck %s
// RUN: test ! -e %t

// The text is not MLIR.
// CHECK: parse.mlir:[[#@LINE+2]]:8: error: custom op 'softmax' is unknown
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %p = softmax %a : tensor<4xf32>
  return %p : tensor<4xf32>
}
