// RUN: %exits 1 attnc explain %s 2>&1 | FileCheck %s

// A kernel without a result does nothing.
// CHECK: no-result.mlir:[[#@LINE+1]]:1: error: {{.*}}expected at least one result, found none
func.func @f(%a: tensor<4xf32>) {
  return
}
