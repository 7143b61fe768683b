// Arguments and results are named as the text names them, where C and C++ can and nothing else has
// that name; attn.name comes first.

// RUN: attnc compile %s --emit json -o - | FileCheck %s
// CHECK: "name": "query"
// CHECK: "name": "given"
// CHECK: "name": "arg2"
// CHECK: "name": "arg3"
// CHECK: "name": "sum"
// CHECK: "name": "out1"
// CHECK: "name": "out2"
// CHECK: "name": "total"
func.func @f(%query: tensor<4xf32>, %key: tensor<4xf32> {attn.name = "given"}, %xor: tensor<4xf32>, %3: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {attn.name = "total"}) {
  %sum = arith.addf %query, %key : tensor<4xf32>
  %0 = arith.addf %xor, %3 : tensor<4xf32>
  %all = arith.addf %sum, %0 : tensor<4xf32>
  return %sum, %0, %query, %all : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
