// Rows of few elements, rounded to bf16: vectors of any length.
// RUN: attnc verify %s | FileCheck %s
// RUN: attnc compile %s -o %t --target x86-64-linux-avx512_zen4
// RUN: attnc compile %s -o %t --target x86-64-linux-avx512_sapphirerapids
// CHECK: cases, all within the allowed error

func.func @rows(%a: tensor<3x8xf32>, %b: tensor<3x2xf32>, %c: tensor<5x1xf32>, %d: tensor<2x24xf32>)
    -> (tensor<3x8xbf16>, tensor<3x2xbf16>, tensor<5x1xbf16>, tensor<2x24xbf16>) {
  %x = arith.truncf %a : tensor<3x8xf32> to tensor<3x8xbf16>
  %y = arith.truncf %b : tensor<3x2xf32> to tensor<3x2xbf16>
  %z = arith.truncf %c : tensor<5x1xf32> to tensor<5x1xbf16>
  %w = arith.truncf %d : tensor<2x24xf32> to tensor<2x24xbf16>
  return %x, %y, %z, %w : tensor<3x8xbf16>, tensor<3x2xbf16>, tensor<5x1xbf16>, tensor<2x24xbf16>
}
