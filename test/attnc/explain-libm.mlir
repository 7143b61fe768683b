// Functions that a kernel calls for each element are named; arithmetic takes the place of others.
// RUN: attnc explain %s --function f32 | FileCheck %s
// RUN: attnc explain %s --function f64 | FileCheck %s --check-prefix=F64
// RUN: attnc explain %s --function f32 --target x86-64-linux-opencl | FileCheck %s --check-prefix=GPU

// CHECK: attn.map at
// CHECK-NEXT: with a call of libm for each element: math.atan, arith.remf
// GPU-NOT: call of libm
func.func @f32(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = attn.map %x {
  ^bb0(%a: f32):
    %c = arith.constant 1.7 : f32
    %s = math.sin %a : f32
    %e = math.exp %s : f32
    %p = math.powf %e, %c : f32
    %t = math.atan %p : f32
    %r = arith.remf %t, %c : f32
    attn.yield %r : f32
  } : tensor<8x16xf32> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// F64: with a call of libm for each element: math.sin, math.exp
func.func @f64(%x: tensor<8x16xf64>) -> tensor<8x16xf64> {
  %0 = attn.map %x {
  ^bb0(%a: f64):
    %c = arith.constant 2.0 : f64
    %s = math.sin %a : f64
    %e = math.exp %s : f64
    %p = math.powf %e, %c : f64
    attn.yield %p : f64
  } : tensor<8x16xf64> -> tensor<8x16xf64>
  return %0 : tensor<8x16xf64>
}
