// RUN: attn-opt %s --attn-pipeline='target=x86-64-linux-cuda-cuda_capability_90' | FileCheck %s

// Layouts without tensor maps have a kernel of their own, of the same buffers.
// CHECK: cuda.kernel @causal_attention_0_any_layout names(["query", "key", "value", "context"])
// CHECK-SAME: threads(128)
// CHECK: cuda.kernel @causal_attention_0 names(["query", "key", "value", "context"])
// CHECK-SAME: blocks({{\[\[}}0, 2, 1, 128], [0, 1, 1, 1], [0, 0, 1, 1]]) threads(384) shared_bytes(163912)
// CHECK-SAME: tensor_maps({{\[\[}}0, 1, 1, 128, 64], [1, 1, 1, 128, 64], [2, 1, 1, 128, 64]]) fallback(@causal_attention_0_any_layout)
// CHECK: mbarrier.init
// CHECK: fence.mbarrier_init
// One thread copies.
// CHECK: nvvm.setmaxregister decrease 24
// CHECK: mbarrier.arrive.expect_tx{{.*}}, 32768;
// CHECK-COUNT-2: cp.async.bulk.tensor.4d
// CHECK: scf.for
// CHECK: mbarrier.try_wait.parity
// CHECK-COUNT-2: cp.async.bulk.tensor.4d
// CHECK: mbarrier.try_wait.parity
// CHECK-COUNT-2: cp.async.bulk.tensor.4d
// The others multiply: in a step the block's keys, then the last block's values.
// CHECK: nvvm.setmaxregister increase 240
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK: scf.for
// CHECK: nvvm.barrier
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}}, 0, 1, 1, 0, 0;
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}}, 1, 1, 1, 1;
// CHECK: bar.arrive
// CHECK: wgmma.wait_group.sync.aligned 1
// CHECK: llvm.nvvm.ex2.approx.ftz.f
// CHECK: wgmma.wait_group.sync.aligned 0
!t = tensor<?x4x?x128xbf16>
func.func @causal(%q: !t, %k: !t, %v: !t) -> !t {
  %c = attn.attention %q, %k, %v scale(0.125) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %seen = arith.cmpi sle, %j, %i : index
    attn.yield %seen : i1
  } schedule([#attn.wgmma<q_block = 128, kv_block = 128, stages = 2>]) : !t, !t, !t -> !t
  return %c : !t
}

// Two layers share both kernels.
// CHECK-NOT: cuda.kernel @twice_attention_1
func.func @twice(%q: !t) -> !t {
  %a = attn.attention %q, %q, %q schedule([#attn.wgmma<q_block = 128, kv_block = 128, stages = 2>]) : !t, !t, !t -> !t
  %b = attn.attention %a, %a, %a schedule([#attn.wgmma<q_block = 128, kv_block = 128, stages = 2>]) : !t, !t, !t -> !t
  return %b : !t
}
