// Linear layers of i8: by vpdpbusd where the host has it, else by products of 16 bits.

// DEFINE: %{verify} = attnc verify %s

// RUN: %{verify} --function open --size len=1,2,7,13,40 --size batch=0,1,2,17 | FileCheck %s
// RUN: %{verify} --function open --size len=1,2,13,40 --size batch=1,17 --target x86-64-linux-avx2-fma | FileCheck %s
// RUN: %{verify} --function open --size len=1,13 --size batch=1,17 --target x86-64-linux | FileCheck %s
// RUN: %{verify} --function unpacked --size rows=0,1,5,523 | FileCheck %s
// RUN: %{verify} --function unpacked --size rows=1,5 --target x86-64-linux | FileCheck %s
// RUN: %{verify} --function known --size batch=1,3 --size len=9 --size depth=7 | FileCheck %s
// RUN: %{verify} --function layer | FileCheck %s
// RUN: %{verify} --function row | FileCheck %s
// RUN: %{verify} --function open --size len=1,13 --size batch=17 --target host-opencl | FileCheck %s
// RUN: %python %S/linear-i8.py
// CHECK: cases, all within the allowed error

// RUN: attnc compile %s --function layer -o %t --target x86-64-linux-avx512_zen4 --emit assembly
// RUN: FileCheck %s --check-prefix=ZEN4 --input-file %t/layer.s
// ZEN4: vpdpbusd %zmm
// RUN: attnc compile %s --function layer -o %t --target x86-64-linux-avx2-fma --emit assembly
// RUN: FileCheck %s --check-prefix=AVX2 --input-file %t/layer.s
// AVX2: vpmaddwd %ymm

// One row, many rows, and rows of a long second dimension.
func.func @open(%x: tensor<?x?x7xi8> {attn.dims = ["len", "batch", 7]}) -> tensor<?x?x5xi32> {
  %w = arith.constant dense<[[-128, 127, -2, 3, 25, -1, 2], [1, 0, 5, -3, 125, 4, -2], [2, 1, -1, 1, -25, 1, 8],
                             [-1, 6, 1, 5, 2, 75, 1], [-128, -128, -128, -128, -128, -128, -128]]> : tensor<5x7xi8>
  %y = attn.linear %x, %w : tensor<?x?x7xi8>, tensor<5x7xi8> -> tensor<?x?x5xi32>
  return %y : tensor<?x?x5xi32>
}

// Weights packed in the call, more than a panel of them; more rows than a row block.
func.func @unpacked(%x: tensor<?x131xi8> {attn.dims = ["rows", 131]}, %w: tensor<75x131xi8>) -> tensor<?x75xi32> {
  %y = attn.linear %x, %w : tensor<?x131xi8>, tensor<75x131xi8> -> tensor<?x75xi32>
  return %y : tensor<?x75xi32>
}

// An input whose in_features the weight alone says; the result's type follows.
func.func @known(%x: tensor<?x?x?xi8> {attn.dims = ["batch", "len", "depth"]}, %w: tensor<3x7xi8>) -> tensor<?x?x3xi32> {
  %y = attn.linear %x, %w : tensor<?x?x?xi8>, tensor<3x7xi8>
  return %y : tensor<?x?x3xi32>
}

// An epilogue of floats.
func.func @layer(%x: tensor<9x64xi8>, %w: tensor<65x64xi8>, %scales: tensor<65xf32>) -> tensor<9x65xf32> {
  %s = attn.linear %x, %w : tensor<9x64xi8>, tensor<65x64xi8> -> tensor<9x65xi32>
  %y = attn.map %s, %scales {
  ^bb0(%sum: i32, %scale: f32):
    %wide = arith.sitofp %sum : i32 to f32
    %scaled = arith.mulf %wide, %scale : f32
    attn.yield %scaled : f32
  } : tensor<9x65xi32>, tensor<65xf32> -> tensor<9x65xf32>
  return %y : tensor<9x65xf32>
}

// A vector, of one feature.
func.func @row(%x: tensor<1xi8>, %w: tensor<3x1xi8>) -> tensor<3xi32> {
  %y = attn.linear %x, %w : tensor<1xi8>, tensor<3x1xi8> -> tensor<3xi32>
  return %y : tensor<3xi32>
}
