// Dropout drops the same elements in kernels and reference, fused and not; equal seeds give equal masks.
// RUN: attnc verify %s --function fused
// RUN: attnc verify %s --function rows
// RUN: attnc explain %s --function fused | FileCheck %s
// Dropouts in a row and maps behind them fuse too.
// RUN: attnc verify %s --function twice
// RUN: attnc explain %s --function twice | FileCheck %s
// CHECK: fused into attn.attention: scale 0.125, prob modification
// RUN: attnc run %s --function drops_nan --input seed=ones | FileCheck %s --check-prefix=NAN
// RUN: attnc run %s --function drops_nan --input seed=ones --reference | FileCheck %s --check-prefix=NAN
// What is dropped is 0, whatever it was.
// NAN: finite {{[1-9][0-9]*}} of 100
// RUN: attnc run %s --function ones --input seed=ones | FileCheck %s --check-prefix=ONES
// RUN: attnc run %s --function ones --input seed=ones --reference | FileCheck %s --check-prefix=ONES
// A quarter goes, the rest grows: the mean stays.
// ONES: d: f32[100000]  min 0  max 1.333{{.*}}  mean {{0.99|1.00}}
func.func @fused(%q: tensor<?x2x?x64xf32> {attn.name = "query"}, %k: tensor<?x2x?x64xf32> {attn.name = "key"},
                 %v: tensor<?x2x?x64xf32> {attn.name = "value"}, %seed: tensor<i64> {attn.name = "seed"})
    -> tensor<?x2x?x64xf32> {
  %s = attn.score %q, %k scale(0.125) : tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x2x?x?xf32>
  %p = attn.softmax %s : tensor<?x2x?x?xf32>
  %d = attn.dropout %p rate(0.25) seed(%seed : tensor<i64>) : tensor<?x2x?x?xf32>
  %c = attn.context %d, %v : tensor<?x2x?x?xf32>, tensor<?x2x?x64xf32> -> tensor<?x2x?x64xf32>
  return %c : tensor<?x2x?x64xf32>
}
func.func @rows(%x: tensor<?x37xf32> {attn.name = "x"}, %seed: tensor<i64> {attn.name = "seed"}) -> tensor<?x37xf32> {
  %d = attn.dropout %x rate(0.5) seed(%seed : tensor<i64>) : tensor<?x37xf32>
  %i = attn.dropout %d rate(0.5) : tensor<?x37xf32>
  return %i : tensor<?x37xf32>
}
func.func @ones(%seed: tensor<i64> {attn.name = "seed"}) -> tensor<100000xf32> {
  %x = arith.constant dense<1.0> : tensor<100000xf32>
  %d = attn.dropout %x rate(0.25) seed(%seed : tensor<i64>) : tensor<100000xf32>
  return %d : tensor<100000xf32>
}
func.func @drops_nan(%seed: tensor<i64> {attn.name = "seed"}) -> tensor<100xf32> {
  %x = arith.constant dense<0x7FC00000> : tensor<100xf32>
  %d = attn.dropout %x rate(0.25) seed(%seed : tensor<i64>) : tensor<100xf32>
  return %d : tensor<100xf32>
}
func.func @twice(%q: tensor<?x2x?x64xf32> {attn.name = "query"}, %k: tensor<?x2x?x64xf32> {attn.name = "key"},
                 %v: tensor<?x2x?x64xf32> {attn.name = "value"}, %first: tensor<i64> {attn.name = "first"},
                 %second: tensor<i64> {attn.name = "second"}) -> tensor<?x2x?x64xf32> {
  %s = attn.score %q, %k scale(0.125) : tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x2x?x?xf32>
  %p = attn.softmax %s : tensor<?x2x?x?xf32>
  %d = attn.dropout %p rate(0.25) seed(%first : tensor<i64>) : tensor<?x2x?x?xf32>
  %e = attn.dropout %d rate(0.5) seed(%second : tensor<i64>) : tensor<?x2x?x?xf32>
  %m = attn.map %e {
  ^bb0(%x: f32):
    %half = arith.constant 0.5 : f32
    %h = arith.mulf %x, %half : f32
    attn.yield %h : f32
  } : tensor<?x2x?x?xf32> -> tensor<?x2x?x?xf32>
  %c = attn.context %m, %v : tensor<?x2x?x?xf32>, tensor<?x2x?x64xf32> -> tensor<?x2x?x64xf32>
  return %c : tensor<?x2x?x64xf32>
}
