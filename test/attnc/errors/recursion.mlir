// RUN: %exits 1 attnc compile %s 2>&1 | FileCheck %s

// CHECK: recursion.mlir:[[@LINE+6]]:8: error: expected a call of a non-recursive function with a body, found @loop
func.func private @loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = call @loop(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @spec(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = call @loop(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
