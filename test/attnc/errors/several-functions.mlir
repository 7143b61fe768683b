// RUN: %exits 1 attnc explain %s 2>&1 | FileCheck %s

// Nothing says which function is meant.
// CHECK: several-functions.mlir: error: expected one function, or --function to choose one of f, g, found 2
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
func.func @g(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
