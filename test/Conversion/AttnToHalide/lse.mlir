// RUN: attn-opt %s --attn-select-schedule=target=x86-64-linux-avx512_skylake --attn-decompose --convert-attn-to-halide --canonicalize --cse | FileCheck %s
// RUN: attn-opt %s --attn-select-schedule=target=x86-64-linux-opencl --attn-decompose --convert-attn-to-halide=target=x86-64-linux-opencl --canonicalize --cse | FileCheck %s --check-prefix=GPU

// The lse is a second output of the kernel: stored where a row is divided by its sum.

// CHECK-LABEL: halide.pipeline @prefill_attention_0
// CHECK: %[[LSE:.*]] = halide.func "lse" [%i, %h, %b] : f32
// CHECK: halide.func "inverse" [%[[II:.*]], %[[IT:.*]], %{{.*}}, %{{.*}}] : f32
// CHECK:   %[[SUM_LANE:.*]] = arith.addi %{{.*}}, %c32_i32
// CHECK:   %[[SUM:.*]] = halide.at %acc[%[[SUM_LANE]]
// CHECK:   %[[MAX_LANE:.*]] = arith.addi %{{.*}}, %c48_i32
// CHECK:   halide.at %acc[%[[MAX_LANE]]
// CHECK:   %[[ELEMENT:.*]] = halide.at %[[LSE]]
// CHECK:   math.log %[[SUM]] fastmath<afn>
// CHECK:   halide.store_beside %{{.*}}, %{{.*}} to %[[ELEMENT]] : f32, f32
// A score that is NaN is marked by the second pass.
// CHECK: halide.func "fallback_weight"
// CHECK:   halide.store_beside %{{.*}} to %{{.*}} where
// CHECK: halide.output %context [64, ?, ?, ?]
// CHECK: halide.output %[[LSE]] [?, ?, ?] : <f32, 3>
// CHECK-NOT: halide.pipeline
// CHECK: func.func @prefill(
// CHECK: host.call @prefill_attention_0(%arg0, %arg1, %arg2, %arg3)
// CHECK-NEXT: return

// GPU-LABEL: halide.pipeline @prefill_attention_0
// GPU: %[[LSE:.*]] = halide.func "lse"
// GPU: halide.func "context" [%[[D:.*]], %[[I:.*]], %[[H:.*]], %[[B:.*]]] : f32
// GPU:   %[[IS_FIRST:.*]] = arith.cmpi eq, %[[D]], %c0_i32
// GPU:   halide.store_beside %{{.*}} to %{{.*}} where %[[IS_FIRST]]
// GPU: halide.output %context
// GPU: halide.output %[[LSE]]
// GPU-NOT: halide.pipeline
// GPU: func.func @prefill(
func.func @prefill(%q: tensor<1x8x70x64xf32>, %k: tensor<1x8x900x64xf32>)
    -> (tensor<1x8x70x64xf32>, tensor<1x8x70xf32>) {
  %c, %l = attn.attention %q, %k, %k scale(0.125)
      : tensor<1x8x70x64xf32>, tensor<1x8x900x64xf32>, tensor<1x8x900x64xf32> -> tensor<1x8x70x64xf32>, tensor<1x8x70xf32>
  return %c, %l : tensor<1x8x70x64xf32>, tensor<1x8x70xf32>
}

// Keys in splits: where they are merged. The sink is not in the sums, but added last.
// CHECK-LABEL: halide.pipeline @splits_attention_0
// CHECK: %[[LSE:.*]] = halide.func "lse"
// CHECK: halide.func "fallback_weight"
// CHECK: %[[TOP:.*]] = halide.func "top"
// CHECK: halide.func "merged_inverse"
// CHECK:   halide.at %sink
// CHECK:   halide.store_beside %{{.*}}, %{{.*}} to %{{.*}} : f32, f16
// CHECK: halide.output %[[LSE]] [?, ?, ?] : <f16, 3>
// CHECK-NOT: halide.pipeline
// CHECK: func.func @splits(

// GPU-LABEL: halide.pipeline @splits_attention_0
// GPU: halide.func "partial"
// GPU: halide.func "context"
// GPU:   halide.store_beside %{{.*}} to %{{.*}} where
func.func @splits(%q: tensor<1x4x1x64xf16>, %k: tensor<1x2x?x64xf16>, %sink: tensor<1x4x1xf16>)
    -> (tensor<1x4x1x64xf16>, tensor<1x4x1xf16>) {
  %c, %l = attn.attention %q, %k, %k scale(0.125) sink(%sink : tensor<1x4x1xf16>)
      : tensor<1x4x1x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16> -> tensor<1x4x1x64xf16>, tensor<1x4x1xf16>
  return %c, %l : tensor<1x4x1x64xf16>, tensor<1x4x1xf16>
}
