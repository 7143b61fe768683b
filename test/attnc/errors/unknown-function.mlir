// RUN: %exits 1 attnc explain %s --function h 2>&1 | FileCheck %s

// There is no function of that name.
// CHECK: unknown-function.mlir: error: expected a function 'h', found f, g
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
func.func @g(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
