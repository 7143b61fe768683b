// Resources of i1 have a byte for each element; those without elements have none.

// RUN: attnc run %s | FileCheck %s
// RUN: attnc run %s --reference | FileCheck %s
// CHECK: first 1 0 1 1
// CHECK: f32[0]

func.func @f() -> (tensor<4xi1>, tensor<0xf32>) {
  %bools = arith.constant dense_resource<bools> : tensor<4xi1>
  %none = arith.constant dense_resource<none> : tensor<0xf32>
  return %bools, %none : tensor<4xi1>, tensor<0xf32>
}

{-# dialect_resources: { builtin: { bools: "0x0100000001000101", none: "0x04000000" } } #-}
