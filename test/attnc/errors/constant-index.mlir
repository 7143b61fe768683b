// RUN: %exits 1 attnc compile %s --function above -o %t 2>&1 | FileCheck %s
// RUN: %exits 1 attnc compile %s --function below -o %t 2>&1 | FileCheck %s --check-prefix=BELOW

// Kernels clamp indices that depend on data; a constant out of range is a mistake in the spec.
func.func @above(%x: tensor<?xf32>, %table: tensor<2x7xf32>) -> tensor<?xf32> {
  %y = attn.map %x {
  ^bb0(%a: f32):
    %one = arith.constant 1 : index
    %seven = arith.constant 7 : index
    // CHECK: constant-index.mlir:[[#@LINE+1]]:{{[0-9]+}}: error: expected index 1 to be at least 0 and below 7, found 7
    %e = tensor.extract %table[%one, %seven] : tensor<2x7xf32>
    attn.yield %e : f32
  } : tensor<?xf32>
  return %y : tensor<?xf32>
}

func.func @below(%x: tensor<?xf32>, %table: tensor<?xf32>) -> tensor<?xf32> {
  %y = attn.map %x {
  ^bb0(%a: f32):
    %before = arith.constant -1 : index
    // BELOW: constant-index.mlir:[[#@LINE+1]]:{{[0-9]+}}: error: expected index 0 to be at least 0, found -1
    %e = tensor.extract %table[%before] : tensor<?xf32>
    attn.yield %e : f32
  } : tensor<?xf32>
  return %y : tensor<?xf32>
}
