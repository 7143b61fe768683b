// RUN: %exits 1 attnc compile %s 2>&1 | FileCheck %s

// There is nothing to compile.
// CHECK: no-function.mlir: error: expected a function, found none
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
