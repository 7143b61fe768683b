// A value that is the same in all lanes is stored, and nothing where the condition is false at compile time.
// RUN: attnc run %s --input in=ones --output rows=@%t.npy
// RUN: %python -c "import numpy as np; print(np.load('%t.npy'))" | FileCheck %s
// CHECK: {{\[\[ ?}}0. 0. 0. 0. 0. 0. 0. 0.]
// CHECK: [{{ ?}}7. 7. 7. 7. 7. 7. 7. 7.]]

// RUN: attnc compile %s --emit stmt -o - | FileCheck %s --check-prefix=STMT --implicit-check-not=store_where
// STMT: produce rows {
// STMT-NOT: if (
// STMT: rows[ramp({{.*}}, 1, 4){{.*}}] = x4(7.000000f)
// STMT-NOT: = x4(7.000000f)
halide.pipeline @kernel {
  %in = halide.input "in" [8] : !halide.func<f32, 1>
  %zero = arith.constant 0.0 : f32
  %seven = arith.constant 7.0 : f32
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %c8 = arith.constant 8 : i32
  %rows = halide.func "rows" [%x, %y] : f32 {
    halide.yield %zero : f32
  }
  halide.update %rows[] over [%rx min %c0 extent %c8, %ry min %c0 extent %c2] : !halide.func<f32, 2> {
    %one = arith.constant 1 : i32
    %is_second = arith.cmpi eq, %ry, %one : i32
    %stored = halide.store_where %seven, %is_second : f32
    halide.yield %stored at [%rx, %ry] : f32
  }
  halide.output %rows [8, 2] : !halide.func<f32, 2>
  %rx, %ry = halide.loops %rows update 0 : !halide.func<f32, 2>
  %outer, %lanes = halide.split %rx by 4
  halide.reorder %lanes, %ry, %outer
  halide.vectorize %lanes
  halide.unroll %ry
}
func.func @where(%in: memref<8xf32, strided<[1], offset: ?>> {attn.name = "in"},
                 %rows: memref<2x8xf32, strided<[?, 1], offset: ?>> {attn.name = "rows", attn.result}) {
  host.call @kernel(%in, %rows) : memref<8xf32, strided<[1], offset: ?>>,
      memref<2x8xf32, strided<[?, 1], offset: ?>>
  return
}
