// RUN: attn-opt %s --attn-pipeline='target=x86-64-linux-cuda-cuda_capability_80' | FileCheck %s

// The kernel reads each tensor that a region captures, and writes context and lse.
// CHECK: cuda.kernel @masked_attention_0 names(["query", "key", "value", "captured", "context", "lse"])
// CHECK-SAME: num_inputs(4) blocks({{\[\[}}0, 2, 1, 64], [0, 1, 1, 1], [0, 0, 1, 1]]) threads(128) shared_bytes(24576)
// Queries and the first keys, before the loop.
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: nvvm.barrier
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>
// CHECK: scf.for
// Values are on their way while keys are multiplied.
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: nvvm.barrier
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.mma.sync {{.*}}#nvvm.mma_type<bf16>
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: nvvm.barrier
// CHECK: llvm.nvvm.ex2.approx.ftz.f
// CHECK: nvvm.vote.sync any
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>
// CHECK: nvvm.mma.sync
!t = tensor<?x4x?x64xbf16>
func.func @masked(%q: !t, %k: !t, %v: !t, %lengths: tensor<?xi32>) -> (!t, tensor<?x4x?xf32>) {
  %c, %lse = attn.attention %q, %k, %v scale(0.125) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %length = tensor.extract %lengths[%b] : tensor<?xi32>
    %n = arith.index_cast %length : i32 to index
    %seen = arith.cmpi slt, %j, %n : index
    attn.yield %seen : i1
  } schedule([#attn.mma<q_block = 64, kv_block = 64>]) : !t, !t, !t -> !t, tensor<?x4x?xf32>
  return %c, %lse : !t, tensor<?x4x?xf32>
}
