// RUN: attn-opt %s --attn-pipeline='target=x86-64-linux-cuda-cuda_capability_80' | FileCheck %s

// A kernel for few rows, and one for many, each with the bias and the map that follows; rows are those
// of both outer dimensions.
// CHECK: cuda.kernel @layer_linear_0 names(["input", "weight", "bias", "operand", "result"])
// CHECK-SAME: num_inputs(4) blocks({{\[\[}}0, 0, 2, 16], [1, 0, 1, 64]]) threads(128) shared_bytes(40960)
// CHECK: cuda.kernel @layer_linear_1
// CHECK-SAME: blocks({{\[\[}}0, 0, 2, 128], [1, 0, 1, 128]]) threads(128) shared_bytes(49152)
// Two slices are on their way before the loop.
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.commit.group
// CHECK: scf.for
// CHECK: nvvm.cp.async.wait.group 1
// CHECK: nvvm.barrier
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>
// CHECK: nvvm.mma.sync {{.*}}#nvvm.mma_type<bf16>
// CHECK-NOT: nvvm.barrier
// CHECK: cuda.return
func.func @layer(%x: tensor<?x?x64xbf16>, %w: tensor<?x64xbf16>, %b: tensor<?xbf16>, %r: tensor<?x?x?xbf16>) -> tensor<?x?x?xbf16> {
  %y = attn.linear %x, %w, %b : tensor<?x?x64xbf16>, tensor<?x64xbf16>, tensor<?xbf16> -> tensor<?x?x?xbf16>
  %z = attn.map %y, %r {
  ^bb0(%p: bf16, %q: bf16):
    %s = arith.addf %p, %q : bf16
    attn.yield %s : bf16
  } : tensor<?x?x?xbf16>, tensor<?x?x?xbf16> -> tensor<?x?x?xbf16>
  return %z : tensor<?x?x?xbf16>
}
