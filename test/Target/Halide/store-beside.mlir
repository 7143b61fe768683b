// The loops of a func write elements of an output beside their own, in vectors or one by one.
// RUN: attnc run %s --input in=ones --output sum=@%t.sum.npy --output half=@%t.half.npy
// RUN: %python -c "import numpy as np; print(np.load('%t.sum.npy')); print(np.load('%t.half.npy'))" | FileCheck %s
// CHECK: [1. 2. 3. 4. 5. 6. 7. 8.]
// CHECK: [0.5 0.5 0.5 0. 0. 0. 0. 0. ]
// RUN: sed -e '/vectorize/d' %s > %t.serial.mlir
// RUN: attnc run %t.serial.mlir --input in=ones --output sum=@%t.sum.npy --output half=@%t.half.npy
// RUN: %python -c "import numpy as np; print(np.load('%t.sum.npy')); print(np.load('%t.half.npy'))" | FileCheck %s

// RUN: attnc compile %s --emit stmt -o - | FileCheck %s --check-prefix=STMT --implicit-check-not=store_beside
// STMT: half[ramp({{.*}}, 1, 4)] =
// STMT: beside[ramp({{.*}}, 1, 4){{.*}}] =

// RUN: sed -e '/compute_root/d; /vectorize/d; /split/d; /loops/d' %s > %t.inline.mlir
// RUN: not attnc compile %t.inline.mlir --emit stmt -o - 2>&1 | FileCheck %s --check-prefix=INLINE
// INLINE: error: expected a func with store_beside to be stored, found it inlined
halide.pipeline @kernel {
  %zero = arith.constant 0.0 : f32
  %in = halide.input "in" [8] : !halide.func<f32, 1>
  %half = halide.func "half" [%x] : f32 {
    halide.yield %zero : f32
  }
  %beside = halide.func "beside" [%x] : f32 {
    %v = halide.at %in[%x] : !halide.func<f32, 1>
    %c = arith.constant 0.5 : f32
    %stored = arith.mulf %v, %c : f32
    %element = halide.at %half[%x] : !halide.func<f32, 1>
    %three = arith.constant 3 : i32
    %is_first = arith.cmpi slt, %x, %three : i32
    %y = halide.store_beside %v, %stored to %element where %is_first : f32, f32
    halide.yield %y : f32
  }
  %sum = halide.func "sum" [%x] : f32 {
    %v = halide.at %beside[%x] : !halide.func<f32, 1>
    %f = arith.sitofp %x : i32 to f32
    %s = arith.addf %v, %f : f32
    halide.yield %s : f32
  }
  halide.output %sum [8] : !halide.func<f32, 1>
  halide.output %half [8] : !halide.func<f32, 1>
  halide.compute_root %beside : !halide.func<f32, 1>
  %beside_x = halide.loops %beside : !halide.func<f32, 1>
  %outer, %lanes = halide.split %beside_x by 4
  halide.vectorize %lanes
}
func.func @beside(%in: memref<8xf32, strided<[1], offset: ?>> {attn.name = "in"},
                  %sum: memref<8xf32, strided<[1], offset: ?>> {attn.name = "sum", attn.result},
                  %half: memref<8xf32, strided<[1], offset: ?>> {attn.name = "half", attn.result}) {
  host.call @kernel(%in, %sum, %half) : memref<8xf32, strided<[1], offset: ?>>,
      memref<8xf32, strided<[1], offset: ?>>, memref<8xf32, strided<[1], offset: ?>>
  return
}
