// RUN: attn-opt %s --attn-pipeline | FileCheck %s

// The host function checks dynamic sizes before it calls any pipeline.
// CHECK-LABEL: func.func @open(
// CHECK: host.require %{{.*}}, "expected batch of query and key of attn.score to match, found {} (dim 0 of arg0) and {} (dim 0 of arg1)"
// CHECK: host.require %{{.*}}, "expected num_q_heads of attn.score to be a multiple of num_kv_heads"
// CHECK: host.require %{{.*}}, "expected head_dim of query and key of attn.score to match, found {} (dim 3 of arg0) and {} (dim 3 of arg1)"
// CHECK: host.call
func.func @open(%q: tensor<?x?x?x?xf32>, %k: tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32> {
  %s = attn.score %q, %k : tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32> -> tensor<?x?x?x?xf32>
  return %s : tensor<?x?x?x?xf32>
}

// Nothing is left to check where the sizes are those of one tensor, or known.
// CHECK-LABEL: func.func @closed(
// CHECK-NOT: host.require
func.func @closed(%x: tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32> {
  %s = attn.score %x, %x : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x?xf32>
  %p = attn.softmax %s : tensor<?x2x?x?xf32>
  %c = attn.context %p, %x : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x8xf32>
  return %c : tensor<?x2x?x8xf32>
}
