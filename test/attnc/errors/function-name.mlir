// RUN: %exits 1 attnc compile %s 2>&1 | FileCheck %s

// The function's name does not do for C.
// CHECK: --name: error: expected a name: the function's, 'my-kernel', is not a C identifier
func.func @"my-kernel"(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
