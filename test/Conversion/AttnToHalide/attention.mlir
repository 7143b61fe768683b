// RUN: attn-opt %s --attn-select-schedule=target=x86-64-linux-avx512_skylake --attn-decompose --convert-attn-to-halide --canonicalize --cse | FileCheck %s

// A fused core becomes one pipeline: the scores, their maximum, weights and sums a chunk at a
// time, and one func that holds context, sum and maximum.

// CHECK-LABEL: halide.pipeline @causal_attention_3 attributes {attn.kind = "attention", attn.schedule = #attn.prefill<q_block = 48
// CHECK: %[[QUERY:.*]] = halide.input "query" [64, ?, ?, ?]
// CHECK: %[[ROWS:.*]] = halide.extent %[[QUERY]], 1
// The last row of a query block bounds its keys: k <= q.
// CHECK: %[[HIGH:.*]] = halide.func "high"
// CHECK:   %[[LAST:.*]] = arith.minsi %{{.*}}, %{{.*}} : i32
// CHECK:   %[[NEXT:.*]] = arith.addi %[[LAST]], %c1_i32 : i32
// CHECK:   arith.minsi %[[NEXT]]
// CHECK: %[[DOT:.*]] = halide.func "dot"
// CHECK: halide.update %[[DOT]]
// CHECK:   halide.fetch_ahead
// CHECK: %[[SCORE:.*]] = halide.func "score"
// CHECK:   %[[BITS:.*]] = arith.bitcast %{{.*}} : f32 to i32
// CHECK:   arith.select %{{.*}}, %[[BITS]], %c-8388608_i32
// CHECK: %[[ACC:.*]] = halide.func "acc"
// CHECK: halide.update %[[ACC]]
// CHECK: halide.yield %{{.*}} at [%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] where
// CHECK: halide.output %{{.*}} [64, ?, ?, ?]
// CHECK: halide.parallel
// CHECK: halide.store_in %[[DOT]], register

// CHECK-LABEL: func.func @causal(
// CHECK-SAME: {attn.name = "context", attn.result}
// A call runs the kernel for its q_len.
// CHECK: %[[Q_LEN:.*]] = memref.dim %arg0, %c2
// CHECK: %[[NOT_NONE:.*]] = arith.cmpi sgt, %[[Q_LEN]], %c-1
// CHECK: %[[ONE:.*]] = arith.cmpi sle, %[[Q_LEN]], %c1
// CHECK: %[[IS_ONE:.*]] = arith.andi %[[NOT_NONE]], %[[ONE]]
// CHECK: host.call @causal_attention_0(%arg0, %arg1, %arg2, %arg3) if(%[[IS_ONE]])
// CHECK: host.call @causal_attention_1(%arg0, %arg1, %arg2, %arg3) if
// CHECK: host.call @causal_attention_2(%arg0, %arg1, %arg2, %arg3) if
// CHECK: %[[IS_MORE:.*]] = arith.cmpi sgt, %[[Q_LEN]], %c128
// CHECK: host.call @causal_attention_3(%arg0, %arg1, %arg2, %arg3) if(%[[IS_MORE]])
// CHECK-NEXT: return
func.func @causal(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>)
    -> (tensor<?x8x?x64xf32> {attn.name = "context"}) {
  %c = attn.attention %q, %k, %v scale(0.125) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %m = arith.cmpi sle, %j, %i : index
    attn.yield %m : i1
  } : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// With few rows, the query heads that share a head of key and value are rows of one query block.
// CHECK-LABEL: halide.pipeline @few_attention_0 attributes {{.*}}#attn.decode<q_block = 4, packed_heads = 4
// CHECK: halide.func "query_t" [%[[II:[a-z0-9]*]], %{{[a-z0-9]*}}, %{{[a-z0-9]*}}, %[[H:[a-z0-9]*]],
// CHECK:   %[[FIRST_HEAD:.*]] = arith.muli %[[H]], %c4_i32
// CHECK:   %[[SHARE:.*]] = halide.mod %[[II]], %c4_i32
// CHECK:   arith.addi %[[FIRST_HEAD]], %[[SHARE]]
// CHECK: %[[PARTIAL:.*]] = halide.func "dot_partial"
// CHECK: halide.store_in %[[PARTIAL]], register
// CHECK-LABEL: func.func @few(
// CHECK: host.call @few_attention_0(%arg0, %arg1, %arg2) :
func.func @few(%q: tensor<1x8x1x64xf32>, %k: tensor<1x2x?x64xf32>) -> tensor<1x8x1x64xf32> {
  %c = attn.attention %q, %k, %k : tensor<1x8x1x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32> -> tensor<1x8x1x64xf32>
  return %c : tensor<1x8x1x64xf32>
}

// Short elements are made f32 once for all rows of a query block.
// CHECK-LABEL: halide.pipeline @half_attention_0
// CHECK: %[[KEY:.*]] = halide.func "wide_key"
// CHECK: halide.store_in %[[KEY]], stack
// CHECK-LABEL: func.func @half(
// CHECK: host.call @half_attention_0
func.func @half(%q: tensor<1x2x5x8xf16>, %k: tensor<1x2x7x8xf16>, %v: tensor<1x2x7x8xf16>)
    -> tensor<1x2x5x8xf16> {
  %c = attn.attention %q, %k, %v : tensor<1x2x5x8xf16>, tensor<1x2x7x8xf16>, tensor<1x2x7x8xf16> -> tensor<1x2x5x8xf16>
  return %c : tensor<1x2x5x8xf16>
}

// What the fused kernel does not serve, here f64, becomes the ops it stands for.
// CHECK-LABEL: func.func @double(
// CHECK: host.call @double_score_0
// CHECK: host.call @double_softmax_1
// CHECK: host.call @double_context_2
func.func @double(%q: tensor<1x2x5x8xf64>, %k: tensor<1x2x7x8xf64>, %v: tensor<1x2x7x8xf64>)
    -> tensor<1x2x5x8xf64> {
  %c = attn.attention %q, %k, %v : tensor<1x2x5x8xf64>, tensor<1x2x7x8xf64>, tensor<1x2x7x8xf64> -> tensor<1x2x5x8xf64>
  return %c : tensor<1x2x5x8xf64>
}
