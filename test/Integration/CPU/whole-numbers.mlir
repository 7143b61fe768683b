// What rounding and conversions to integers do with infinities, NaN, and numbers that no integer
// holds; products and sums that are rounded once. x86-64 alone has neither instructions that round
// nor fused multiply-adds.

// RUN: attnc verify %s --function rounded | FileCheck %s
// RUN: attnc verify %s --function rounded --target x86-64-linux | FileCheck %s
// RUN: attnc verify %s --function rounded_f64 --target x86-64-linux | FileCheck %s
// RUN: attnc verify %s --function rounded_f16 --target x86-64-linux | FileCheck %s
// RUN: attnc verify %s --function converted | FileCheck %s
// RUN: attnc verify %s --function converted --target x86-64-linux | FileCheck %s
// RUN: attnc verify %s --function bounded | FileCheck %s
// CHECK: cases, all within the allowed error
// RUN: attnc run %s --function integers | FileCheck %s --check-prefix=INTEGERS
// RUN: attnc run %s --function integers --reference | FileCheck %s --check-prefix=INTEGERS
// RUN: attnc run %s --function integers --target x86-64-linux | FileCheck %s --check-prefix=INTEGERS
// INTEGERS: first 2.14748e+09 -2.14748e+09 0 2.14748e+09 -7
// INTEGERS: first 127 -128 0 127 -7
// INTEGERS: first -1 0 0 -1 0
// RUN: attnc run %s --function once | FileCheck %s --check-prefix=ONCE
// RUN: attnc run %s --function once --target x86-64-linux | FileCheck %s --check-prefix=ONCE
// ONCE: first 1e+38 -inf 1.49012e-08

func.func @rounded(%x: tensor<?xf32> {attn.name = "x", attn.dims = ["n"]}) -> tensor<?xf32> {
  %y = attn.map %x {
  ^bb0(%a: f32):
    %r = math.roundeven %a : f32
    attn.yield %r : f32
  } : tensor<?xf32>
  return %y : tensor<?xf32>
}

func.func @rounded_f64(%x: tensor<?xf64> {attn.name = "x", attn.dims = ["n"]}) -> tensor<?xf64> {
  %y = attn.map %x {
  ^bb0(%a: f64):
    %r = math.roundeven %a : f64
    attn.yield %r : f64
  } : tensor<?xf64>
  return %y : tensor<?xf64>
}

func.func @rounded_f16(%x: tensor<?xf16> {attn.name = "x", attn.dims = ["n"]}) -> tensor<?xf16> {
  %y = attn.map %x {
  ^bb0(%a: f16):
    %r = math.roundeven %a : f16
    attn.yield %r : f16
  } : tensor<?xf16>
  return %y : tensor<?xf16>
}

func.func @converted(%x: tensor<?xf32> {attn.name = "x", attn.dims = ["n"]}, %y: tensor<?xf64> {attn.name = "y", attn.dims = ["n"]})
    -> (tensor<?xi64>, tensor<?xi16>, tensor<?xi32>) {
  %i64 = attn.map %x {
  ^bb0(%a: f32):
    %r = arith.fptosi %a : f32 to i64
    attn.yield %r : i64
  } : tensor<?xf32> -> tensor<?xi64>
  %i16 = attn.map %x {
  ^bb0(%a: f32):
    %r = arith.fptosi %a : f32 to i16
    attn.yield %r : i16
  } : tensor<?xf32> -> tensor<?xi16>
  %i32 = attn.map %y {
  ^bb0(%a: f64):
    %r = arith.fptosi %a : f64 to i32
    attn.yield %r : i32
  } : tensor<?xf64> -> tensor<?xi32>
  return %i64, %i16, %i32 : tensor<?xi64>, tensor<?xi16>, tensor<?xi32>
}

func.func @integers() -> (tensor<5xi32> {attn.name = "i32"}, tensor<5xi8> {attn.name = "i8"}, tensor<5xi16> {attn.name = "u16"}) {
  %x = arith.constant dense<[3.0e9, 0xFF800000, 0x7FC00000, 2147483520.0, -7.9]> : tensor<5xf32>
  %a = attn.map %x {
  ^bb0(%e: f32):
    %r = arith.fptosi %e : f32 to i32
    attn.yield %r : i32
  } : tensor<5xf32> -> tensor<5xi32>
  %b = attn.map %x {
  ^bb0(%e: f32):
    %r = arith.fptosi %e : f32 to i8
    attn.yield %r : i8
  } : tensor<5xf32> -> tensor<5xi8>
  %c = attn.map %x {
  ^bb0(%e: f32):
    %r = arith.fptoui %e : f32 to i16
    attn.yield %r : i16
  } : tensor<5xf32> -> tensor<5xi16>
  return %a, %b, %c : tensor<5xi32>, tensor<5xi8>, tensor<5xi16>
}

func.func @once() -> (tensor<3xf32> {attn.name = "sum"}) {
  %x = arith.constant dense<[2.0e19, -2.0, 0.1]> : tensor<3xf32>
  %y = arith.constant dense<[2.0e19, 0xFF7FFFFF, 10.0]> : tensor<3xf32>
  %z = arith.constant dense<[-3.0e38, 0xFF800000, -1.0]> : tensor<3xf32>
  %sum = attn.map %x, %y, %z {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %r = math.fma %a, %b, %c : f32
    attn.yield %r : f32
  } : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  return %sum : tensor<3xf32>
}

// A bound beyond the range promises nothing.
func.func @bounded(%x: tensor<?xf32> {attn.name = "x", attn.dims = ["n"]}) -> (tensor<?xi16>, tensor<?xi16>) {
  %low = attn.map %x {
  ^bb0(%a: f32):
    %zero = arith.constant 0.0 : f32
    %least = arith.constant -1.0e20 : f32
    %b = arith.maxnumf %a, %zero : f32
    %c = arith.minimumf %b, %least : f32
    %r = arith.fptosi %c : f32 to i16
    attn.yield %r : i16
  } : tensor<?xf32> -> tensor<?xi16>
  %inside = attn.map %x {
  ^bb0(%a: f32):
    %most = arith.constant 1000.0 : f32
    %least = arith.constant -1000.0 : f32
    %b = arith.maximumf %a, %least : f32
    %c = arith.minimumf %b, %most : f32
    %r = arith.fptosi %c : f32 to i16
    attn.yield %r : i16
  } : tensor<?xf32> -> tensor<?xi16>
  return %low, %inside : tensor<?xi16>, tensor<?xi16>
}
