// RUN: %exits 1 attnc compile %s -o %t 2>&1 | FileCheck %s

func.func @f(%x: tensor<?xi64>) -> tensor<?xi64> {
  %y = attn.map %x {
  ^bb0(%a: i64):
    // CHECK: wide-integers.mlir:[[#@LINE+1]]:{{[0-9]+}}: error: expected integers of at most 64 bits, found 'i128'
    %wide = arith.extsi %a : i64 to i128
    %narrow = arith.trunci %wide : i128 to i64
    attn.yield %narrow : i64
  } : tensor<?xi64>
  return %y : tensor<?xi64>
}
