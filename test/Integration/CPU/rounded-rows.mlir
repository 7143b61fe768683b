// Elements beside an i64 are computed, and rounded to bf16, in vectors of 8; the instruction rounds 16.
// RUN: attnc verify %s | FileCheck %s
// RUN: attnc compile %s -o %t --target x86-64-linux-avx512_zen4
// RUN: attnc compile %s -o %t --target x86-64-linux-avx512_sapphirerapids
// CHECK: cases, all within the allowed error

func.func @rows(%a: tensor<49x2x40xbf16>, %b: tensor<40xi64>) -> tensor<49x2x40xbf16> {
  %r = attn.map %a, %b {
  ^bb0(%x: bf16, %wide: i64):
    %high = arith.constant 0.75 : bf16
    %low = arith.minimumf %x, %high : bf16
    %size = math.absf %low : bf16
    %one = arith.constant 1.0 : bf16
    %sum = arith.addf %size, %one : bf16
    %root = math.rsqrt %sum : bf16
    attn.yield %root : bf16
  } : tensor<49x2x40xbf16>, tensor<40xi64> -> tensor<49x2x40xbf16>
  return %r : tensor<49x2x40xbf16>
}
