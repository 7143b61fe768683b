// NaN among scores where a region gives it another meaning, and as it is stored in f16 and bf16.

// RUN: attnc verify %s --function least --size q_len=21 | FileCheck %s
// RUN: attnc verify %s --function finite --size q_len=21 | FileCheck %s
// RUN: attnc verify %s --function half --size q_len=21 --target x86-64-linux-sse41 | FileCheck %s
// CHECK: cases, all within the allowed error

// The lesser number, of NaN and a number the number.
func.func @least(%query: tensor<1x1x?x20xf32> {attn.name = "query", attn.dims = [1, 1, "q_len", 20]},
                 %key: tensor<1x1x64x20xf32>, %value: tensor<1x1x64x16xf32>) -> tensor<1x1x?x16xf32> {
  %score = attn.score %query, %key : tensor<1x1x?x20xf32>, tensor<1x1x64x20xf32> -> tensor<1x1x?x64xf32>
  %least = attn.modify_score %score {
  ^bb0(%x: f32, %b: index, %h: index, %q: index, %k: index):
    %high = arith.constant 0.75 : f32
    %r = arith.minnumf %x, %high : f32
    attn.yield %r : f32
  } : tensor<1x1x?x64xf32>
  %prob = attn.softmax %least : tensor<1x1x?x64xf32>
  %context = attn.context %prob, %value : tensor<1x1x?x64xf32>, tensor<1x1x64x16xf32> -> tensor<1x1x?x16xf32>
  return %context : tensor<1x1x?x16xf32>
}

// Another score for those that are no finite number.
func.func @finite(%query: tensor<1x1x?x20xf32> {attn.name = "query", attn.dims = [1, 1, "q_len", 20]},
                  %key: tensor<1x1x64x20xf32>, %value: tensor<1x1x64x16xf32>) -> tensor<1x1x?x16xf32> {
  %score = attn.score %query, %key : tensor<1x1x?x20xf32>, tensor<1x1x64x20xf32> -> tensor<1x1x?x64xf32>
  %finite = attn.modify_score %score {
  ^bb0(%x: f32, %b: index, %h: index, %q: index, %k: index):
    %is_finite = math.isfinite %x : f32
    %other = arith.constant -0.5 : f32
    %r = arith.select %is_finite, %x, %other : f32
    attn.yield %r : f32
  } : tensor<1x1x?x64xf32>
  %prob = attn.softmax %finite : tensor<1x1x?x64xf32>
  %context = attn.context %prob, %value : tensor<1x1x?x64xf32>, tensor<1x1x64x16xf32> -> tensor<1x1x?x16xf32>
  return %context : tensor<1x1x?x16xf32>
}

// A CPU without conversions of f16: NaN stays NaN when it is stored.
func.func @half(%query: tensor<1x1x?x20xf16> {attn.name = "query", attn.dims = [1, 1, "q_len", 20]},
                %key: tensor<1x1x64x20xf16>, %value: tensor<1x1x64x16xf16>) -> tensor<1x1x?x16xf16> {
  %score = attn.score %query, %key scale(0.25) : tensor<1x1x?x20xf16>, tensor<1x1x64x20xf16> -> tensor<1x1x?x64xf16>
  %masked = attn.mask %score causal(top_left) : tensor<1x1x?x64xf16>
  %prob = attn.softmax %masked : tensor<1x1x?x64xf16>
  %context = attn.context %prob, %value : tensor<1x1x?x64xf16>, tensor<1x1x64x16xf16> -> tensor<1x1x?x16xf16>
  return %context : tensor<1x1x?x16xf16>
}
