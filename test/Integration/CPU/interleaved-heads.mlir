// Decode of heads that lie side by side in memory, which take turns at each KV block: with KV splits
// and without, beside masks of two ranges and of each head, an lse, packed rows, and fewer packed
// heads than share a key head; with prefetches of whole KV blocks, also in pages.

// RUN: attnc compile %s --function split --emit fused -o - | FileCheck %s --check-prefix=SPLIT
// RUN: attnc compile %s --function steps --emit fused -o - | FileCheck %s --check-prefix=STEPS
// SPLIT: interleaved_heads = 3, kv_splits = 32
// STEPS: interleaved_heads = 4

// RUN: attnc verify %s --function split --size kv_len=1500 | FileCheck %s
// RUN: attnc verify %s --function split --size kv_len=0 | FileCheck %s
// RUN: attnc verify %s --function two_ranges --size kv_len=900 | FileCheck %s
// RUN: attnc verify %s --function each_head --size kv_len=300 | FileCheck %s
// RUN: attnc verify %s --function steps --size total=6,num_offsets=7 | FileCheck %s
// RUN: attnc verify %s --function steps --size total=9,num_offsets=7 | FileCheck %s
// RUN: attnc verify %s --function half_packed --size kv_len=200 | FileCheck %s
// RUN: attnc verify %s --function two_blocks_ahead --size kv_len=200 | FileCheck %s
// RUN: sed 's/fetch_ahead = 64, fetches = 2, i/fetch_ahead = 4, fetch_blocks = 1, i/' %s | attnc verify - --function half_packed --size kv_len=200 | FileCheck %s
// RUN: attnc compile %s --function steps --emit fused -o - | sed 's/fetch_ahead = .*interleaved_heads/fetch_ahead = 4, fetch_blocks = 1, interleaved_heads/' > %t.mlir
// RUN: FileCheck %s --check-prefix=BLOCKS < %t.mlir
// RUN: attnc verify %t.mlir --size total=9,num_offsets=7 | FileCheck %s
// BLOCKS: fetch_blocks = 1, interleaved_heads = 4
// CHECK: cases, all within the allowed error

func.func @split(%q: tensor<1x6x1x64xf32>, %rows: tensor<1x?x3x64xf32> {attn.dims = [1, "kv_len", 3, 64]},
                 %length: tensor<1xi32>) -> (tensor<1x6x1x64xf32>, tensor<1x6x1xf32>) {
  %k = attn.transpose %rows [0, 2, 1, 3] : tensor<1x?x3x64xf32> -> tensor<1x3x?x64xf32>
  %score = attn.score %q, %k scale(0.125) : tensor<1x6x1x64xf32>, tensor<1x3x?x64xf32>
  %masked = attn.mask %score kv_lengths(%length : tensor<1xi32>) : tensor<1x6x1x?xf32>
  %lse = attn.lse %masked : tensor<1x6x1x?xf32>
  %prob = attn.softmax %masked : tensor<1x6x1x?xf32>
  %context = attn.context %prob, %k : tensor<1x6x1x?xf32>, tensor<1x3x?x64xf32>
  return %context, %lse : tensor<1x6x1x64xf32>, tensor<1x6x1xf32>
}

func.func @two_ranges(%q: tensor<2x4x1x64xf16>, %rows: tensor<2x?x4x64xf16> {attn.dims = [2, "kv_len", 4, 64]})
    -> tensor<2x4x1x64xf16> {
  %k = attn.transpose %rows [0, 2, 1, 3] : tensor<2x?x4x64xf16> -> tensor<2x4x?x64xf16>
  %score = attn.score %q, %k scale(0.125) : tensor<2x4x1x64xf16>, tensor<2x4x?x64xf16>
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %qi: index, %ki: index):
    %sinks = arith.constant 4 : index
    %first = arith.constant 600 : index
    %sink = arith.cmpi slt, %ki, %sinks : index
    %near = arith.cmpi sge, %ki, %first : index
    %seen = arith.ori %sink, %near : i1
    attn.yield %seen : i1
  } : tensor<2x4x1x?xf16>
  %prob = attn.softmax %masked : tensor<2x4x1x?xf16>
  %context = attn.context %prob, %k : tensor<2x4x1x?xf16>, tensor<2x4x?x64xf16>
  return %context : tensor<2x4x1x64xf16>
}

#turns = #attn.decode<q_block = 1, packed_heads = 1, kv_block = 64, vector_width = 16, score_rows = 1, score_keys = 1, context_rows = 1, context_vectors = 4, fetch_ahead = 64, fetches = 3, interleaved_heads = 2>

func.func @each_head(%q: tensor<1x4x1x64xf32>, %rows: tensor<1x?x4x64xf32> {attn.dims = [1, "kv_len", 4, 64]})
    -> tensor<1x4x1x64xf32> {
  %k = attn.transpose %rows [0, 2, 1, 3] : tensor<1x?x4x64xf32> -> tensor<1x4x?x64xf32>
  %context = attn.attention %q, %k, %k scale(0.125) mask {
  ^bb0(%b: index, %h: index, %qi: index, %ki: index):
    %keys = arith.constant 80 : index
    %first = arith.muli %h, %keys : index
    %seen = arith.cmpi sge, %ki, %first : index
    attn.yield %seen : i1
  } schedule([#turns]) : tensor<1x4x1x64xf32>, tensor<1x4x?x64xf32>, tensor<1x4x?x64xf32> -> tensor<1x4x1x64xf32>
  return %context : tensor<1x4x1x64xf32>
}

#ahead = #attn.decode<q_block = 2, packed_heads = 2, kv_block = 16, vector_width = 16, score_rows = 2, score_keys = 2, context_rows = 2, context_vectors = 4, fetch_blocks = 2, interleaved_heads = 3>

func.func @two_blocks_ahead(%q: tensor<1x6x1x64xf32>, %rows: tensor<1x?x3x64xf32> {attn.dims = [1, "kv_len", 3, 64]})
    -> tensor<1x6x1x64xf32> {
  %k = attn.transpose %rows [0, 2, 1, 3] : tensor<1x?x3x64xf32> -> tensor<1x3x?x64xf32>
  %context = attn.attention %q, %k, %k scale(0.125) schedule([#ahead]) : tensor<1x6x1x64xf32>, tensor<1x3x?x64xf32>, tensor<1x3x?x64xf32> -> tensor<1x6x1x64xf32>
  return %context : tensor<1x6x1x64xf32>
}

func.func @half_packed(%q: tensor<1x8x1x64xf32>, %rows: tensor<1x?x2x64xf32> {attn.dims = [1, "kv_len", 2, 64]})
    -> tensor<1x8x1x64xf32> {
  %k = attn.transpose %rows [0, 2, 1, 3] : tensor<1x?x2x64xf32> -> tensor<1x2x?x64xf32>
  %context = attn.attention %q, %k, %k scale(0.125) schedule([#attn.decode<q_block = 2, packed_heads = 2, kv_block = 64, vector_width = 16, score_rows = 2, score_keys = 1, context_rows = 2, context_vectors = 4, fetch_ahead = 64, fetches = 2, interleaved_heads = 4>]) : tensor<1x8x1x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32> -> tensor<1x8x1x64xf32>
  return %context : tensor<1x8x1x64xf32>
}

func.func @steps(%rows: tensor<?x8x64xf32> {attn.dims = ["total", 8, 64]}, %offsets: tensor<?xi32>,
                 %pages: tensor<40x16x4x64xf32>, %table: tensor<?x5xi32>, %lengths: tensor<?xi32>)
    -> tensor<?x8x64xf32> {
  %q = attn.unpack_rows %rows offsets(%offsets) : tensor<?x8x64xf32>, tensor<?xi32>
  %k = attn.gather_pages %pages[%table] lengths(%lengths : tensor<?xi32>) layout(keys_first) : tensor<40x16x4x64xf32>, tensor<?x5xi32>
  %score = attn.score %q, %k scale(0.125) : tensor<?x8x?x64xf32>, tensor<?x4x80x64xf32>
  %masked = attn.mask %score kv_lengths(%lengths : tensor<?xi32>) : tensor<?x8x?x80xf32>
  %prob = attn.softmax %masked : tensor<?x8x?x80xf32>
  %context = attn.context %prob, %k : tensor<?x8x?x80xf32>, tensor<?x4x80x64xf32>
  %packed = attn.pack_rows %context offsets(%offsets) : tensor<?x8x?x64xf32>, tensor<?xi32>
  return %packed : tensor<?x8x64xf32>
}
