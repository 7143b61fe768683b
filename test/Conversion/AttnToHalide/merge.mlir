// RUN: attn-opt %s --convert-attn-to-halide --canonicalize --cse | FileCheck %s
// RUN: attn-opt %s --convert-attn-to-halide=target=x86-64-linux-opencl --halide-map-to-gpu | FileCheck %s --check-prefix=GPU

// One kernel with two outputs reads each context once; the factors of a row are computed before it.

// CHECK-LABEL: halide.pipeline @merge_merge_0
// CHECK: %[[A:.*]] = halide.func "factor_a" [%q, %head, %batch] : f32
// CHECK: %[[B:.*]] = halide.func "factor_b" [%q, %head, %batch] : f32
// CHECK: %[[CONTEXT:.*]] = halide.func "context" [%d, %q, %head, %batch] : f16
// CHECK: %[[LSE:.*]] = halide.func "lse" [%q, %head, %batch] : f32
// CHECK: halide.output %[[CONTEXT]] [64, ?, 8, ?] : <f16, 4>
// CHECK: halide.output %[[LSE]] [?, 8, ?] : <f32, 3>
// CHECK-DAG: halide.compute_at %[[A]]
// CHECK-DAG: halide.compute_at %[[B]]
// CHECK: func.func @merge(
// CHECK: host.call @merge_merge_0

// On a GPU a thread computes the factors that its element needs.

// GPU-LABEL: halide.pipeline @merge_merge_0
// GPU-COUNT-2: halide.gpu_block
// GPU-NOT: halide.gpu_block
// GPU: func.func @merge(
func.func @merge(%ca: tensor<?x8x?x64xf16>, %la: tensor<?x8x?xf32>, %cb: tensor<?x8x?x64xf16>, %lb: tensor<?x8x?xf32>)
    -> (tensor<?x8x?x64xf16>, tensor<?x8x?xf32>) {
  %c, %l = attn.merge %ca, %la, %cb, %lb : tensor<?x8x?x64xf16>, tensor<?x8x?xf32>
  return %c, %l : tensor<?x8x?x64xf16>, tensor<?x8x?xf32>
}
