// An update computes and stores a row only where a condition holds.
// RUN: attnc run %s --input in=ones --output rows=@%t.npy
// RUN: %python -c "import numpy as np; print(np.load('%t.npy'))" | FileCheck %s
// CHECK: {{\[\[ ?}}0. 0. 0. 0. 0. 0. 0. 0.]
// CHECK: [{{ ?}}0. 1. 4. 9. 16. 25. 36. 49.]]

// What only the stored value needs moves into the branch.
// RUN: attnc compile %s --emit stmt -o - | FileCheck %s --check-prefix=STMT --implicit-check-not=store_where
// STMT: if (rows.s1.ry == 1) {
// STMT-NEXT: let
// STMT: rows[ramp({{.*}}, 1, 4){{.*}}] =

// A condition differs between the lanes of a vector.
// RUN: sed -e 's/cmpi eq, %ry, %one/cmpi eq, %rx, %one/' %s > %t.lanes.mlir
// RUN: not attnc compile %t.lanes.mlir --emit stmt -o - 2>&1 | FileCheck %s --check-prefix=LANES
// LANES: error: expected store_where on a condition that is the same for all lanes of a vector
halide.pipeline @kernel {
  %in = halide.input "in" [8] : !halide.func<f32, 1>
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %c8 = arith.constant 8 : i32
  %rows = halide.func "rows" [%x, %y] : f32 {
    halide.yield %zero : f32
  }
  halide.update %rows[] over [%rx min %c0 extent %c8, %ry min %c0 extent %c2] : !halide.func<f32, 2> {
    %v = halide.at %in[%rx] : !halide.func<f32, 1>
    %f = arith.sitofp %rx : i32 to f32
    %w = arith.mulf %v, %f : f32
    %square = arith.mulf %w, %w : f32
    %one = arith.constant 1 : i32
    %is_second = arith.cmpi eq, %ry, %one : i32
    %stored = halide.store_where %square, %is_second : f32
    halide.yield %stored at [%rx, %ry] : f32
  }
  halide.output %rows [8, 2] : !halide.func<f32, 2>
  %rx, %ry = halide.loops %rows update 0 : !halide.func<f32, 2>
  %outer, %lanes = halide.split %rx by 4
  halide.vectorize %lanes
}
func.func @where(%in: memref<8xf32, strided<[1], offset: ?>> {attn.name = "in"},
                 %rows: memref<2x8xf32, strided<[?, 1], offset: ?>> {attn.name = "rows", attn.result}) {
  host.call @kernel(%in, %rows) : memref<8xf32, strided<[1], offset: ?>>,
      memref<2x8xf32, strided<[?, 1], offset: ?>>
  return
}
