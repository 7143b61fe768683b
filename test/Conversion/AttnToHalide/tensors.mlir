// RUN: attn-opt %s --attn-decompose --convert-attn-to-halide | FileCheck %s

// A static size of 1 is read at 0, a missing dimension not at all; a dynamic size is
// checked at the call.
// CHECK-LABEL: halide.pipeline @map_map_0
// CHECK: %[[A:.*]] = halide.input "input0" [37, ?]
// CHECK: %[[B:.*]] = halide.input "input1" [37]
// CHECK: %[[C:.*]] = halide.input "input2" [1, ?]
// CHECK: halide.func "result" [%[[X:.*]], %[[Y:.*]]] : f32 {
// CHECK-DAG: halide.at %[[A]][%[[X]], %[[Y]]]
// CHECK-DAG: halide.at %[[B]][%[[X]]]
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-DAG: halide.at %[[C]][%[[ZERO]], %[[Y]]]
// CHECK-LABEL: func.func @map(
// CHECK: host.require %{{.*}}, "expected dim[0] of operand 0 and operand 2 of attn.map to match, found {} (dim 0 of arg0) and {} (dim 0 of arg2)"
// CHECK: host.call @map_map_0(%arg0, %arg1, %arg2, %arg3)
func.func @map(%x: tensor<?x37xf32>, %b: tensor<37xf32>, %m: tensor<?x1xi1>) -> tensor<?x37xf32> {
  %r = attn.map %x, %b, %m {
  ^bb0(%a: f32, %c: f32, %take: i1):
    %s = arith.select %take, %a, %c : f32
    attn.yield %s : f32
  } : tensor<?x37xf32>, tensor<37xf32>, tensor<?x1xi1> -> tensor<?x37xf32>
  return %r : tensor<?x37xf32>
}

// Rows that stay whole are a view; others are copied.
// CHECK-LABEL: func.func @transpose(
// CHECK: %[[VIEW:.*]] = memref.transpose %arg0 (d0, d1, d2) -> (d1, d0, d2)
// CHECK: host.call @transpose_transpose_0(%[[VIEW]], %arg1)
func.func @transpose(%x: tensor<3x?x37xf32>) -> tensor<37x?x3xf32> {
  %t = attn.transpose %x [1, 0, 2] : tensor<3x?x37xf32> -> tensor<?x3x37xf32>
  %u = attn.transpose %t [2, 0, 1] : tensor<?x3x37xf32> -> tensor<37x?x3xf32>
  return %u : tensor<37x?x3xf32>
}

// A sum along rows keeps as many partial sums as lanes.
// CHECK-LABEL: halide.pipeline @reduce_reduce_0
// CHECK: halide.rfactor
// CHECK-LABEL: func.func @reduce(
func.func @reduce(%x: tensor<?x37xf32>) -> tensor<?xf32> {
  %r = attn.reduce mean %x axes [1] : tensor<?x37xf32> -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// Without a fused kernel both results of an attention are computed.
// CHECK-LABEL: func.func @lse(
// CHECK: host.call @lse_score_0(%arg0, %arg1, %[[SCORE:.*]])
// CHECK: host.call @lse_lse_1(%[[SCORE]], %arg4)
// CHECK: host.call @lse_context_3(%{{.*}}, %arg2, %arg3)
func.func @lse(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x5x4xf32>, %v: tensor<1x2x5x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>) {
  %c, %l = attn.attention %q, %k, %v : tensor<1x2x3x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32> -> tensor<1x2x3x4xf32>, tensor<1x2x3xf32>
  return %c, %l : tensor<1x2x3x4xf32>, tensor<1x2x3xf32>
}

// A single row is a product with one row.
// CHECK-LABEL: func.func @row(
// CHECK: %[[ROW:.*]] = memref.expand_shape %arg0 {{\[\[}}0, 1]] output_shape [1, 8]
// CHECK: host.call @row_linear_0(%[[ROW]], %arg1, %{{.*}})
func.func @row(%x: tensor<8xf32>, %w: tensor<4x8xf32>) -> tensor<4xf32> {
  %y = attn.linear %x, %w : tensor<8xf32>, tensor<4x8xf32> -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// What is computed in f32 is rounded to bf16 by a conversion as written, not by one with
// `fastmath<contract>`.
// CHECK-LABEL: halide.pipeline @rounded_map_0
// CHECK: arith.addf
// CHECK-NEXT: arith.truncf {{.*}} : f32 to bf16
// CHECK: arith.extf {{.*}} : bf16 to f32
// CHECK: arith.mulf
func.func @rounded(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = attn.map %x {
  ^bb0(%a: f32):
    %s = arith.addf %a, %a : f32
    %t = arith.truncf %s : f32 to bf16
    %u = arith.extf %t : bf16 to f32
    %v = arith.mulf %u, %a : f32
    attn.yield %v : f32
  } : tensor<?xf32> -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// CHECK-LABEL: halide.pipeline @contracted_map_0
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK-NEXT: arith.mulf %[[SUM]]
func.func @contracted(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = attn.map %x {
  ^bb0(%a: f32):
    %s = arith.addf %a, %a : f32
    %t = arith.truncf %s fastmath<contract> : f32 to bf16
    %u = arith.extf %t fastmath<contract> : bf16 to f32
    %v = arith.mulf %u, %a : f32
    attn.yield %v : f32
  } : tensor<?xf32> -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// A tensor without dimensions is its own transpose.
// CHECK-LABEL: halide.pipeline @scalar_copy_0
func.func @scalar(%x: tensor<f32>) -> tensor<f32> {
  %t = attn.transpose %x [] : tensor<f32> -> tensor<f32>
  return %t : tensor<f32>
}
