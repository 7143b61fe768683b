// Parts without elements, where nothing is left to stand, and a whole of them.

// RUN: attnc verify %s --function last | FileCheck %s
// RUN: attnc verify %s --function all | FileCheck %s
// CHECK: cases, all within the allowed error

func.func @last(%x: tensor<?x4xf32>, %none: tensor<?x0xf32>) -> tensor<?x4xf32> {
  %y = tensor.concat dim(1) %none, %x, %none : (tensor<?x0xf32>, tensor<?x4xf32>, tensor<?x0xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

func.func @all(%x: tensor<?x0xf32>, %y: tensor<?x0xf32>) -> tensor<?x0xf32> {
  %z = tensor.concat dim(0) %x, %y : (tensor<?x0xf32>, tensor<?x0xf32>) -> tensor<?x0xf32>
  return %z : tensor<?x0xf32>
}
