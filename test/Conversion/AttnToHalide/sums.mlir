// Row sums accumulate in vector lanes, which a tree reduction adds: fewer roundings than one by one.
// RUN: attn-opt %s --attn-decompose --convert-attn-to-halide=target=x86-64-linux-avx2-fma | FileCheck %s

// CHECK-LABEL: halide.pipeline @softmax_softmax_0
// CHECK-DAG: halide.split %sum_r by 8
// CHECK-DAG: halide.split %sum_ri by 4
// CHECK-DAG: halide.split %sum_rii by 2
// CHECK-NOT: halide.atomic
// CHECK-LABEL: func.func @softmax(
func.func @softmax(%x: tensor<?x37xf32>) -> tensor<?x37xf32> {
  %y = attn.softmax %x : tensor<?x37xf32>
  return %y : tensor<?x37xf32>
}

// CHECK-LABEL: halide.pipeline @reduce_reduce_0
// CHECK: %[[BY4:.*]] = halide.rfactor
// CHECK: %[[BY2:.*]] = halide.rfactor
// CHECK: halide.unroll
func.func @reduce(%x: tensor<?x37xf32>) -> tensor<?xf32> {
  %r = attn.reduce mean %x axes [1] : tensor<?x37xf32> -> tensor<?xf32>
  return %r : tensor<?xf32>
}
