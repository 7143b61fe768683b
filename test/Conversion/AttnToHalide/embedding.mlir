// RUN: attn-opt %s --attn-pipeline | FileCheck %s

// The first id that is no row is found; there may be none when the rows are read.
// CHECK-LABEL: halide.pipeline @lookup_wrong_ids_0 attributes {attn.check, attn.kind = "wrong_ids"}
// CHECK-LABEL: halide.pipeline @lookup_embedding_1
// CHECK-LABEL: func.func @lookup(
// CHECK: %[[WRONG:.*]] = memref.alloc() : memref<1xi32>
// CHECK: host.call @lookup_wrong_ids_0(%{{.*}}, %{{.*}}, %[[WRONG]])
// CHECK: host.load %[[WRONG]]
// CHECK: host.require %{{.*}}, "expected element {} of the ids of attn.embedding to be a row of its table: 0 to 99"(%{{.*}})
// CHECK: host.call @lookup_embedding_1
func.func @lookup(%table: tensor<100x32xf32>, %ids: tensor<?xi64>) -> tensor<?x32xf32> {
  %row = attn.embedding %table, %ids : tensor<100x32xf32>, tensor<?xi64> -> tensor<?x32xf32>
  return %row : tensor<?x32xf32>
}
