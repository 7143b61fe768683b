// Long sums are blocked: one serial accumulation would exceed the error bound.

// RUN: attnc verify %s --function linear --size rows=9 | FileCheck %s
// RUN: attnc verify %s --function in_place --size rows=6 | FileCheck %s
// RUN: attnc verify %s --function sharp --size rows=500 --seed 3 | FileCheck %s
// RUN: attnc verify %s --function flat --size q_len=40 --seed 7 | FileCheck %s
// RUN: attnc verify %s --function stages --size q_len=2,kv_len=3000 | FileCheck %s
// RUN: attnc verify %s --function columns --size rows=5000,width=21 | FileCheck %s
// CHECK: cases, all within the allowed error

func.func @linear(%x: tensor<?x4099xf32> {attn.name = "x", attn.dims = ["rows", 4099]},
                  %weight: tensor<70x4099xf32>) -> tensor<?x70xf32> {
  %y = attn.linear %x, %weight : tensor<?x4099xf32>, tensor<70x4099xf32> -> tensor<?x70xf32>
  return %y : tensor<?x70xf32>
}

// Few rows read the weights in place; the last block of their sum is shorter.
func.func @in_place(%x: tensor<?x4112xf32> {attn.name = "x", attn.dims = ["rows", 4112]},
                    %weight: tensor<70x4112xf32>) -> tensor<?x70xf32> {
  %y = attn.linear %x, %weight : tensor<?x4112xf32>, tensor<70x4112xf32> -> tensor<?x70xf32>
  return %y : tensor<?x70xf32>
}

// Where scores are large, their error is far more than a few eps of the prob.
func.func @sharp(%x: tensor<?x512xf32> {attn.name = "x", attn.dims = ["rows", 512]},
                 %weight: tensor<40x512xf32>) -> tensor<?x40xf32> {
  %score = attn.linear %x, %weight : tensor<?x512xf32>, tensor<40x512xf32> -> tensor<?x40xf32>
  %prob = attn.softmax %score : tensor<?x40xf32>
  return %prob : tensor<?x40xf32>
}

// The sums of 384 values that weigh about the same, fused, and in the pass that NaN needs.
func.func @flat(%query: tensor<1x1x?x64xf32> {attn.name = "query", attn.dims = [1, 1, "q_len", 64]},
                %key: tensor<1x1x384x64xf32>, %value: tensor<1x1x384x64xf32>) -> tensor<1x1x?x64xf32> {
  %score = attn.score %query, %key scale(0.02) : tensor<1x1x?x64xf32>, tensor<1x1x384x64xf32> -> tensor<1x1x?x384xf32>
  %prob = attn.softmax %score : tensor<1x1x?x384xf32>
  %context = attn.context %prob, %value : tensor<1x1x?x384xf32>, tensor<1x1x384x64xf32> -> tensor<1x1x?x64xf32>
  %large = attn.map %context {
  ^bb0(%x: f32):
    %many = arith.constant 1000.0 : f32
    %y = arith.mulf %x, %many : f32
    attn.yield %y : f32
  } : tensor<1x1x?x64xf32> -> tensor<1x1x?x64xf32>
  %sharp = attn.softmax %large : tensor<1x1x?x64xf32>
  return %sharp : tensor<1x1x?x64xf32>
}

// Not fused for the sake of the prob.
func.func @stages(%query: tensor<1x1x?x1024xf32> {attn.name = "query", attn.dims = [1, 1, "q_len", 1024]},
                  %key: tensor<1x1x?x1024xf32> {attn.name = "key", attn.dims = [1, 1, "kv_len", 1024]},
                  %value: tensor<1x1x?x8xf32> {attn.name = "value", attn.dims = [1, 1, "kv_len", 8]})
    -> (tensor<1x1x?x?xf32>, tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32>) {
  %score = attn.score %query, %key scale(0.01) : tensor<1x1x?x1024xf32>, tensor<1x1x?x1024xf32> -> tensor<1x1x?x?xf32>
  %prob = attn.softmax %score : tensor<1x1x?x?xf32>
  %context = attn.context %prob, %value : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %score, %prob, %context : tensor<1x1x?x?xf32>, tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32>
}

func.func @columns(%x: tensor<?x?xf32> {attn.name = "x", attn.dims = ["rows", "width"]}) -> tensor<?x?xf32> {
  %y = attn.softmax %x axis(0) : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
