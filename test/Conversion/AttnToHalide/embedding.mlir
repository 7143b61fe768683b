// RUN: attn-opt %s --attn-pipeline | FileCheck %s

// Ids are counted that are no row, and none may be left when the rows are read.
// CHECK-LABEL: halide.pipeline @lookup_wrong_ids_0
// CHECK-LABEL: halide.pipeline @lookup_embedding_1
// CHECK-LABEL: func.func @lookup(
// CHECK: %[[WRONG:.*]] = memref.alloc() : memref<1xi32>
// CHECK: host.call @lookup_wrong_ids_0(%{{.*}}, %{{.*}}, %[[WRONG]])
// CHECK: host.load %[[WRONG]]
// CHECK: host.require %{{.*}}, "expected ids of attn.embedding to be rows of its table: 0 to 99"
// CHECK: host.call @lookup_embedding_1
func.func @lookup(%table: tensor<100x32xf32>, %ids: tensor<?xi64>) -> tensor<?x32xf32> {
  %row = attn.embedding %table, %ids : tensor<100x32xf32>, tensor<?xi64> -> tensor<?x32xf32>
  return %row : tensor<?x32xf32>
}
