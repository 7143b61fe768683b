// RUN: attn-opt %s --attn-pipeline | FileCheck %s
// RUN: attn-opt %s --attn-pipeline=target=x86-64-linux-opencl | FileCheck %s --check-prefix=GPU

// Offsets are checked, then each kernel that serves a sequence computes those that it serves: it
// scatters the rows that they have, into the result's own memory. No padded tensor is allocated.
// CHECK-LABEL: halide.pipeline @ragged_wrong_offsets_0
// CHECK-LABEL: halide.pipeline @ragged_attention
// CHECK: halide.func "blocks_before"
// CHECK: halide.update %context[%d] over [%rp min %{{.*}}, %ri min %{{.*}}, %rq min %{{.*}}, %rh min
// CHECK-LABEL: func.func @ragged(
// CHECK-NOT: memref.alloc() : memref<?x
// CHECK: %[[PLACE:.*]] = memref.transpose %{{.*}}
// CHECK: host.require %{{.*}}, "expected element {} of the offsets of attn.attention to be 0 first, not to decrease, and the number of rows last"(%{{.*}})
// CHECK: host.call @ragged_served_sequences_1({{[^,]*}}, %[[SERVED:[^)]*]])
// CHECK: %[[STEPS:.*]] = host.load %[[SERVED]][%c0]
// CHECK: %[[HAS_STEPS:.*]] = arith.cmpi sgt, %[[STEPS]], %c0_i32
// CHECK: %[[CALLS_STEPS:.*]] = arith.andi %{{.*}}, %[[HAS_STEPS]]
// CHECK: host.call @ragged_attention_2({{[^)]*}}) if(%[[CALLS_STEPS]])
// CHECK: %[[CHUNKS:.*]] = host.load %[[SERVED]][%c1]
// CHECK: host.call @ragged_attention_3({{[^)]*}}) if(
// CHECK-NOT: host.call @ragged_copy
// CHECK: return

// On a GPU, the tables of query blocks are kernels of their own, ahead of one whose blocks of threads
// store the rows that they have.
// GPU-LABEL: halide.pipeline @ragged_attention_2
// GPU: %[[BEFORE:.*]] = halide.func "blocks_before"
// GPU: %[[CONTEXT:.*]] = halide.func "context"
// GPU: %[[D:.*]], %[[ROW:.*]], %[[HEAD:.*]], %[[BLOCK:.*]], %[[HEADS:.*]] = halide.loops %[[CONTEXT]] update 0
// GPU: halide.gpu_block %[[BLOCK]]
// GPU: halide.gpu_block %[[HEADS]]
// GPU: halide.compute_root %[[BEFORE]]
// GPU: halide.gpu_single_thread %[[BEFORE]] update 0
func.func @ragged(%rows: tensor<?x4x64xf32>, %k: tensor<?x2x?x64xf32>, %o: tensor<?xi32>) -> tensor<?x4x64xf32> {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x4x64xf32>, tensor<?xi32>
  %s = attn.score %q, %k : tensor<?x4x?x64xf32>, tensor<?x2x?x64xf32>
  %p = attn.softmax %s : tensor<?x4x?x?xf32>
  %c = attn.context %p, %k : tensor<?x4x?x?xf32>, tensor<?x2x?x64xf32>
  %r = attn.pack_rows %c offsets(%o) : tensor<?x4x?x64xf32>, tensor<?xi32>
  return %r : tensor<?x4x64xf32>
}

// Of packed keys, KV splits are as many as all keys ask for; those that the mask leaves without keys
// are neither computed nor merged.
// CHECK-LABEL: halide.pipeline @packed_keys_attention_3
// CHECK: %[[USED:.*]] = halide.func "used_splits"
// CHECK: %[[OF_USED:.*]] = halide.func "partial_of_used"
// CHECK: %[[PARTIAL:.*]] = halide.func "partial"
// CHECK: halide.update %[[PARTIAL]]
// CHECK: halide.at %[[USED]]
// CHECK: halide.yield %{{.*}} where %{{.*}} : f32
// CHECK: halide.func "top"
// CHECK: halide.at %[[USED]]
// CHECK: halide.func "merged"
// CHECK: halide.at %[[USED]]
// CHECK: halide.compute_at %[[OF_USED]]
func.func @packed_keys(%rows: tensor<?x4x64xf32>, %keys: tensor<?x2x64xf32>, %o: tensor<?xi32>, %ko: tensor<?xi32>) -> tensor<?x4x64xf32> {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x4x64xf32>, tensor<?xi32> -> tensor<?x4x?x64xf32>
  %k = attn.unpack_rows %keys offsets(%ko) : tensor<?x2x64xf32>, tensor<?xi32> -> tensor<?x2x?x64xf32>
  %s = attn.score %q, %k : tensor<?x4x?x64xf32>, tensor<?x2x?x64xf32>
  %m = attn.mask %s causal(bottom_right) q_offsets(%o : tensor<?xi32>) kv_offsets(%ko : tensor<?xi32>) : tensor<?x4x?x?xf32>
  %p = attn.softmax %m : tensor<?x4x?x?xf32>
  %c = attn.context %p, %k : tensor<?x4x?x?xf32>, tensor<?x2x?x64xf32>
  %r = attn.pack_rows %c offsets(%o) : tensor<?x4x?x64xf32>, tensor<?xi32>
  return %r : tensor<?x4x64xf32>
}
