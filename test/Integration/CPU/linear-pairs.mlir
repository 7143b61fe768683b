// Linear layers with products of bf16 pairs: by instructions where the host has them and prefers them, and in f32 where a
// schedule asks a CPU without them.

// DEFINE: %{fuse} = attnc compile %s --emit fused --target x86-64-linux-avx2-fma -o -
// DEFINE: %{pair} = sed -E 's/(#attn.linear<[^>]*row_block = [0-9]+)/\1, products = bf16_pairs/g'
// DEFINE: %{verify} = attnc verify --target x86-64-linux-avx2-fma

// RUN: rm -rf %t && mkdir %t
// RUN: attnc verify %s --function open --size len=1,2,7,13,40 --size batch=0,1,2,17 | FileCheck %s
// RUN: %{fuse} --function open | %{pair} > %t/open.mlir && %{verify} %t/open.mlir --size len=1,2,13,40 --size batch=1,2,17 | FileCheck %s
// RUN: attnc verify %s --function unpacked --size rows=0,1,5,523 | FileCheck %s
// RUN: %{fuse} --function unpacked | %{pair} > %t/unpacked.mlir && %{verify} %t/unpacked.mlir --size rows=1,5,523 | FileCheck %s
// RUN: attnc verify %s --function layers | FileCheck %s
// RUN: %{fuse} --function layers | %{pair} > %t/layers.mlir && %{verify} %t/layers.mlir | FileCheck %s
// RUN: attnc verify %s --function row | FileCheck %s
// RUN: %{fuse} --function row | %{pair} > %t/row.mlir && %{verify} %t/row.mlir | FileCheck %s
// CHECK: cases, all within the allowed error

// One row, many rows, and rows of a long second dimension; an odd last feature alone.
func.func @open(%x: tensor<?x?x7xbf16> {attn.dims = ["len", "batch", 7]}, %bias: tensor<5xbf16>) -> tensor<?x?x5xbf16> {
  %w = arith.constant dense<[[0.5, 1.5, -2.0, 3.0, 0.25, -1.0, 2.0], [1.0, 0.0, 0.5, -3.0, 1.25, 4.0, -2.0],
                             [2.0, 1.0, -1.0, 1.0, -0.25, 1.0, 8.0], [-1.0, 6.0, 1.0, 5.0, 2.0, 0.75, 1.0],
                             [0.125, -0.5, 3.0, 1.0, 7.0, -4.0, 0.5]]> : tensor<5x7xbf16>
  %y = attn.linear %x, %w, %bias : tensor<?x?x7xbf16>, tensor<5x7xbf16>, tensor<5xbf16> -> tensor<?x?x5xbf16>
  return %y : tensor<?x?x5xbf16>
}

// Weights packed in the call, more than a panel of them; more rows than a row block.
func.func @unpacked(%x: tensor<?x131xbf16> {attn.dims = ["rows", 131]}, %w: tensor<75x131xbf16>) -> tensor<?x75xbf16> {
  %y = attn.linear %x, %w : tensor<?x131xbf16>, tensor<75x131xbf16> -> tensor<?x75xbf16>
  return %y : tensor<?x75xbf16>
}

// An epilogue with a second operand, and a product of its result.
func.func @layers(%x: tensor<9x34xbf16>, %w: tensor<65x34xbf16>, %v: tensor<34x65xbf16>) -> tensor<9x34xbf16> {
  %h = attn.linear %x, %w : tensor<9x34xbf16>, tensor<65x34xbf16> -> tensor<9x65xbf16>
  %a = attn.map %h {
  ^bb0(%s: bf16):
    %t = math.tanh %s : bf16
    attn.yield %t : bf16
  } : tensor<9x65xbf16> -> tensor<9x65xbf16>
  %y = attn.linear %a, %v : tensor<9x65xbf16>, tensor<34x65xbf16> -> tensor<9x34xbf16>
  %z = attn.map %y, %x {
  ^bb0(%s: bf16, %r: bf16):
    %t = arith.addf %s, %r : bf16
    attn.yield %t : bf16
  } : tensor<9x34xbf16>, tensor<9x34xbf16> -> tensor<9x34xbf16>
  return %z : tensor<9x34xbf16>
}

// A vector, of one feature.
func.func @row(%x: tensor<1xbf16>, %w: tensor<3x1xbf16>) -> tensor<3xbf16> {
  %y = attn.linear %x, %w : tensor<1xbf16>, tensor<3x1xbf16> -> tensor<3xbf16>
  return %y : tensor<3xbf16>
}
