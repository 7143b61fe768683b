// Sizes and offsets that a call computes: one that can't be is refused, and nothing traps.

// RUN: attnc run %s --function read --input n=ones | FileCheck %s --check-prefix=DONE
// RUN: not attnc run %s --function read --input n=zeros 2>&1 | FileCheck %s --check-prefix=DIVISOR
// RUN: attnc run %s --function shape --input rows=random:3 | FileCheck %s --check-prefix=DONE
// RUN: not attnc run %s --function shape --input rows=random:0 2>&1 | FileCheck %s --check-prefix=DIVISOR
// RUN: attnc run %s --function place --input n=zeros | FileCheck %s --check-prefix=DONE
// RUN: not attnc run %s --function place --input n=ones 2>&1 | FileCheck %s --check-prefix=PLACE
// DONE: finite {{[1-9]}}
// DIVISOR: error: expected no division by zero or overflow in a size computation
// PLACE: error: expected tensor.extract to stay within its tensor

func.func @read(%x: tensor<10xf32>, %n: tensor<2xi32>) -> tensor<2xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tensor.extract %n[%c0] : tensor<2xi32>
  %b = tensor.extract %n[%c1] : tensor<2xi32>
  %quotient = arith.divsi %a, %b : i32
  %offset = arith.index_cast %quotient : i32 to index
  %y = tensor.extract_slice %x[%offset] [2] [1] : tensor<10xf32> to tensor<2xf32>
  return %y : tensor<2xf32>
}

// A temporary's size: what tells the workspace computes it as well.
func.func @shape(%x: tensor<12xf32>, %rows: tensor<?xf32>) -> tensor<12xf32> {
  %c0 = arith.constant 0 : index
  %c12 = arith.constant 12 : index
  %one = arith.constant 1.0 : f32
  %n = tensor.dim %rows, %c0 : tensor<?xf32>
  %size = arith.divui %c12, %n : index
  %ones = tensor.splat %one[%size] : tensor<?xf32>
  %sum = attn.reduce sum %ones axes [0] keep_dims : tensor<?xf32> -> tensor<1xf32>
  %r = attn.map %x, %sum {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    attn.yield %c : f32
  } : tensor<12xf32>, tensor<1xf32> -> tensor<12xf32>
  return %r : tensor<12xf32>
}

func.func @place(%x: tensor<10xf32>, %n: tensor<2xi32>) -> tensor<2xf32> {
  %c0 = arith.constant 0 : index
  %far = arith.constant 900000000 : i32
  %a = tensor.extract %n[%c0] : tensor<2xi32>
  %place = arith.muli %a, %far : i32
  %at = arith.index_cast %place : i32 to index
  %read = tensor.extract %n[%at] : tensor<2xi32>
  %offset = arith.index_cast %read : i32 to index
  %y = tensor.extract_slice %x[%offset] [2] [1] : tensor<10xf32> to tensor<2xf32>
  return %y : tensor<2xf32>
}
