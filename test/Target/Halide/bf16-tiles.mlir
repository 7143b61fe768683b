// Loops of a matrix product become one call; which of them are over rows, columns and pairs follows from what they index.
// RUN: attnc compile %s --emit stmt --target x86-64-linux-avx512_sapphirerapids -o - | FileCheck %s --implicit-check-not=dot_bf16_tiles
// RUN: sed -e '/^  .. MOVED/s/.*/halide.reorder %%m, %%r, %%n/' %s > %t.moved.mlir
// RUN: attnc compile %t.moved.mlir --emit stmt --target x86-64-linux-avx512_sapphirerapids -o - | FileCheck %s --implicit-check-not=dot_bf16_tiles
// CHECK: produce sum
// CHECK: attnc_multiply_tiles({{.*}}uint64>(sum){{.*}}, (int64)128, {{.*}}uint64>(a){{.*}}, int64(a.stride.1)*(int64)4, (int64)4, {{.*}}uint64>(b){{.*}}, int64(b.stride.1)*(int64)4, min(5, 5), 32, min(33, 17*2), 0)

// RUN: sed -e '/^  .. MOVED/s/.*/halide.vectorize %%n/' %s > %t.vector.mlir
// RUN: not attnc compile %t.vector.mlir --emit stmt --target x86-64-linux-avx512_sapphirerapids -o - 2>&1 | FileCheck %s --check-prefix=VECTOR
// VECTOR: vector.mlir:[[@LINE+1]]:1: error: expected dot_bf16_tiles in loops over rows, columns and pairs, found others
halide.pipeline @kernel {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : i32
  %rows = arith.constant 5 : i32
  %depth = arith.constant 33 : i32
  %pairs = arith.constant 17 : i32
  %a = halide.input "a" [17, 5] : !halide.func<i32, 2>
  %b = halide.input "b" [32, 32] : !halide.func<i32, 2>
  %sum = halide.func "sum" [%n, %m] : f32 {
    halide.yield %zero : f32
  }
  halide.update %sum[%n, %m] over [%r min %c0 extent %pairs] : !halide.func<f32, 2> {
    %old = halide.at %sum[%n, %m] : !halide.func<f32, 2>
    %x = halide.at %a[%r, %m] : !halide.func<i32, 2>
    %y = halide.at %b[%n, %r] : !halide.func<i32, 2>
    %left = arith.subi %rows, %m : i32
    %new = halide.dot_bf16_tiles %old, %x, %y rows %left depth %depth : i32
    halide.yield %new at [%n, %m] : f32
  }
  %out = halide.func "out" [%n, %m] : f32 {
    %v = halide.at %sum[%n, %m] : !halide.func<f32, 2>
    halide.yield %v : f32
  }
  halide.output %out [32, 5] : !halide.func<f32, 2>
  halide.compute_root %sum : !halide.func<f32, 2>
  %n, %m, %r = halide.loops %sum update 0 : !halide.func<f32, 2>
  // MOVED
}
func.func @product(%a: memref<5x17xi32, strided<[?, 1], offset: ?>> {attn.name = "a"},
                   %b: memref<32x32xi32, strided<[?, 1], offset: ?>> {attn.name = "b"},
                   %out: memref<5x32xf32, strided<[?, 1], offset: ?>> {attn.name = "out", attn.result}) {
  host.call @kernel(%a, %b, %out) : memref<5x17xi32, strided<[?, 1], offset: ?>>,
      memref<32x32xi32, strided<[?, 1], offset: ?>>, memref<5x32xf32, strided<[?, 1], offset: ?>>
  return
}
