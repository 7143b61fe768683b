// The lse beside the context, of scores that are NaN or infinite, seen or not: in one head, so that
// both come to one row.

// RUN: attnc verify %s --function prefill --size batch=1,q_len=70,kv_len=150 | FileCheck %s
// RUN: attnc verify %s --function prefill --size batch=2,q_len=20,kv_len=40 --input lengths=zeros | FileCheck %s
// RUN: attnc verify %s --function prefill --size batch=1,q_len=3,kv_len=0 | FileCheck %s
// RUN: attnc verify %s --function prefill --size batch=1,q_len=0,kv_len=5 | FileCheck %s
// RUN: attnc verify %s --function one_chunk | FileCheck %s
// RUN: attnc verify %s --function decode --size kv_len=70 | FileCheck %s
// RUN: attnc verify %s --function decode --size kv_len=2500 | FileCheck %s
// RUN: attnc verify %s --function decode --size kv_len=0 | FileCheck %s
// RUN: attnc verify %s --function half --size kv_len=300 | FileCheck %s
// RUN: attnc verify %s --function brain | FileCheck %s
// RUN: attnc verify %s --function dropped | FileCheck %s
// RUN: attnc verify %s --function interleaved --size q_len=1,7,33 --size kv_len=40 | FileCheck %s
// RUN: attnc verify %s --function halves | FileCheck %s
// CHECK: cases, all within the allowed error

func.func @prefill(%query: tensor<?x2x?x32xf32> {attn.dims = ["batch", 2, "q_len", 32]},
                   %key: tensor<?x1x?x32xf32> {attn.dims = ["batch", 1, "kv_len", 32]},
                   %value: tensor<?x1x?x24xf32> {attn.dims = ["batch", 1, "kv_len", 24]},
                   %sink: tensor<1x2x?xf32> {attn.dims = [1, 2, "q_len"]},
                   %lengths: tensor<?xi64> {attn.dims = ["batch"]})
    -> (tensor<?x2x?x24xf32>, tensor<?x2x?xf32>) {
  %score = attn.score %query, %key scale(-0.2) : tensor<?x2x?x32xf32>, tensor<?x1x?x32xf32>
  %masked = attn.mask %score kv_lengths(%lengths : tensor<?xi64>) : tensor<?x2x?x?xf32>
  %lse = attn.lse %masked : tensor<?x2x?x?xf32>
  %prob = attn.softmax %masked sink(%sink : tensor<1x2x?xf32>) : tensor<?x2x?x?xf32>
  %context = attn.context %prob, %value : tensor<?x2x?x?xf32>, tensor<?x1x?x24xf32>
  return %context, %lse : tensor<?x2x?x24xf32>, tensor<?x2x?xf32>
}

// A window whose keys are one chunk.
func.func @one_chunk(%query: tensor<1x1x100x20xf32>, %key: tensor<1x1x100x20xf32>,
                     %value: tensor<1x1x100x16xf32>) -> (tensor<1x1x100x16xf32>, tensor<1x1x100xf32>) {
  %score = attn.score %query, %key scale(0.3) : tensor<1x1x100x20xf32>, tensor<1x1x100x20xf32>
  %masked = attn.mask %score window(9, 0) : tensor<1x1x100x100xf32>
  %lse = attn.lse %masked : tensor<1x1x100x100xf32>
  %prob = attn.softmax %masked : tensor<1x1x100x100xf32>
  %context = attn.context %prob, %value : tensor<1x1x100x100xf32>, tensor<1x1x100x16xf32>
  return %context, %lse : tensor<1x1x100x16xf32>, tensor<1x1x100xf32>
}

// Of many keys the splits are merged.
func.func @decode(%query: tensor<1x4x1x64xf32>, %key: tensor<1x1x?x64xf32> {attn.dims = [1, 1, "kv_len", 64]},
                  %value: tensor<1x1x?x64xf32> {attn.dims = [1, 1, "kv_len", 64]}, %sink: tensor<1x1x1xf32>)
    -> (tensor<1x4x1x64xf32>, tensor<1x4x1xf32>) {
  %score = attn.score %query, %key scale(0.125) : tensor<1x4x1x64xf32>, tensor<1x1x?x64xf32>
  %lse = attn.lse %score : tensor<1x4x1x?xf32>
  %prob = attn.softmax %score sink(%sink : tensor<1x1x1xf32>) : tensor<1x4x1x?xf32>
  %context = attn.context %prob, %value : tensor<1x4x1x?xf32>, tensor<1x1x?x64xf32>
  return %context, %lse : tensor<1x4x1x64xf32>, tensor<1x4x1xf32>
}

func.func @half(%query: tensor<1x2x9x64xf16>, %key: tensor<1x1x?x64xf16> {attn.dims = [1, 1, "kv_len", 64]})
    -> (tensor<1x2x9x64xf16>, tensor<1x2x9xf16>) {
  %score = attn.score %query, %key scale(0.125) : tensor<1x2x9x64xf16>, tensor<1x1x?x64xf16>
  %masked = attn.mask %score causal(bottom_right) : tensor<1x2x9x?xf16>
  %lse = attn.lse %masked : tensor<1x2x9x?xf16>
  %prob = attn.softmax %masked : tensor<1x2x9x?xf16>
  %context = attn.context %prob, %key : tensor<1x2x9x?xf16>, tensor<1x1x?x64xf16>
  return %context, %lse : tensor<1x2x9x64xf16>, tensor<1x2x9xf16>
}

// An lse of another type, of few rows and of many.
func.func @brain(%query: tensor<1x2x1x64xbf16>, %many: tensor<1x2x30x64xbf16>, %key: tensor<1x1x90x64xbf16>)
    -> (tensor<1x2x1xf32>, tensor<1x2x30xbf16>, tensor<1x2x1x64xbf16>, tensor<1x2x30x64xbf16>) {
  %context, %lse = attn.attention %query, %key, %key scale(0.125)
      : tensor<1x2x1x64xbf16>, tensor<1x1x90x64xbf16>, tensor<1x1x90x64xbf16> -> tensor<1x2x1x64xbf16>, tensor<1x2x1xf32>
  %contexts, %lses = attn.attention %many, %key, %key scale(0.125)
      : tensor<1x2x30x64xbf16>, tensor<1x1x90x64xbf16>, tensor<1x1x90x64xbf16> -> tensor<1x2x30x64xbf16>, tensor<1x2x30xbf16>
  return %lse, %lses, %context, %contexts
      : tensor<1x2x1xf32>, tensor<1x2x30xbf16>, tensor<1x2x1x64xbf16>, tensor<1x2x30x64xbf16>
}

// A key whose prob is made 0 is in the lse all the same.
func.func @dropped(%query: tensor<1x1x70x16xf32>, %key: tensor<1x1x200x16xf32>, %value: tensor<1x1x200x16xf32>)
    -> (tensor<1x1x70x16xf32>, tensor<1x1x70xf32>) {
  %score = attn.score %query, %key scale(0.25) : tensor<1x1x70x16xf32>, tensor<1x1x200x16xf32>
  %lse = attn.lse %score : tensor<1x1x70x200xf32>
  %prob = attn.softmax %score : tensor<1x1x70x200xf32>
  %even = attn.modify_prob %prob {
  ^bb0(%p: f32, %b: index, %h: index, %q: index, %k: index):
    %two = arith.constant 2 : index
    %rest = arith.remui %k, %two : index
    %none = arith.constant 0 : index
    %is_even = arith.cmpi eq, %rest, %none : index
    %zero = arith.constant 0.0 : f32
    %r = arith.select %is_even, %p, %zero : f32
    attn.yield %r : f32
  } : tensor<1x1x70x200xf32>
  %context = attn.context %even, %value : tensor<1x1x70x200xf32>, tensor<1x1x200x16xf32>
  return %context, %lse : tensor<1x1x70x16xf32>, tensor<1x1x70xf32>
}

// Rows of packed heads, of which Halide splits loads and stores by lanes.
func.func @interleaved(%query: tensor<2x4x?x16xf32> {attn.dims = [2, 4, "q_len", 16]},
                       %key: tensor<2x2x?x16xf32> {attn.dims = [2, 2, "kv_len", 16]}, %lengths: tensor<2xi32>)
    -> (tensor<2x4x?x16xf32>, tensor<2x4x?xf32>) {
  %context, %lse = attn.attention %query, %key, %key mask {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %length = tensor.extract %lengths[%b] : tensor<2xi32>
    %n = arith.index_cast %length : i32 to index
    %visible = arith.cmpi slt, %k, %n : index
    attn.yield %visible : i1
  } schedule([#attn.prefill<q_block = 4, kv_block = 16, vector_width = 4, score_vectors = 1, score_keys = 4, context_rows = 4, context_vectors = 1, packed_heads = 2>])
    : tensor<2x4x?x16xf32>, tensor<2x2x?x16xf32>, tensor<2x2x?x16xf32> -> tensor<2x4x?x16xf32>, tensor<2x4x?xf32>
  return %context, %lse : tensor<2x4x?x16xf32>, tensor<2x4x?xf32>
}

func.func @halves(%query: tensor<1x2x8x16xf32>, %key: tensor<1x1x8x16xf32>) -> (tensor<1x2x8x16xf32>, tensor<1x2x8xf32>) {
  %context, %lse = attn.attention %query, %key, %key
    schedule([#attn.prefill<q_block = 16, kv_block = 32, vector_width = 16, score_vectors = 1, score_keys = 8, context_rows = 8, context_vectors = 1, packed_heads = 2>])
    : tensor<1x2x8x16xf32>, tensor<1x1x8x16xf32>, tensor<1x1x8x16xf32> -> tensor<1x2x8x16xf32>, tensor<1x2x8xf32>
  return %context, %lse : tensor<1x2x8x16xf32>, tensor<1x2x8xf32>
}
