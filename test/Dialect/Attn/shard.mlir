// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-fuse-attention,attn-shard,cse))' | FileCheck %s

// Rows and keys: those of each rank go around, with their positions, and results are merged.
// CHECK-LABEL: func.func @ring
// CHECK-SAME: (%[[QUERY:.*]]: tensor<?x4x?x8xf32> {{{.*}}}, %[[KEY:.*]]: tensor<?x2x?x8xf32> {{{.*}}}, %[[IDS:.*]]: tensor<?x?xi32>
// CHECK-NOT: attn.shard
// CHECK: %[[LEN:.*]] = tensor.dim %[[QUERY]]
// CHECK: %[[RANK:.*]] = attn.this_rank agree(%[[LEN]]) : tensor<2xi32>
// CHECK: %[[PLACE:.*]] = tensor.generate
// CHECK: %[[ZERO:.*]] = tensor.splat {{.*}} : tensor<?x4x?x8xf32>
// CHECK: %[[NONE:.*]] = tensor.splat {{.*}} : tensor<?x4x?xf32>
// CHECK: %[[ALL:.*]]:2 = attn.ring %[[KEY]], %[[PLACE]], %[[IDS]] init(%[[ZERO]], %[[NONE]]) {
// CHECK-NEXT: ^bb0(%[[K:.*]]: tensor<?x2x?x8xf32>, %[[AT:.*]]: tensor<?xi32>, %[[KIDS:.*]]: tensor<?x?xi32>, %[[C:.*]]: tensor<?x4x?x8xf32>, %[[L:.*]]: tensor<?x4x?xf32>):
// CHECK: attn.attention %[[QUERY]], %[[K]], %[[K]] mask
// CHECK-DAG: tensor.extract %[[AT]][%k]
// CHECK-DAG: tensor.extract %[[PLACE]][%q]
// CHECK-DAG: tensor.extract %[[IDS]][%batch, %q]
// CHECK-DAG: tensor.extract %[[KIDS]][%batch, %k]
// CHECK: attn.merge %[[C]], %[[L]],
// CHECK: attn.yield
// CHECK: return %[[ALL]]#0
func.func @ring(%query: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "len", 8]},
                %key: tensor<?x2x?x8xf32> {attn.dims = ["batch", 2, "len", 8]},
                %ids: tensor<?x?xi32> {attn.dims = ["batch", "len"]})
    -> tensor<?x4x?x8xf32> attributes {attn.shard = {len = #attn.shard<zigzag>}} {
  %score = attn.score %query, %key : tensor<?x4x?x8xf32>, tensor<?x2x?x8xf32>
  %masked = attn.mask %score causal(top_left) documents(%ids : tensor<?x?xi32>) : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %key : tensor<?x4x?x?xf32>, tensor<?x2x?x8xf32>
  return %context : tensor<?x4x?x8xf32>
}

// Keys alone: results over each rank's are merged. Sizes are those of the whole.
// CHECK-LABEL: func.func @reduce
// CHECK-SAME: %[[KEY:[a-z0-9]*]]: tensor<?x2x?x8xf32>
// CHECK: %[[LEN:.*]] = tensor.dim %[[KEY]]
// CHECK: %[[PART:.*]]:2 = attn.attention {{.*}} mask
// CHECK: tensor.extract %{{.*}}[%k]
// CHECK: arith.muli %[[LEN]], %{{.*}}
// CHECK: %[[ALL:.*]]:2 = attn.all_reduce %[[PART]]#0, %[[PART]]#1 {
// CHECK: attn.merge
// CHECK: return %[[ALL]]#0
func.func @reduce(%query: tensor<?x4x1x8xf32> {attn.dims = ["batch", 4, 1, 8]},
                  %key: tensor<?x2x?x8xf32> {attn.dims = ["batch", 2, "kv_len", 8]})
    -> tensor<?x4x1x8xf32> attributes {attn.shard = {kv_len = #attn.shard<blocks>}} {
  %score = attn.score %query, %key : tensor<?x4x1x8xf32>, tensor<?x2x?x8xf32>
  %masked = attn.mask %score window(100, 0, bottom_right) : tensor<?x4x1x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x1x?xf32>
  %context = attn.context %prob, %key : tensor<?x4x1x?xf32>, tensor<?x2x?x8xf32>
  return %context : tensor<?x4x1x8xf32>
}

// Rows alone: nothing is exchanged.
// CHECK-LABEL: func.func @rows
// CHECK-NOT: attn.ring
// CHECK-NOT: attn.all_reduce
// CHECK: attn.attention
// CHECK: tensor.extract %{{.*}}[%q] : tensor<?xi32>
// CHECK: arith.cmpi sle, %k,
// CHECK: attn.linear
func.func @rows(%query: tensor<?x1x?x8xf32> {attn.dims = ["batch", 1, "q_len", 8]},
                %key: tensor<?x1x?x8xf32> {attn.dims = ["batch", 1, "kv_len", 8]}, %weight: tensor<3x8xf32>)
    -> tensor<?x1x?x3xf32> attributes {attn.shard = {q_len = #attn.shard<striped>}} {
  %score = attn.score %query, %key : tensor<?x1x?x8xf32>, tensor<?x1x?x8xf32>
  %masked = attn.mask %score causal(top_left) : tensor<?x1x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x1x?x?xf32>
  %context = attn.context %prob, %key : tensor<?x1x?x?xf32>, tensor<?x1x?x8xf32>
  %y = attn.linear %context, %weight : tensor<?x1x?x8xf32>, tensor<3x8xf32>
  return %y : tensor<?x1x?x3xf32>
}

// A sink is merged once, after all keys.
// CHECK-LABEL: func.func @sink
// CHECK: %[[ALL:.*]]:2 = attn.ring
// CHECK-NOT: sink(
// CHECK: %[[OF_SINK:.*]] = tensor.generate
// CHECK: %[[C:.*]], %{{.*}} = attn.merge %[[ALL]]#0, %[[ALL]]#1, %{{.*}}, %[[OF_SINK]]
// CHECK: return %[[C]]
func.func @sink(%query: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "len", 8]}, %sink: tensor<1x4x1xf32>)
    -> tensor<?x4x?x8xf32> attributes {attn.shard = {len = #attn.shard<blocks>}} {
  %score = attn.score %query, %query : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>
  %prob = attn.softmax %score sink(%sink : tensor<1x4x1xf32>) : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %query : tensor<?x4x?x?xf32>, tensor<?x4x?x8xf32>
  return %context : tensor<?x4x?x8xf32>
}
