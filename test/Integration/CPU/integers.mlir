// Integers at the ends of their range, which a float does not hold, and as indices.

// RUN: attnc verify %s --function ends | FileCheck %s
// RUN: attnc verify %s --function indices --size len=9 | FileCheck %s
// RUN: attnc verify %s --function signs | FileCheck %s
// CHECK: cases, all within the allowed error

func.func @ends(%none: tensor<3x0xi64>) -> (tensor<3xi64>, tensor<3xi64>) {
  %most = attn.reduce min %none axes [1] : tensor<3x0xi64> -> tensor<3xi64>
  %least = attn.reduce max %none axes [1] : tensor<3x0xi64> -> tensor<3xi64>
  return %most, %least : tensor<3xi64>, tensor<3xi64>
}

// Without a sign -1 of an i8 is 255, and true is 1; with it true is -1.
func.func @indices(%x: tensor<?xf32> {attn.name = "x", attn.dims = ["len"]}) -> (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %small = arith.constant -1 : i8
  %four = arith.constant 4 : index
  %0 = tensor.generate %n {
  ^bb0(%i: index):
    %a = arith.index_castui %small : i8 to index
    %b = arith.subi %a, %i : index
    %c = arith.index_castui %b : index to i64
    tensor.yield %c : i64
  } : tensor<?xi64>
  %1 = tensor.generate %n {
  ^bb0(%i: index):
    %is = arith.cmpi slt, %i, %four : index
    %a = arith.index_castui %is : i1 to index
    %b = arith.index_cast %a : index to i64
    tensor.yield %b : i64
  } : tensor<?xi64>
  %2 = tensor.generate %n {
  ^bb0(%i: index):
    %is = arith.cmpi slt, %i, %four : index
    %a = arith.index_cast %is : i1 to index
    %b = arith.index_cast %a : index to i64
    tensor.yield %b : i64
  } : tensor<?xi64>
  return %0, %1, %2 : tensor<?xi64>, tensor<?xi64>, tensor<?xi64>
}

// Ops compute with signless integers; others pass through.
func.func @signs(%a: tensor<?xui8>, %b: tensor<3xsi64>) -> (tensor<?xui8>, tensor<3xsi64>) {
  return %a, %b : tensor<?xui8>, tensor<3xsi64>
}
