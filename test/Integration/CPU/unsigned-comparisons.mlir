// Unsigned comparisons of differences that wrap around, also in the last rows, which are constants.

// RUN: attnc verify %s --function bits16 | FileCheck %s
// RUN: attnc verify %s --function bits32 | FileCheck %s
// RUN: attnc verify %s --function bits64 | FileCheck %s
// CHECK: cases, all within the allowed error

func.func @bits16(%score: tensor<1x1x49x64xf32>) -> tensor<1x1x49x64xf32> {
  %r = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %far = arith.constant 1000 : i16
    %q16 = arith.index_cast %q : index to i16
    %k16 = arith.index_cast %k : index to i16
    %wrapped = arith.subi %k16, %far : i16
    %c = arith.cmpi ult, %wrapped, %q16 : i16
    attn.yield %c : i1
  } : tensor<1x1x49x64xf32>
  return %r : tensor<1x1x49x64xf32>
}

func.func @bits32(%score: tensor<1x1x49x64xf32>) -> tensor<1x1x49x64xf32> {
  %r = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %far = arith.constant 1000 : i32
    %q32 = arith.index_cast %q : index to i32
    %k32 = arith.index_cast %k : index to i32
    %wrapped = arith.subi %k32, %far : i32
    %c = arith.cmpi ugt, %q32, %wrapped : i32
    attn.yield %c : i1
  } : tensor<1x1x49x64xf32>
  return %r : tensor<1x1x49x64xf32>
}

func.func @bits64(%score: tensor<1x1x49x64xf32>) -> tensor<1x1x49x64xf32> {
  %r = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %far = arith.constant 2147483648 : i64
    %q64 = arith.index_cast %q : index to i64
    %k64 = arith.index_cast %k : index to i64
    %wrapped = arith.subi %k64, %far : i64
    %c = arith.cmpi uge, %wrapped, %q64 : i64
    attn.yield %c : i1
  } : tensor<1x1x49x64xf32>
  return %r : tensor<1x1x49x64xf32>
}
