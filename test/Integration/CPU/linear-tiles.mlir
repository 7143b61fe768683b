// Linear layers with products of bf16 tiles, by an emulation of AMX that executes its instructions as they are compiled: no machine
// with AMX is needed. Without the emulation the system refuses the request for tiles, and products are in f32.

// DEFINE: %{fuse} = attnc compile %s --emit fused --target x86-64-linux-avx2-fma -o -
// DEFINE: %{tile} = sed -E 's/#attn.linear<row_tile = ([0-9]+), [^>]*row_block = [0-9]+/#attn.linear<row_tile = \1, vectors = 2, vector_width = 16, row_block = 48, products = bf16_tiles/g; s/, packed = false//g'
// DEFINE: %{verify} = attnc verify --target x86-64-linux-avx2-fma
// DEFINE: %{emulate} = env LD_PRELOAD=%t/amx.so %{verify}
// DEFINE: %{check} = FileCheck %s --check-prefixes=AMX,CHECK

// RUN: rm -rf %t && mkdir %t
// RUN: %cc -O1 -shared -fPIC -Wall -Wextra %S/Inputs/emulate-amx.c -o %t/amx.so -lm -ldl
// RUN: %{fuse} --function open | %{tile} > %t/open.mlir
// RUN: %{emulate} %t/open.mlir --size len=1,2,13,40 --size batch=1,2,17 2>&1 | %{check}
// RUN: %{fuse} --function unpacked | %{tile} > %t/unpacked.mlir
// RUN: %{emulate} %t/unpacked.mlir --size rows=1,16,17,32,33,131 2>&1 | %{check}
// RUN: %{verify} %t/unpacked.mlir --size rows=1,16,131 2>&1 | FileCheck %s --implicit-check-not emulated
// RUN: sed 's/vectors = 2/vectors = 3/g' %t/unpacked.mlir > %t/odd.mlir
// RUN: %{emulate} %t/odd.mlir --size rows=5,33 2>&1 | %{check}
// RUN: %{fuse} --function even | %{tile} > %t/even.mlir
// RUN: %{emulate} %t/even.mlir --size rows=15,64 2>&1 | %{check}
// RUN: %{fuse} --function layers | %{tile} > %t/layers.mlir
// RUN: %{emulate} %t/layers.mlir 2>&1 | %{check}
// RUN: %{fuse} --function pair | %{tile} > %t/pair.mlir
// RUN: %{emulate} %t/pair.mlir 2>&1 | FileCheck %s
// AMX: emulated AMX: multiplies tiles
// CHECK: cases, all within the allowed error

// One row, many rows, and rows of a long second dimension; an odd last feature alone.
func.func @open(%x: tensor<?x?x7xbf16> {attn.dims = ["len", "batch", 7]}, %bias: tensor<5xbf16>) -> tensor<?x?x5xbf16> {
  %w = arith.constant dense<[[0.5, 1.5, -2.0, 3.0, 0.25, -1.0, 2.0], [1.0, 0.0, 0.5, -3.0, 1.25, 4.0, -2.0],
                             [2.0, 1.0, -1.0, 1.0, -0.25, 1.0, 8.0], [-1.0, 6.0, 1.0, 5.0, 2.0, 0.75, 1.0],
                             [0.125, -0.5, 3.0, 1.0, 7.0, -4.0, 0.5]]> : tensor<5x7xbf16>
  %y = attn.linear %x, %w, %bias : tensor<?x?x7xbf16>, tensor<5x7xbf16>, tensor<5xbf16> -> tensor<?x?x5xbf16>
  return %y : tensor<?x?x5xbf16>
}

// Weights packed in the call, more than a panel of them; more rows than a row block; a tail of three in_features.
func.func @unpacked(%x: tensor<?x131xbf16> {attn.dims = ["rows", 131]}, %w: tensor<75x131xbf16>) -> tensor<?x75xbf16> {
  %y = attn.linear %x, %w : tensor<?x131xbf16>, tensor<75x131xbf16> -> tensor<?x75xbf16>
  return %y : tensor<?x75xbf16>
}

// Whole tiles of in_features.
func.func @even(%x: tensor<?x96xbf16> {attn.dims = ["rows", 96]}, %w: tensor<64x96xbf16>) -> tensor<?x64xbf16> {
  %y = attn.linear %x, %w : tensor<?x96xbf16>, tensor<64x96xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
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

// A single pair, which takes no tiles.
func.func @pair(%x: tensor<2xbf16>, %w: tensor<3x2xbf16>) -> tensor<3xbf16> {
  %y = attn.linear %x, %w : tensor<2xbf16>, tensor<3x2xbf16> -> tensor<3xbf16>
  return %y : tensor<3xbf16>
}
