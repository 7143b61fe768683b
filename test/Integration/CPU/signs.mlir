// A sign taken over where a select keeps the number it is of, and rounding in between.

// RUN: attnc verify %s --function select | FileCheck %s
// RUN: attnc verify %s --function round | FileCheck %s
// RUN: attnc verify %s --function round --target x86-64-linux | FileCheck %s
// RUN: attnc verify %s --function round --target x86-64-linux-avx2-fma | FileCheck %s
// CHECK: cases, all within the allowed error

// CPUs with AVX-512 round by one instruction, also where the target names no other feature.
// RUN: attnc compile %s --function round -o %t --target x86-64-linux-avx512_skylake --emit stmt
// RUN: FileCheck %s --check-prefix=STMT --input-file %t/round.stmt
// STMT-NOT: 8388608

func.func @select(%x: tensor<16xf32>) -> tensor<16xi32> {
  %y = attn.map %x {
  ^bb0(%a: f32):
    %bound = arith.constant 1.7 : f32
    %magnitude = math.absf %a : f32
    %isSmall = arith.cmpf olt, %magnitude, %bound : f32
    %floor = math.floor %a : f32
    %signed = math.copysign %floor, %a : f32
    %either = arith.select %isSmall, %signed, %a : f32
    %whole = arith.fptosi %either : f32 to i32
    attn.yield %whole : i32
  } : tensor<16xf32> -> tensor<16xi32>
  return %y : tensor<16xi32>
}

func.func @round(%x: tensor<16xf32>) -> tensor<16xi32> {
  %y = attn.map %x {
  ^bb0(%a: f32):
    %round = math.roundeven %a : f32
    %whole = arith.fptosi %round : f32 to i32
    attn.yield %whole : i32
  } : tensor<16xf32> -> tensor<16xi32>
  return %y : tensor<16xi32>
}
