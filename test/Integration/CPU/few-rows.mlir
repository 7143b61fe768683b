// Scores outside of a fused attention. Up to three rows read keys where they are, eight at a time;
// more read copies, by squares of lanes where dims fill them.

// RUN: attnc verify %s --function no_rows | FileCheck %s
// RUN: attnc verify %s --function one_row --size keys=0,1,8,37 | FileCheck %s
// RUN: attnc verify %s --function three_rows --size keys=0,7,20 | FileCheck %s
// RUN: attnc verify %s --function more_rows --size rows=1,4,13 --size keys=0,5,70 | FileCheck %s
// RUN: attnc verify %s --function odd_dims --size keys=0,33 | FileCheck %s
// CHECK: cases, all within the allowed error

func.func @no_rows(%q: tensor<1x4x0x16xf32>, %k: tensor<1x2x70x16xf32>) -> tensor<1x4x0x70xf32> {
  %s = attn.score %q, %k : tensor<1x4x0x16xf32>, tensor<1x2x70x16xf32>
  return %s : tensor<1x4x0x70xf32>
}

func.func @one_row(%q: tensor<2x4x1x64xf32>, %k: tensor<2x2x?x64xf32> {attn.name = "k", attn.dims = [2, 2, "keys", 64]}) -> tensor<2x4x1x?xf32> {
  %s = attn.score %q, %k scale(0.125) : tensor<2x4x1x64xf32>, tensor<2x2x?x64xf32>
  return %s : tensor<2x4x1x?xf32>
}

func.func @three_rows(%q: tensor<1x2x3x160xf16>, %k: tensor<1x2x?x160xf16> {attn.name = "k", attn.dims = [1, 2, "keys", 160]}) -> tensor<1x2x3x?xf16> {
  %s = attn.score %q, %k scale(0.125) : tensor<1x2x3x160xf16>, tensor<1x2x?x160xf16>
  return %s : tensor<1x2x3x?xf16>
}

func.func @more_rows(%q: tensor<1x2x?x32xf64> {attn.name = "q", attn.dims = [1, 2, "rows", 32]}, %k: tensor<1x2x?x32xf64> {attn.name = "k", attn.dims = [1, 2, "keys", 32]}) -> tensor<1x2x?x?xf64> {
  %s = attn.score %q, %k : tensor<1x2x?x32xf64>, tensor<1x2x?x32xf64>
  return %s : tensor<1x2x?x?xf64>
}

func.func @odd_dims(%q: tensor<1x2x2x17xf32>, %k: tensor<1x2x?x17xf32> {attn.name = "k", attn.dims = [1, 2, "keys", 17]}) -> tensor<1x2x2x?xf32> {
  %s = attn.score %q, %k : tensor<1x2x2x17xf32>, tensor<1x2x?x17xf32>
  return %s : tensor<1x2x2x?xf32>
}
