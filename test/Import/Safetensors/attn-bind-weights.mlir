// RUN: %python %S/Inputs/write.py %t.safetensors
// RUN: attn-opt %s --attn-bind-weights=files=%t.safetensors | FileCheck %s

// Bound arguments go; the others stay, with their attributes.
// CHECK-LABEL: func.func @linear(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x4xf32> {attn.name = "x"}) -> tensor<?x3xf32>
// CHECK-DAG: %[[WEIGHT:.*]] = arith.constant dense_resource<weight> : tensor<3x4xf32>
// CHECK-DAG: %[[BIAS:.*]] = arith.constant dense_resource<bias> : tensor<3xf32>
// CHECK: attn.linear %[[X]], %[[WEIGHT]], %[[BIAS]]
func.func @linear(%weight: tensor<3x4xf32> {attn.weight = "weight"},
                  %x: tensor<?x4xf32> {attn.name = "x"},
                  %bias: tensor<3xf32> {attn.weight = "bias"}) -> tensor<?x3xf32> {
  %y = attn.linear %x, %weight, %bias
      : tensor<?x4xf32>, tensor<3x4xf32>, tensor<3xf32> -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}

// Schedules that read weights in place are of weights that a call passes; others stay.
// CHECK-LABEL: func.func @scheduled(
// CHECK: attn.linear %arg0, %{{[a-z0-9_]+}} :
// CHECK: attn.linear %arg0, %{{[a-z0-9_]+}} schedule([#attn.linear<row_tile = 4,
func.func @scheduled(%x: tensor<?x4xf32>, %weight: tensor<3x4xf32> {attn.weight = "weight"})
    -> (tensor<?x3xf32>, tensor<?x3xf32>) {
  %y = attn.linear %x, %weight
      schedule([#attn.linear<row_tile = 2, vectors = 4, vector_width = 4, row_block = 16, packed = false, max_rows = 16>,
                #attn.linear<row_tile = 4, vectors = 2, vector_width = 8, row_block = 48>])
      : tensor<?x4xf32>, tensor<3x4xf32> -> tensor<?x3xf32>
  %z = attn.linear %x, %weight schedule([#attn.linear<row_tile = 4, vectors = 2, vector_width = 8, row_block = 48>])
      : tensor<?x4xf32>, tensor<3x4xf32> -> tensor<?x3xf32>
  return %y, %z : tensor<?x3xf32>, tensor<?x3xf32>
}

// A tensor that two arguments name is there once.
// CHECK-LABEL: func.func @twice(
// CHECK: dense_resource<bias>
// CHECK: dense_resource<bias>
func.func @twice(%a: tensor<3xf32> {attn.weight = "bias"}, %b: tensor<3xf32> {attn.weight = "bias"})
    -> (tensor<3xf32>, tensor<3xf32>) {
  return %a, %b : tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @types(
func.func @types(%half: tensor<2xf16> {attn.weight = "half"},
                 %brain: tensor<2xbf16> {attn.weight = "brain"},
                 %double: tensor<2xf64> {attn.weight = "double"},
                 %long: tensor<2xi64> {attn.weight = "long"},
                 %flags: tensor<2xi1> {attn.weight = "flags"})
    -> (tensor<2xf16>, tensor<2xbf16>, tensor<2xf64>, tensor<2xi64>, tensor<2xi1>) {
  // CHECK: arith.constant dense<[true, false]> : tensor<2xi1>
  return %half, %brain, %double, %long, %flags
      : tensor<2xf16>, tensor<2xbf16>, tensor<2xf64>, tensor<2xi64>, tensor<2xi1>
}

// What is bound are the file's bytes, with their alignment before them.
// CHECK: {-#
// CHECK-DAG: bias: "0x040000000000204100
// CHECK-DAG: half: "0x02000000003C0040"
// CHECK-DAG: brain: "0x02000000803F0040"
// CHECK-DAG: long: "0x08000000FFFFFFFFFFFFFFFF0100000000000000"
