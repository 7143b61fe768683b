// What the main loops of kernels for tensor cores cost, by NVIDIA's tools, and without them.

// DEFINE: %{explain} = attnc explain %s --target x86-64-linux-cuda-cuda_capability_80
// RUN: env PTXAS=%ptxas NVDISASM=%nvdisasm %{explain} | FileCheck %s
// RUN: env PTXAS=%ptxas NVDISASM=%nvdisasm %{explain} --json | FileCheck %s --check-prefix=JSON
// RUN: env PTXAS=no-such-ptxas NVDISASM=%nvdisasm %{explain} | FileCheck %s --check-prefix=NONE
// RUN: env PTXAS=false NVDISASM=%nvdisasm %{explain} 2>&1 | FileCheck %s --check-prefix=FAILS
// RUN: env PTXAS=%ptxas NVDISASM=%nvdisasm attnc explain %s --target x86-64-linux-cuda-cuda_capability_86 \
// RUN:   | FileCheck %s --check-prefix=ADA
// RUN: env PTXAS=%ptxas NVDISASM=%nvdisasm attnc explain %s --target x86-64-linux-cuda-cuda_capability_90 \
// RUN:   | FileCheck %s --check-prefix=HOPPER

// CHECK: kernel attention_attention_0: #attn.mma<q_block = 64, kv_block = 64>
// CHECK: on A100 (sm_80): a step of the main loop has {{3[0-9][0-9]}} instructions, 128 of them products ({{3\.[0-9]+}} each); at most 312 TFLOP/s, by tensor cores
// CHECK-NEXT: on L40S (sm_89): a step of the main loop has {{[0-9]+}} instructions, 128 of them products
// CHECK-NEXT: on H100 SXM (sm_90a): a step of the main loop has {{[0-9]+}} instructions, 128 of them products
// CHECK-NOT: no bounds
// JSON: "main_loops": [
// JSON: "architecture": "sm_80"
// JSON-NEXT: "bound_tflops": 312
// JSON-NEXT: "gpu": "A100"
// JSON-NEXT: "instructions": {{[0-9]+}}
// JSON-NEXT: "limit": "tensor cores"
// JSON-NEXT: "products": 128
// JSON-NEXT: "special_functions": {{[1-9][0-9]*}}
// NONE-NOT: main loop
// NONE: no bounds of tensor cores: ptxas and nvdisasm are neither on the PATH nor named by PTXAS and NVDISASM
// FAILS: explain-bounds.mlir:[[#@LINE+14]]:{{[0-9]+}}: warning: no bounds: {{.*}}false:
// FAILS: kernel attention_attention_0
// ADA-NOT: A100
// ADA: on L40S (sm_89)
// A product of a warpgroup is 16 of a warp.
// HOPPER: #attn.wgmma<q_block = 128, kv_block = 128, stages = 2>
// HOPPER: on H100 SXM (sm_90a): a step of the main loop has {{3[0-9][0-9]}} instructions, 256 of them products

!heads = tensor<1x8x1024x128xbf16>
!scores = tensor<1x8x1024x1024xbf16>
func.func @attention(%query: !heads, %key: !heads, %value: !heads) -> !heads {
  %score = attn.score %query, %key scale(0.125) : !heads, !heads -> !scores
  %masked = attn.mask %score causal(top_left) : !scores
  %prob = attn.softmax %masked : !scores
  %context = attn.context %prob, %value : !scores, !heads -> !heads
  return %context : !heads
}
