// Keys, values and queries of f16 are widened by the processor's instruction where it has one, and
// from their bits elsewhere; both give the same numbers.
// RUN: attnc compile %s --emit assembly --target x86-64-linux-avx2-f16c-fma -o - | FileCheck %s --implicit-check-not "vpslld{{.*}}$13,"
// CHECK-COUNT-4: vcvtph2ps
// RUN: attnc compile %s --emit assembly --target x86-64-linux-avx2-fma -o - | FileCheck %s --check-prefix=BITS --implicit-check-not vcvtph2ps
// BITS: vpslld{{.*}}$13,
// RUN: attnc verify %s --target x86-64-linux-avx2-f16c-fma | FileCheck %s --check-prefix=RIGHT
// RUN: attnc verify %s --target x86-64-linux-sse41 | FileCheck %s --check-prefix=RIGHT
// RIGHT: cases, all within the allowed error

!query = tensor<1x4x1x64xf16>
!heads = tensor<1x2x?x64xf16>
func.func @decode(%query: !query, %key: !heads, %value: !heads) -> !query {
  %score = attn.score %query, %key scale(0.125) : !query, !heads
  %prob = attn.softmax %score : tensor<1x4x1x?xf16>
  %context = attn.context %prob, %value : tensor<1x4x1x?xf16>, !heads
  return %context : !query
}
