// CUDA's driver limits the registers of Halide's kernels unless they state their number of threads.
// RUN: rm -rf %t && attnc compile %s -o %t --target x86-64-linux-cuda --emit device_code,stmt
// RUN: cat %t/*.ptx | FileCheck %s
// RUN: cat %t/*.stmt | FileCheck %s --check-prefix=LAUNCH
// CHECK: .entry _kernel_context{{.*}}(
// CHECK: )
// CHECK-NEXT: .maxntid 8, 8, 1
// No kernel without blocks is launched.
// LAUNCH: if (0 < {{.*}}context.extent.3
// LAUNCH-NEXT: halide_cuda_run({{.*}}, 8, 8, 1,

!t = tensor<?x2x100x64xf32>
func.func @attention(%query: !t, %key: !t, %value: !t) -> (!t {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.125) : !t, !t -> tensor<?x2x100x100xf32>
  %prob = attn.softmax %score : tensor<?x2x100x100xf32>
  %context = attn.context %prob, %value : tensor<?x2x100x100xf32>, !t -> !t
  return %context : !t
}
