// Softmax sinks in every fused kernel and in unfused ops.

// RUN: attnc verify %s --function prefill --size batch=2,q_len=70,kv_len=150 | FileCheck %s
// RUN: attnc verify %s --function decode --size kv_len=300 | FileCheck %s
// RUN: attnc verify %s --function parts | FileCheck %s
// RUN: attnc verify %s --function half | FileCheck %s
// RUN: attnc verify %s --function wide | FileCheck %s

// RUN: attnc verify %s --function large | FileCheck %s

// NaN of a sink is none where no key is seen, or there is none.
// RUN: attnc verify %s --function prefill --size batch=2,q_len=70,kv_len=150 --input lengths=zeros | FileCheck %s
// RUN: attnc verify %s --function prefill --size batch=1,q_len=3,kv_len=0 | FileCheck %s
// RUN: attnc verify %s --function decode --size kv_len=0 | FileCheck %s
// RUN: attnc verify %s --function parts --input lengths=zeros | FileCheck %s
// RUN: attnc verify %s --function wide --input lengths=zeros | FileCheck %s
// CHECK: cases, all within the allowed error

// One for each row, grouped heads, and rows that see no key: their context is 0.
func.func @prefill(%query: tensor<?x4x?x32xf32> {attn.dims = ["batch", 4, "q_len", 32]},
                   %key: tensor<?x2x?x32xf32> {attn.dims = ["batch", 2, "kv_len", 32]},
                   %value: tensor<?x2x?x24xf32> {attn.dims = ["batch", 2, "kv_len", 24]},
                   %sink: tensor<?x4x?xf32> {attn.dims = ["batch", 4, "q_len"]},
                   %lengths: tensor<?xi64> {attn.dims = ["batch"]}) -> tensor<?x4x?x24xf32> {
  %score = attn.score %query, %key scale(-0.2)
      : tensor<?x4x?x32xf32>, tensor<?x2x?x32xf32> -> tensor<?x4x?x?xf32>
  %masked = attn.mask %score causal(bottom_right) kv_lengths(%lengths : tensor<?xi64>) : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked sink(%sink : tensor<?x4x?xf32>) : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %value
      : tensor<?x4x?x?xf32>, tensor<?x2x?x24xf32> -> tensor<?x4x?x24xf32>
  return %context : tensor<?x4x?x24xf32>
}

// One for each head, a prob region, and rows that see no key.
func.func @decode(%query: tensor<3x8x1x64xf32>,
                  %key: tensor<3x2x?x64xf32> {attn.dims = [3, 2, "kv_len", 64]},
                  %value: tensor<3x2x?x64xf32> {attn.dims = [3, 2, "kv_len", 64]},
                  %sink: tensor<1x8x1xf32>, %lengths: tensor<3xi32>) -> tensor<3x8x1x64xf32> {
  %score = attn.score %query, %key scale(0.125)
      : tensor<3x8x1x64xf32>, tensor<3x2x?x64xf32> -> tensor<3x8x1x?xf32>
  %masked = attn.mask %score kv_lengths(%lengths : tensor<3xi32>) : tensor<3x8x1x?xf32>
  %prob = attn.softmax %masked sink(%sink : tensor<1x8x1xf32>) : tensor<3x8x1x?xf32>
  %half = attn.modify_prob %prob {
  ^bb0(%p: f32, %b: index, %h: index, %q: index, %k: index):
    %factor = arith.constant 0.5 : f32
    %r = arith.mulf %p, %factor : f32
    attn.yield %r : f32
  } : tensor<3x8x1x?xf32>
  %context = attn.context %half, %value
      : tensor<3x8x1x?xf32>, tensor<3x2x?x64xf32> -> tensor<3x8x1x64xf32>
  return %context : tensor<3x8x1x64xf32>
}

// Keys in several parts, of which one has the sink.
func.func @parts(%query: tensor<1x2x1x64xf32>, %key: tensor<1x2x2500x64xf32>,
                 %sink: tensor<1x2x1xf32>, %lengths: tensor<1xi32>) -> tensor<1x2x1x64xf32> {
  %score = attn.score %query, %key scale(0.125)
      : tensor<1x2x1x64xf32>, tensor<1x2x2500x64xf32> -> tensor<1x2x1x2500xf32>
  %masked = attn.mask %score kv_lengths(%lengths : tensor<1xi32>) : tensor<1x2x1x2500xf32>
  %prob = attn.softmax %masked sink(%sink : tensor<1x2x1xf32>) : tensor<1x2x1x2500xf32>
  %context = attn.context %prob, %key
      : tensor<1x2x1x2500xf32>, tensor<1x2x2500x64xf32> -> tensor<1x2x1x64xf32>
  return %context : tensor<1x2x1x64xf32>
}

func.func @half(%query: tensor<1x2x40x16xf16>, %key: tensor<1x2x50x16xf16>,
                %value: tensor<1x2x50x16xf16>, %sink: tensor<1x1x1xf16>) -> tensor<1x2x40x16xf16> {
  %score = attn.score %query, %key scale(0.25)
      : tensor<1x2x40x16xf16>, tensor<1x2x50x16xf16> -> tensor<1x2x40x50xf16>
  %prob = attn.softmax %score sink(%sink : tensor<1x1x1xf16>) : tensor<1x2x40x50xf16>
  %context = attn.context %prob, %value
      : tensor<1x2x40x50xf16>, tensor<1x2x50x16xf16> -> tensor<1x2x40x16xf16>
  return %context : tensor<1x2x40x16xf16>
}

// f64 has no fused kernel.
func.func @wide(%query: tensor<2x3x9x8xf64>, %key: tensor<2x3x11x8xf64>,
                  %value: tensor<2x3x11x8xf64>, %sink: tensor<1x3x1xf64>,
                  %lengths: tensor<2xi32>) -> tensor<2x3x9x8xf64> {
  %score = attn.score %query, %key
      : tensor<2x3x9x8xf64>, tensor<2x3x11x8xf64> -> tensor<2x3x9x11xf64>
  %masked = attn.mask %score causal(top_left) kv_lengths(%lengths : tensor<2xi32>) : tensor<2x3x9x11xf64>
  %prob = attn.softmax %masked sink(%sink : tensor<1x3x1xf64>) : tensor<2x3x9x11xf64>
  %context = attn.context %prob, %value
      : tensor<2x3x9x11xf64>, tensor<2x3x11x8xf64> -> tensor<2x3x9x8xf64>
  return %context : tensor<2x3x9x8xf64>
}

// Beside a sink so large, all probs are about 1e-34.
func.func @large(%query: tensor<1x2x9x16xf32>, %key: tensor<1x2x40x16xf32>,
                 %value: tensor<1x2x40x16xf32>) -> tensor<1x2x9x16xf32> {
  %sink = arith.constant dense<80.0> : tensor<1x1x1xf32>
  %score = attn.score %query, %key scale(0.25)
      : tensor<1x2x9x16xf32>, tensor<1x2x40x16xf32> -> tensor<1x2x9x40xf32>
  %prob = attn.softmax %score sink(%sink : tensor<1x1x1xf32>) : tensor<1x2x9x40xf32>
  %context = attn.context %prob, %value
      : tensor<1x2x9x40xf32>, tensor<1x2x40x16xf32> -> tensor<1x2x9x16xf32>
  return %context : tensor<1x2x9x16xf32>
}
