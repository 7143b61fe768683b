// RUN: %exits 1 attnc explain %s 2>&1 | FileCheck %s

// A kernel takes and gives tensors.
// CHECK: argument-type.mlir:[[#@LINE+1]]:33: error: {{.*}}expected argument 1 to be a ranked tensor, found 'i32'
func.func @f(%a: tensor<4xf32>, %b: i32) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
