// Linear layers of bf16 multiply pairs, a pair of the input broadcast by one instruction and sums in registers;
// f16 is widened by the processor's instruction.
// RUN: attnc compile %s --function pairs --emit assembly --target x86-64-linux-avx512_zen4 -o - | FileCheck %s
// RUN: attnc compile %s --function pairs --emit assembly --target x86-64-linux-avx512_sapphirerapids -o - | FileCheck %s --check-prefix=WIDENED
// RUN: attnc explain %s --function pairs --target x86-64-linux-avx512_zen4 | FileCheck %s --check-prefix=ZEN4
// CHECK: s1.k
// CHECK-NOT: (%rsp)
// CHECK: vbroadcastss (%r
// CHECK-NOT: (%rsp)
// CHECK-COUNT-24: vdpbf16ps
// CHECK-NOT: (%rsp)
// CHECK: jne
// WIDENED-NOT: vdpbf16ps

// On Sapphire Rapids tiles of AMX, four of which share what they load, packed in a library.
// RUN: attnc explain %s --function pairs --target x86-64-linux-avx512_sapphirerapids | FileCheck %s --check-prefix=AMX
// RUN: rm -rf %t && attnc compile %s --function pairs --target x86-64-linux-avx512_sapphirerapids -o %t && llvm-objdump -d --no-show-raw-insn %t/libpairs.a | grep -E 'tile|tdp' | FileCheck %s --check-prefix=TILES
// RUN: llvm-objdump -d --no-show-raw-insn %t/libpairs.a | FileCheck %s --check-prefix=RELEASE
// RUN: attnc compile %s --function pairs --target x86-64-linux-avx512_zen4 -o %t && llvm-objdump -d --no-show-raw-insn %t/libpairs.a | FileCheck %s --check-prefix=NO-TILES --implicit-check-not=tile
// AMX: kernel pairs_linear_0: #attn.linear<{{.*}}, products = bf16_tiles>
// AMX-NEXT: products of bf16 tiles by AMX (tdpbf16ps)
// TILES: ldtilecfg
// TILES: tileloadd {{.*}}, %tmm4
// TILES-NEXT: tileloadd {{.*}}, %tmm6
// TILES: tdpbf16ps %tmm6, %tmm4, %tmm0
// TILES-NEXT: tileloadd {{.*}}, %tmm7
// TILES-NEXT: tdpbf16ps %tmm7, %tmm4, %tmm1
// TILES-NEXT: tileloadd {{.*}}, %tmm5
// TILES-NEXT: tdpbf16ps %tmm6, %tmm5, %tmm2
// TILES-NEXT: tdpbf16ps %tmm7, %tmm5, %tmm3
// TILES: tilestored
// RELEASE: tilerelease
// NO-TILES: vdpbf16ps

// ZEN4: kernel pairs_linear_0: #attn.linear<row_tile = 6, {{.*}}, products = bf16_pairs>
// ZEN4-NEXT: products of bf16 pairs by vdpbf16ps

// A schedule may ask for what the target lacks.
// RUN: attnc compile %s --function pairs --emit fused --target x86-64-linux-avx512_zen4 -o - > %t.mlir
// RUN: attnc compile %t.mlir --emit assembly --target x86-64-linux-avx512_skylake -o - | FileCheck %s --check-prefix=WIDENED
// RUN: attnc explain %t.mlir --target x86-64-linux-avx512_skylake | FileCheck %s --check-prefix=LACKS
// LACKS: products of bf16 pairs in f32, as the target lacks vdpbf16ps
func.func @pairs(%x: tensor<64x128xbf16>, %bias: tensor<192xbf16>) -> tensor<64x192xbf16> {
  %w = arith.constant dense<0.5> : tensor<192x128xbf16>
  %y = attn.linear %x, %w, %bias : tensor<64x128xbf16>, tensor<192x128xbf16>, tensor<192xbf16> -> tensor<64x192xbf16>
  return %y : tensor<64x192xbf16>
}

// RUN: attnc compile %s --function halves --emit assembly --target x86-64-linux-avx2-f16c-fma -o - | FileCheck %s --check-prefix=F16C --implicit-check-not "vpslld{{.*}}$13,"
// RUN: attnc verify %s --function halves --target x86-64-linux-avx2-f16c-fma | FileCheck %s --check-prefix=RIGHT
// F16C: vcvtph2ps
func.func @halves(%x: tensor<64x128xf16>) -> tensor<64x192xf16> {
  %w = arith.constant dense<0.5> : tensor<192x128xf16>
  %y = attn.linear %x, %w : tensor<64x128xf16>, tensor<192x128xf16> -> tensor<64x192xf16>
  return %y : tensor<64x192xf16>
}

// Tests for NaN and infinities after the product of one element are kept.
// RUN: attnc verify %s --function tested --target x86-64-linux-avx2-f16c-fma | FileCheck %s --check-prefix=RIGHT
// RIGHT: cases, all within the allowed error
func.func @tested(%x: tensor<64x1xf16>, %w: tensor<32x1xf16>) -> tensor<64x32xf16> {
  %y = attn.linear %x, %w : tensor<64x1xf16>, tensor<32x1xf16> -> tensor<64x32xf16>
  %z = attn.map %y {
  ^bb0(%a: f16):
    %zero = arith.constant 0.0 : f16
    %isNaN = arith.cmpf uno, %a, %a : f16
    %r = arith.select %isNaN, %zero, %a : f16
    attn.yield %r : f16
  } : tensor<64x32xf16> -> tensor<64x32xf16>
  return %z : tensor<64x32xf16>
}
