// RUN: attn-opt %s | attn-opt | FileCheck %s

// CHECK-LABEL: func @unfused
func.func @unfused(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>) -> tensor<?x8x?x?xf32> {
  // CHECK: attn.score %{{.*}}, %{{.*}} scale(1.250000e-01)
  %s = attn.score %q, %k scale(0.125) : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  // CHECK: attn.softmax
  %p = attn.softmax %s : tensor<?x8x?x?xf32>
  return %p : tensor<?x8x?x?xf32>
}
