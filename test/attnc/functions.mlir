// Functions that others call are put in their places; private ones are no kernels.
// RUN: attnc run %s --input x=ones | FileCheck %s
// RUN: attnc run %s --input x=ones --reference | FileCheck %s
// CHECK: b: f32[4]  min 8  max 8
// RUN: attn-opt %s --attn-pipeline | FileCheck %s --check-prefix=INLINED
// INLINED-NOT: call @
// INLINED: func.func @eightfold(
// INLINED-NOT: func.func @twice(
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %sum = arith.addf %x, %x : tensor<4xf32>
  return %sum : tensor<4xf32>
}
func.func private @fourfold(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = call @twice(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}
func.func @eightfold(%x: tensor<4xf32> {attn.name = "x"}) -> tensor<4xf32> {
  %a = call @fourfold(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = call @twice(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}
