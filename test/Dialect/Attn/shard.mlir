// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-fuse-attention,attn-shard,cse))' | FileCheck %s
// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-fuse-attention,attn-shard{cluster=ranks=64,rows=32}))' | FileCheck %s --check-prefix=SHORT

// Rows and keys: those of each rank go around, with their positions, and results are merged.
// CHECK-LABEL: func.func @ring
// CHECK-SAME: (%[[QUERY:.*]]: tensor<?x4x?x8xf32> {{{.*}}}, %[[KEY:.*]]: tensor<?x2x?x8xf32> {{{.*}}}, %[[IDS:.*]]: tensor<?x?xi32>
// CHECK-NOT: attn.shard
// CHECK: %[[LEN:.*]] = tensor.dim %[[QUERY]]
// CHECK: %[[PLACES:.*]] = attn.places %[[LEN]] layout(zigzag) : tensor<?xi32>
// CHECK: %[[PLACE:.*]] = tensor.generate
// CHECK: %[[ZERO:.*]] = tensor.splat {{.*}} : tensor<?x4x?x8xf32>
// CHECK: %[[NONE:.*]] = tensor.splat {{.*}} : tensor<?x4x?xf32>
// CHECK: %[[LONGEST:.*]] = arith.index_cast
// CHECK: tensor.empty(%{{.*}}, %[[LONGEST]]) : tensor<?x2x?x8xf32>
// CHECK: %[[KEYS:.*]] = tensor.insert_slice %[[KEY]] into
// CHECK: %[[ALL_IDS:.*]] = tensor.insert_slice %[[IDS]] into
// CHECK: %[[ALL_PLACES:.*]] = tensor.insert_slice %[[PLACE]] into
// CHECK: %[[ROWS:.*]] = tensor.extract_slice %[[PLACES]][0] [1] [1]
// CHECK: %[[ALL:.*]]:2 = attn.ring %[[KEYS]], %[[ALL_IDS]], %[[ALL_PLACES]], %[[ROWS]] init(%[[ZERO]], %[[NONE]]) {
// CHECK-NEXT: ^bb0(%[[K:.*]]: tensor<?x2x?x8xf32>, %[[KIDS:.*]]: tensor<?x?xi32>, %[[AT:.*]]: tensor<?xi32>, %[[N:.*]]: tensor<1xi32>, %[[C:.*]]: tensor<?x4x?x8xf32>, %[[L:.*]]: tensor<?x4x?xf32>):
// CHECK: attn.attention %[[QUERY]], %[[K]], %[[K]] mask
// CHECK-DAG: tensor.extract %[[AT]][%k]
// CHECK-DAG: tensor.extract %[[PLACE]][%q]
// CHECK-DAG: tensor.extract %[[IDS]][%batch, %q]
// CHECK-DAG: tensor.extract %[[KIDS]][%batch, %k]
// CHECK-DAG: tensor.extract %[[N]][%{{.*}}] : tensor<1xi32>
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
// CHECK: %[[PLACES:.*]] = attn.places %[[LEN]] layout(blocks)
// CHECK: %[[PART:.*]]:2 = attn.attention {{.*}} mask
// CHECK: tensor.extract %{{.*}}[%k]
// CHECK: tensor.extract %[[PLACES]][%{{.*}}]
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

// All keys on all ranks, in the order of the sequence: k is the position.
// CHECK-LABEL: func.func @gather
// CHECK-SAME: (%[[QUERY:.*]]: tensor<?x4x?x8xf32> {{{.*}}}, %[[IDS:.*]]: tensor<?x?xi32>
// CHECK: %[[PLACES:.*]] = attn.places %{{.*}} layout(striped)
// CHECK: %[[PLACE:.*]] = tensor.generate
// CHECK: %[[K:.*]] = attn.all_gather %[[QUERY]] of %[[PLACES]] layout(striped) along 2 to %[[WHOLE:.*]] {attn.estimates = ["all_gather, as attn.shard names it",
// CHECK: %[[KIDS:.*]] = attn.all_gather %[[IDS]] of %[[PLACES]] layout(striped) along 1 to %[[WHOLE]]
// CHECK: attn.attention %[[QUERY]], %[[K]], %[[K]] mask
// CHECK-DAG: arith.cmpi sle, %k, %{{.*}}
// CHECK-DAG: tensor.extract %[[IDS]][%batch, %q]
// CHECK-DAG: tensor.extract %[[KIDS]][%batch, %k]
func.func @gather(%x: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "len", 8]}, %ids: tensor<?x?xi32> {attn.dims = ["batch", "len"]})
    -> tensor<?x4x?x8xf32> attributes {attn.shard = {len = #attn.shard<striped, all_gather>}} {
  %score = attn.score %x, %x : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>
  %masked = attn.mask %score causal(top_left) documents(%ids : tensor<?x?xi32>) : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %x : tensor<?x4x?x?xf32>, tensor<?x4x?x8xf32>
  return %context : tensor<?x4x?x8xf32>
}

// A window in blocks: the keys that it shows, chosen as less is sent. They begin ahead of the rank's rows.
// CHECK-LABEL: func.func @halo
// CHECK: %[[PLACES:.*]] = attn.places %{{.*}} layout(blocks)
// CHECK: arith.minsi
// CHECK: %[[FIRST:.*]] = arith.maxsi
// CHECK: %[[K:.*]] = attn.all_gather %{{.*}} of %[[PLACES]] layout(blocks) along 2 to %{{.*}} halo [7, 2] {attn.estimates = ["halo, which
// CHECK: attn.attention %{{.*}}, %[[K]], %[[K]] mask
// CHECK: arith.addi %k, %[[FIRST]]
func.func @halo(%x: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "len", 8]})
    -> tensor<?x4x?x8xf32> attributes {attn.shard = {len = #attn.shard<blocks>}} {
  %score = attn.score %x, %x : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>
  %masked = attn.mask %score window(7, 2) : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %x : tensor<?x4x?x?xf32>, tensor<?x4x?x8xf32>
  return %context : tensor<?x4x?x8xf32>
}

// Few rows: messages take longer than computation, and all of an all-gather start together.
// CHECK-LABEL: func.func @short
// SHORT-LABEL: func.func @short
// CHECK: attn.ring
// SHORT-NOT: attn.ring
// SHORT: attn.all_gather
// SHORT-SAME: "for 64 ranks of 32 rows, 1000 GFLOP/s and 100 GB/s; links of 100 Gbit/s and 10 us"
func.func @short(%x: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "len", 8]})
    -> tensor<?x4x?x8xf32> attributes {attn.shard = {len = #attn.shard<zigzag>}} {
  %score = attn.score %x, %x : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>
  %prob = attn.softmax %score : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %x : tensor<?x4x?x?xf32>, tensor<?x4x?x8xf32>
  return %context : tensor<?x4x?x8xf32>
}
