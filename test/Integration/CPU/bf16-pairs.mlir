// Products of bf16 pairs: by instructions where the host has them and prefers them, and in f32 where a
// schedule asks a CPU without them. NaN and infinities, behind the mask or not, are among the cases.

// DEFINE: %{fuse} = attnc compile %s --emit fused --target x86-64-linux-avx2-fma -o -
// DEFINE: %{pair} = sed -E 's/(#attn.(prefill|decode)<[^>]*context_vectors = [0-9]+)/\1, products = bf16_pairs/g'
// DEFINE: %{verify} = attnc verify --target x86-64-linux-avx2-fma

// RUN: rm -rf %t && mkdir %t
// RUN: attnc verify %s --function grouped --size batch=2,q_len=70,kv_len=150 | FileCheck %s
// RUN: %{fuse} --function grouped | %{pair} > %t/grouped.mlir && %{verify} %t/grouped.mlir --size batch=2,q_len=70,kv_len=150 | FileCheck %s
// RUN: attnc verify %s --function wide | FileCheck %s
// RUN: %{fuse} --function wide | %{pair} > %t/wide.mlir && %{verify} %t/wide.mlir | FileCheck %s
// RUN: attnc verify %s --function narrow | FileCheck %s
// RUN: %{fuse} --function narrow | %{pair} > %t/narrow.mlir && %{verify} %t/narrow.mlir | FileCheck %s
// RUN: attnc verify %s --function window | FileCheck %s
// RUN: %{fuse} --function window | %{pair} > %t/window.mlir && %{verify} %t/window.mlir | FileCheck %s
// RUN: attnc verify %s --function changed | FileCheck %s
// RUN: %{fuse} --function changed | %{pair} > %t/changed.mlir && %{verify} %t/changed.mlir | FileCheck %s
// RUN: attnc verify %s --function few --size q_len=7,kv_len=300 | FileCheck %s
// RUN: %{fuse} --function few | %{pair} > %t/few.mlir && %{verify} %t/few.mlir --size q_len=7,kv_len=300 | FileCheck %s
// RUN: attnc verify %s --function few --size q_len=1,kv_len=301 | FileCheck %s
// RUN: %{verify} %t/few.mlir --size q_len=1,kv_len=301 | FileCheck %s
// RUN: attnc verify %s --function step | FileCheck %s
// RUN: %{fuse} --function step | %{pair} > %t/step.mlir && %{verify} %t/step.mlir | FileCheck %s
// RUN: attnc verify %s --function paged_step | FileCheck %s
// RUN: %{fuse} --function paged_step | %{pair} > %t/paged_step.mlir && %{verify} %t/paged_step.mlir | FileCheck %s
// CHECK: cases, all within the allowed error

// No value dim fills a vector; rows that see no key; a sink and an lse.
func.func @grouped(%query: tensor<?x4x?x64xbf16> {attn.dims = ["batch", 4, "q_len", 64]},
                   %key: tensor<?x2x?x64xbf16> {attn.dims = ["batch", 2, "kv_len", 64]},
                   %value: tensor<?x2x?x24xbf16> {attn.dims = ["batch", 2, "kv_len", 24]},
                   %sink: tensor<1x4x1xbf16>, %lengths: tensor<?xi64> {attn.dims = ["batch"]})
    -> (tensor<?x4x?x24xbf16>, tensor<?x4x?xbf16>) {
  %score = attn.score %query, %key scale(0.125)
      : tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16> -> tensor<?x4x?x?xbf16>
  %masked = attn.mask %score causal(bottom_right) kv_lengths(%lengths : tensor<?xi64>) : tensor<?x4x?x?xbf16>
  %prob = attn.softmax %masked sink(%sink : tensor<1x4x1xbf16>) : tensor<?x4x?x?xbf16>
  %lse = attn.lse %masked : tensor<?x4x?x?xbf16> -> tensor<?x4x?xbf16>
  %context = attn.context %prob, %value
      : tensor<?x4x?x?xbf16>, tensor<?x2x?x24xbf16> -> tensor<?x4x?x24xbf16>
  return %context, %lse : tensor<?x4x?x24xbf16>, tensor<?x4x?xbf16>
}

// Sums of scores and of the context in parts; more keys than a KV block.
func.func @wide(%query: tensor<1x1x33x192xbf16>, %key: tensor<1x1x261x192xbf16>, %value: tensor<1x1x261x80xbf16>)
    -> tensor<1x1x33x80xbf16> {
  %score = attn.score %query, %key scale(0.07) : tensor<1x1x33x192xbf16>, tensor<1x1x261x192xbf16> -> tensor<1x1x33x261xbf16>
  %masked = attn.mask %score causal(bottom_right) : tensor<1x1x33x261xbf16>
  %prob = attn.softmax %masked : tensor<1x1x33x261xbf16>
  %context = attn.context %prob, %value : tensor<1x1x33x261xbf16>, tensor<1x1x261x80xbf16> -> tensor<1x1x33x80xbf16>
  return %context : tensor<1x1x33x80xbf16>
}

// Three pairs of dims, and a negative scale.
func.func @narrow(%query: tensor<1x2x33x6xbf16>,
                  %key: tensor<1x2x131x6xbf16>) -> tensor<1x2x33x6xbf16> {
  %score = attn.score %query, %key scale(-0.4) : tensor<1x2x33x6xbf16>, tensor<1x2x131x6xbf16> -> tensor<1x2x33x131xbf16>
  %prob = attn.softmax %score : tensor<1x2x33x131xbf16>
  %context = attn.context %prob, %key : tensor<1x2x33x131xbf16>, tensor<1x2x131x6xbf16> -> tensor<1x2x33x6xbf16>
  return %context : tensor<1x2x33x6xbf16>
}

// One KV block, which starts at any key, odd ones too.
func.func @window(%query: tensor<1x2x300x64xbf16>, %key: tensor<1x2x300x64xbf16>) -> tensor<1x2x300x64xbf16> {
  %score = attn.score %query, %key scale(0.125) : tensor<1x2x300x64xbf16>, tensor<1x2x300x64xbf16> -> tensor<1x2x300x300xbf16>
  %masked = attn.mask %score window(36, 3) : tensor<1x2x300x300xbf16>
  %prob = attn.softmax %masked : tensor<1x2x300x300xbf16>
  %context = attn.context %prob, %key : tensor<1x2x300x300xbf16>, tensor<1x2x300x64xbf16> -> tensor<1x2x300x64xbf16>
  return %context : tensor<1x2x300x64xbf16>
}

// Changed scores and probs.
func.func @changed(%query: tensor<1x2x50x32xbf16>,
                   %key: tensor<1x2x77x32xbf16>,
                   %bias: tensor<50x77xbf16>,
                   %factor: tensor<77xbf16>) -> tensor<1x2x50x32xbf16> {
  %score = attn.score %query, %key scale(0.2) : tensor<1x2x50x32xbf16>, tensor<1x2x77x32xbf16> -> tensor<1x2x50x77xbf16>
  %biased = attn.modify_score %score {
  ^bb0(%s: bf16, %b: index, %h: index, %q: index, %k: index):
    %x = tensor.extract %bias[%q, %k] : tensor<50x77xbf16>
    %r = arith.addf %s, %x : bf16
    attn.yield %r : bf16
  } : tensor<1x2x50x77xbf16>
  %prob = attn.softmax %biased : tensor<1x2x50x77xbf16>
  %scaled = attn.modify_prob %prob {
  ^bb0(%p: bf16, %b: index, %h: index, %q: index, %k: index):
    %f = tensor.extract %factor[%k] : tensor<77xbf16>
    %r = arith.mulf %p, %f : bf16
    attn.yield %r : bf16
  } : tensor<1x2x50x77xbf16>
  %context = attn.context %scaled, %key : tensor<1x2x50x77xbf16>, tensor<1x2x77x32xbf16> -> tensor<1x2x50x32xbf16>
  return %context : tensor<1x2x50x32xbf16>
}

// The kernel of few rows, in one of several schedules.
func.func @few(%query: tensor<1x1x?x80xbf16> {attn.dims = [1, 1, "q_len", 80]},
               %key: tensor<1x1x?x80xbf16> {attn.dims = [1, 1, "kv_len", 80]}) -> tensor<1x1x?x80xbf16> {
  %score = attn.score %query, %key scale(0.1) : tensor<1x1x?x80xbf16>, tensor<1x1x?x80xbf16> -> tensor<1x1x?x?xbf16>
  %masked = attn.mask %score causal(bottom_right) : tensor<1x1x?x?xbf16>
  %prob = attn.softmax %masked : tensor<1x1x?x?xbf16>
  %context = attn.context %prob, %key : tensor<1x1x?x?xbf16>, tensor<1x1x?x80xbf16> -> tensor<1x1x?x80xbf16>
  return %context : tensor<1x1x?x80xbf16>
}

// A row of heads that share keys: an odd number of keys, and no value dim that fills a vector; a sink,
// a prob region and an lse.
func.func @step(%query: tensor<2x8x1x64xbf16>, %key: tensor<2x2x203x64xbf16>, %value: tensor<2x2x203x24xbf16>,
                %sink: tensor<1x8x1xbf16>, %factor: tensor<203xbf16>, %lengths: tensor<2xi32>)
    -> (tensor<2x8x1x24xbf16>, tensor<2x8x1xbf16>) {
  %score = attn.score %query, %key scale(-0.125)
      : tensor<2x8x1x64xbf16>, tensor<2x2x203x64xbf16> -> tensor<2x8x1x203xbf16>
  %masked = attn.mask %score kv_lengths(%lengths : tensor<2xi32>) : tensor<2x8x1x203xbf16>
  %prob = attn.softmax %masked sink(%sink : tensor<1x8x1xbf16>) : tensor<2x8x1x203xbf16>
  %scaled = attn.modify_prob %prob {
  ^bb0(%p: bf16, %b: index, %h: index, %q: index, %k: index):
    %f = tensor.extract %factor[%k] : tensor<203xbf16>
    %r = arith.mulf %p, %f : bf16
    attn.yield %r : bf16
  } : tensor<2x8x1x203xbf16>
  %lse = attn.lse %masked : tensor<2x8x1x203xbf16> -> tensor<2x8x1xbf16>
  %context = attn.context %scaled, %value
      : tensor<2x8x1x203xbf16>, tensor<2x2x203x24xbf16> -> tensor<2x8x1x24xbf16>
  return %context, %lse : tensor<2x8x1x24xbf16>, tensor<2x8x1xbf16>
}

// Both keys of a pair are looked up, the last pairs' among them.
func.func @paged_step(%query: tensor<3x8x1x128xbf16>, %pool: tensor<40x2x5x128xbf16>, %values: tensor<40x2x5x128xbf16>,
                      %table: tensor<3x13xi32>, %lengths: tensor<3xi32>) -> tensor<3x8x1x128xbf16> {
  %key = attn.gather_pages %pool[%table] lengths(%lengths : tensor<3xi32>) layout(heads_first)
      : tensor<40x2x5x128xbf16>, tensor<3x13xi32> -> tensor<3x2x65x128xbf16>
  %value = attn.gather_pages %values[%table] lengths(%lengths : tensor<3xi32>) layout(heads_first)
      : tensor<40x2x5x128xbf16>, tensor<3x13xi32> -> tensor<3x2x65x128xbf16>
  %score = attn.score %query, %key scale(0.09) : tensor<3x8x1x128xbf16>, tensor<3x2x65x128xbf16> -> tensor<3x8x1x65xbf16>
  %masked = attn.mask %score kv_lengths(%lengths : tensor<3xi32>) : tensor<3x8x1x65xbf16>
  %prob = attn.softmax %masked : tensor<3x8x1x65xbf16>
  %context = attn.context %prob, %value : tensor<3x8x1x65xbf16>, tensor<3x2x65x128xbf16> -> tensor<3x8x1x128xbf16>
  return %context : tensor<3x8x1x128xbf16>
}
