// A pair of a key is read and broadcast by one instruction, sums stay in registers, and numerators
// are rounded two vectors at a time.
// RUN: attnc compile %s --function prefill --emit assembly --target x86-64-linux-avx512_zen4 -o - | FileCheck %s
// RUN: attnc explain %s --function prefill --target x86-64-linux-avx512_zen4 | FileCheck %s --check-prefix=ZEN4

// CHECK: dot.s1.rd
// CHECK-NOT: vmovaps{{.*}}%zmm{{[0-9]+}}, {{[0-9]*}}(%rsp)
// CHECK: vbroadcastss {{.*}}(%r{{.*}}), %zmm
// CHECK-NOT: vmovaps{{.*}}%zmm{{[0-9]+}}, {{[0-9]*}}(%rsp)
// CHECK: vdpbf16ps
// CHECK-NOT: vmovaps{{.*}}%zmm{{[0-9]+}}, {{[0-9]*}}(%rsp)
// CHECK: jne
// CHECK: vcvtne2ps2bf16
// WIDENED-NOT: vdpbf16ps
// ZEN4: kernel prefill_attention_0: #attn.prefill<{{.*}}, products = bf16_pairs>
// ZEN4-NEXT: products of bf16 pairs by vdpbf16ps

// A schedule may ask for what the target lacks, and for what it has but does not prefer.
// RUN: attnc compile %s --function prefill --emit fused --target x86-64-linux-avx512_zen4 -o - > %t.mlir
// RUN: attnc compile %t.mlir --emit assembly --target x86-64-linux-avx512_skylake -o - | FileCheck %s --check-prefix=WIDENED
// RUN: attnc explain %t.mlir --target x86-64-linux-avx512_skylake | FileCheck %s --check-prefix=LACKS
// RUN: attnc compile %t.mlir --emit assembly --target x86-64-linux-avx512_sapphirerapids -o - | FileCheck %s

// On Sapphire Rapids products of a KV block take tiles of AMX, and sums of numerators no vdpbf16ps, which is slower there than f32.
// RUN: attnc compile %s --function prefill --emit assembly --target x86-64-linux-avx512_sapphirerapids -o - | FileCheck %s --check-prefix=TILES
// RUN: attnc explain %s --function prefill --target x86-64-linux-avx512_sapphirerapids | FileCheck %s --check-prefix=AMX
// RUN: attnc compile %s --function prefill --emit fused --target x86-64-linux-avx512_sapphirerapids -o - > %t-amx.mlir
// RUN: attnc explain %t-amx.mlir --target x86-64-linux-avx512_zen4 | FileCheck %s --check-prefix=NO-AMX
// RUN: attnc compile %t-amx.mlir --emit halide --target riscv-64-linux -o - | FileCheck %s --check-prefix=NO-CODE
// RUN: attnc compile %t-amx.mlir --emit halide --target x86-64-linux-avx512_sapphirerapids -o - | FileCheck %s --check-prefix=MASKED
// MASKED: halide.func "dot"
// MASKED-NOT: halide.func "score"
// MASKED: halide.func "max"
// TILES: attnc_multiply_tiles
// TILES-NOT: vdpbf16ps
// TILES: vcvtne2ps2bf16
// TILES-NOT: vdpbf16ps
// TILES: attnc_multiply_tiles
// TILES: vcvtne2ps2bf16{{[[:space:]]+}}[[ROUNDED:%zmm[0-9]+]], [[ROUNDED]],
// AMX: kernel prefill_attention_0: #attn.prefill<{{.*}}, products = bf16_tiles>
// AMX-NEXT: products of bf16 tiles by AMX (tdpbf16ps)
// NO-AMX: products of bf16 tiles by AMX (tdpbf16ps) where a call finds it, else in f32, as the target lacks it
// NO-CODE-NOT: halide.dot_bf16_tiles
// NO-CODE: halide.dot_bf16_pair
// LACKS: products of bf16 pairs in f32, as the target lacks vdpbf16ps

func.func @prefill(%query: tensor<1x8x2048x64xbf16>, %key: tensor<1x8x2048x64xbf16>, %value: tensor<1x8x2048x64xbf16>)
    -> tensor<1x8x2048x64xbf16> {
  %score = attn.score %query, %key scale(0.125) : tensor<1x8x2048x64xbf16>, tensor<1x8x2048x64xbf16> -> tensor<1x8x2048x2048xbf16>
  %prob = attn.softmax %score : tensor<1x8x2048x2048xbf16>
  %context = attn.context %prob, %value : tensor<1x8x2048x2048xbf16>, tensor<1x8x2048x64xbf16> -> tensor<1x8x2048x64xbf16>
  return %context : tensor<1x8x2048x64xbf16>
}

// In a step, pairs of a key's dims are read as they lie in memory, and two values are paired by one shuffle.
// RUN: attnc compile %s --function step --emit assembly --target x86-64-linux-avx512_zen4 -o - | FileCheck %s --check-prefix=STEP
// RUN: attnc explain %s --function step --target x86-64-linux-avx512_zen4 | FileCheck %s --check-prefix=STEP-ZEN4
// STEP: dot_partial.s1.rd
// STEP-NOT: vpmovzxwd
// STEP: vdpbf16ps
// STEP: product.s1.rk
// STEP-NOT: vpmovzxwd
// STEP: vpermt2w
// STEP-NOT: vpmovzxwd
// STEP: vdpbf16ps
// STEP: jne
// STEP-ZEN4: kernel step_attention_0: #attn.decode<{{.*}}, products = bf16_pairs{{.*}}>
// STEP-ZEN4-NEXT: products of bf16 pairs by vdpbf16ps
func.func @step(%query: tensor<1x8x1x128xbf16>, %key: tensor<1x2x4096x128xbf16>, %value: tensor<1x2x4096x128xbf16>)
    -> tensor<1x8x1x128xbf16> {
  %score = attn.score %query, %key scale(0.09) : tensor<1x8x1x128xbf16>, tensor<1x2x4096x128xbf16> -> tensor<1x8x1x4096xbf16>
  %prob = attn.softmax %score : tensor<1x8x1x4096xbf16>
  %context = attn.context %prob, %value : tensor<1x8x1x4096xbf16>, tensor<1x2x4096x128xbf16> -> tensor<1x8x1x128xbf16>
  return %context : tensor<1x8x1x128xbf16>
}
