// RUN: attn-opt %s --attn-select-schedule=target=x86-64-linux-avx512_skylake | FileCheck %s --check-prefixes=CHECK,AVX512,WIDE
// RUN: attn-opt %s --attn-select-schedule=target=x86-64-linux-avx2 | FileCheck %s --check-prefixes=CHECK,NARROW
// RUN: attn-opt %s --attn-select-schedule=target=x86-64-linux-avx512_zen4 | FileCheck %s --check-prefixes=CHECK,AVX512,PAIRS,ZEN4
// RUN: attn-opt %s --attn-select-schedule=target=x86-64-linux-avx512_zen5 | FileCheck %s --check-prefixes=CHECK,AVX512,PAIRS,ZEN5
// RUN: attn-opt %s --attn-select-schedule=target=x86-64-linux-avx512_sapphirerapids | FileCheck %s --check-prefixes=CHECK,TILES
// RUN: attn-opt %s --attn-select-schedule=target=x86-64-linux | FileCheck %s --check-prefixes=PLAIN

// A static q_len has one kernel, with the query block that wastes the fewest rows.
// CHECK-LABEL: func.func @many_rows
// WIDE: schedule([#attn.prefill<q_block = 48, kv_block = 128, vector_width = 16, score_vectors = 3, score_keys = 8, context_rows = 6, context_vectors = 4, fetch_ahead = 64>])
// NARROW: schedule([#attn.prefill<q_block = 24, kv_block = 80, vector_width = 8, score_vectors = 3, score_keys = 4, context_rows = 6, context_vectors = 2, fetch_ahead = 64>])
// PLAIN: schedule([#attn.prefill<q_block = 48, kv_block = 64, vector_width = 4, score_vectors = 4, score_keys = 2, context_rows = 6, context_vectors = 2, fetch_ahead = 64>])
func.func @many_rows(%x: tensor<1x8x2048x64xf32>) -> tensor<1x8x2048x64xf32> {
  %c = attn.attention %x, %x, %x : tensor<1x8x2048x64xf32>, tensor<1x8x2048x64xf32>, tensor<1x8x2048x64xf32> -> tensor<1x8x2048x64xf32>
  return %c : tensor<1x8x2048x64xf32>
}

// CHECK-LABEL: func.func @some_rows
// CHECK: schedule([#attn.prefill<q_block = 32,
func.func @some_rows(%x: tensor<1x8x49x64xf32>) -> tensor<1x8x49x64xf32> {
  %c = attn.attention %x, %x, %x : tensor<1x8x49x64xf32>, tensor<1x8x49x64xf32>, tensor<1x8x49x64xf32> -> tensor<1x8x49x64xf32>
  return %c : tensor<1x8x49x64xf32>
}

// Value dims of five vectors are one block of five: nothing is padded.
// CHECK-LABEL: func.func @five_vectors
// WIDE: context_rows = 4, context_vectors = 5, fetch_ahead = 64>
func.func @five_vectors(%x: tensor<1x8x2048x80xf32>) -> tensor<1x8x2048x80xf32> {
  %c = attn.attention %x, %x, %x : tensor<1x8x2048x80xf32>, tensor<1x8x2048x80xf32>, tensor<1x8x2048x80xf32> -> tensor<1x8x2048x80xf32>
  return %c : tensor<1x8x2048x80xf32>
}

// One row: the four query heads of a head of key and value are the rows of a query block.
// CHECK-LABEL: func.func @one_row
// WIDE: schedule([#attn.decode<q_block = 4, packed_heads = 4, kv_block = 64, vector_width = 16, score_rows = 4, score_keys = 2, context_rows = 2, context_vectors = 8, fetch_ahead = 64, fetches = 3, kv_splits = 4>])
// ZEN4: schedule([#attn.decode<{{.*}}score_keys = 2,
// ZEN5: schedule([#attn.decode<{{.*}}score_keys = 1,
// NARROW: schedule([#attn.decode<q_block = 4, packed_heads = 4, kv_block = 16, vector_width = 8, score_rows = 4, score_keys = 1, context_rows = 4, context_vectors = 4, fetch_ahead = 16, fetches = 2, fetch_locality = 3, kv_splits = 4>])
func.func @one_row(%q: tensor<1x32x1x128xf32>, %k: tensor<1x8x?x128xf32>) -> tensor<1x32x1x128xf32> {
  %c = attn.attention %q, %k, %k : tensor<1x32x1x128xf32>, tensor<1x8x?x128xf32>, tensor<1x8x?x128xf32> -> tensor<1x32x1x128xf32>
  return %c : tensor<1x32x1x128xf32>
}

// Many rows of 16 bits share what they load and widen.
// CHECK-LABEL: func.func @many_heads
// WIDE: schedule([#attn.decode<q_block = 8, packed_heads = 8, kv_block = 128, vector_width = 16, score_rows = 4, score_keys = 4, context_rows = 4, context_vectors = 4, fetch_ahead = 128, kv_splits = 32>])
// NARROW: schedule([#attn.decode<q_block = 8, packed_heads = 8, kv_block = 32, vector_width = 8, score_rows = 4, score_keys = 2, context_rows = 4, context_vectors = 2, fetch_ahead = 32, fetch_locality = 3, fetch_blocks = 1, kv_splits = 32>])
func.func @many_heads(%q: tensor<1x8x1x128xbf16>, %k: tensor<1x1x?x128xbf16>) -> tensor<1x8x1x128xbf16> {
  %c = attn.attention %q, %k, %k : tensor<1x8x1x128xbf16>, tensor<1x1x?x128xbf16>, tensor<1x1x?x128xbf16> -> tensor<1x8x1x128xbf16>
  return %c : tensor<1x8x1x128xbf16>
}

// Four rows do, too, but on Zen 5, which reads memory fastest in order: the whole row of a value at once.
// CHECK-LABEL: func.func @some_heads_f16
// WIDE: schedule([#attn.decode<q_block = 4, packed_heads = 4, kv_block = 128, vector_width = 16, score_rows = 4, score_keys = 4, context_rows = 4, context_vectors = 4, fetch_ahead = 128, kv_splits = 4>])
// ZEN4: schedule([#attn.decode<q_block = 4, packed_heads = 4, kv_block = 128, {{.*}} score_keys = 4, context_rows = 4, context_vectors = 4,
// ZEN5: schedule([#attn.decode<q_block = 4, packed_heads = 4, kv_block = 32, {{.*}} score_keys = 2, context_rows = 2, context_vectors = 8,
func.func @some_heads_f16(%q: tensor<1x32x1x128xf16>, %k: tensor<1x8x?x128xf16>) -> tensor<1x32x1x128xf16> {
  %c = attn.attention %q, %k, %k : tensor<1x32x1x128xf16>, tensor<1x8x?x128xf16>, tensor<1x8x?x128xf16> -> tensor<1x32x1x128xf16>
  return %c : tensor<1x32x1x128xf16>
}

// So many heads that share keys are rows in vectors, as those of a prompt are.
// CHECK-LABEL: func.func @vectors_of_heads
// WIDE: schedule([#attn.prefill<q_block = 64, kv_block = 64, vector_width = 16, score_vectors = 2, score_keys = 8, context_rows = 4, context_vectors = 4, fetch_ahead = 64, packed_heads = 64, kv_splits = 16>])
// NARROW: schedule([#attn.prefill<q_block = 64, kv_block = 64, vector_width = 8, score_vectors = 2, score_keys = 4, context_rows = 4, context_vectors = 2, fetch_ahead = 64, packed_heads = 64, kv_splits = 16>])
// CHECK: #attn.prefill<q_block = 32, {{.*}}packed_heads = 16, kv_splits = 4>
func.func @vectors_of_heads(%q: tensor<1x128x1x128xf32>, %k: tensor<1x1x?x128xf32>, %q3: tensor<1x128x3x128xf32>) -> (tensor<1x128x1x128xf32>, tensor<1x128x3x128xf32>) {
  %c = attn.attention %q, %k, %k : tensor<1x128x1x128xf32>, tensor<1x1x?x128xf32>, tensor<1x1x?x128xf32> -> tensor<1x128x1x128xf32>
  %d = attn.attention %q3, %k, %k : tensor<1x128x3x128xf32>, tensor<1x1x?x128xf32>, tensor<1x1x?x128xf32> -> tensor<1x128x3x128xf32>
  return %c, %d : tensor<1x128x1x128xf32>, tensor<1x128x3x128xf32>
}

// As many parts of the keys as give every core of a large machine something to do; a prob
// region has to see all of them.
// CHECK-LABEL: func.func @one_row_of_one_head
// NARROW: schedule([#attn.decode<q_block = 1, packed_heads = 1, kv_block = 96, vector_width = 8, score_rows = 1, score_keys = 1, context_rows = 1, context_vectors = 16,
// CHECK: kv_splits = 32>])
// CHECK: context_vectors = {{[0-9]+(, fetch_ahead = (64|16, fetch_locality = 3))?}}>])
func.func @one_row_of_one_head(%q: tensor<1x1x1x128xf32>, %k: tensor<1x1x?x128xf32>) -> (tensor<1x1x1x128xf32>, tensor<1x1x1x128xf32>) {
  %c = attn.attention %q, %k, %k : tensor<1x1x1x128xf32>, tensor<1x1x?x128xf32>, tensor<1x1x?x128xf32> -> tensor<1x1x1x128xf32>
  %d = attn.attention %q, %k, %k prob_mod {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %p : f32
  } : tensor<1x1x1x128xf32>, tensor<1x1x?x128xf32>, tensor<1x1x?x128xf32> -> tensor<1x1x1x128xf32>
  return %c, %d : tensor<1x1x1x128xf32>, tensor<1x1x1x128xf32>
}

// Any q_len: a call chooses.
// CHECK-LABEL: func.func @any_rows
// CHECK: schedule([#attn.decode<q_block = 1, packed_heads = 1, {{.*}} max_q_len = 1>,
// CHECK-SAME: #attn.prefill<q_block = 16, {{.*}} max_q_len = 16>,
// AVX512-SAME: #attn.prefill<q_block = 32, {{.*}} max_q_len = 128>, #attn.prefill<q_block = 48, {{[^>]*}} context_vectors = {{[0-9]}}, fetch_ahead = 64>])
// NARROW-SAME: #attn.prefill<q_block = 24, {{[^>]*}} context_vectors = {{[0-9]}}, fetch_ahead = 64>])
func.func @any_rows(%x: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %c = attn.attention %x, %x, %x : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// A head_dim that fills no whole vectors has no decode kernel.
// CHECK-LABEL: func.func @odd_head_dim
// CHECK: schedule([#attn.prefill<q_block = 16,
func.func @odd_head_dim(%x: tensor<1x8x1x17xf32>) -> tensor<1x8x1x17xf32> {
  %c = attn.attention %x, %x, %x : tensor<1x8x1x17xf32>, tensor<1x8x1x17xf32>, tensor<1x8x1x17xf32> -> tensor<1x8x1x17xf32>
  return %c : tensor<1x8x1x17xf32>
}

// A narrow window has small query blocks, and one KV block, without prefetches, for its keys and those
// of the block's other rows, 256 + 31 or 23. What both bounds are relative to plays no part if it moves on with
// the row.
// CHECK-LABEL: func.func @window
// AVX512: schedule([#attn.prefill<q_block = 32, kv_block = 288, {{[^>]*}}context_vectors = {{[0-9]}}>])
// NARROW: schedule([#attn.prefill<q_block = 24, kv_block = 288, {{[^>]*}}context_vectors = {{[0-9]}}>])
func.func @window(%x: tensor<1x8x2048x64xf32>, %n: index) -> tensor<1x8x2048x64xf32> {
  %c = attn.attention %x, %x, %x mask {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %middle = arith.addi %q, %n : index
    %c255 = arith.constant 255 : index
    %first = arith.subi %middle, %c255 : index
    %1 = arith.cmpi sge, %k, %first : index
    %2 = arith.cmpi sge, %middle, %k : index
    %3 = arith.andi %1, %2 : i1
    attn.yield %3 : i1
  } : tensor<1x8x2048x64xf32>, tensor<1x8x2048x64xf32>, tensor<1x8x2048x64xf32> -> tensor<1x8x2048x64xf32>
  return %c : tensor<1x8x2048x64xf32>
}

// Rows next to each other may see keys that are far from each other: KV blocks that 256 + 31 fill.
// CHECK-LABEL: func.func @window_that_jumps
// AVX512: schedule([#attn.prefill<q_block = 32, kv_block = 96,
// NARROW: schedule([#attn.prefill<q_block = 24, kv_block = 96,
func.func @window_that_jumps(%x: tensor<1x8x2048x64xf32>, %n: index) -> tensor<1x8x2048x64xf32> {
  %c = attn.attention %x, %x, %x mask {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %middle = arith.remui %q, %n : index
    %c255 = arith.constant 255 : index
    %first = arith.subi %middle, %c255 : index
    %1 = arith.cmpi sge, %k, %first : index
    %2 = arith.cmpi sge, %middle, %k : index
    %3 = arith.andi %1, %2 : i1
    attn.yield %3 : i1
  } : tensor<1x8x2048x64xf32>, tensor<1x8x2048x64xf32>, tensor<1x8x2048x64xf32> -> tensor<1x8x2048x64xf32>
  return %c : tensor<1x8x2048x64xf32>
}

// The keys of a wide window, 512 + 31, are six KV blocks.
// CHECK-LABEL: func.func @wide_window
// AVX512: schedule([#attn.prefill<q_block = 32, kv_block = 96,
// NARROW: schedule([#attn.prefill<q_block = 24, kv_block = 96,
func.func @wide_window(%x: tensor<1x8x2048x64xf32>) -> tensor<1x8x2048x64xf32> {
  %c = attn.attention %x, %x, %x mask {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %c511 = arith.constant 511 : index
    %first = arith.subi %q, %c511 : index
    %1 = arith.cmpi sge, %k, %first : index
    %2 = arith.cmpi sle, %k, %q : index
    %3 = arith.andi %1, %2 : i1
    attn.yield %3 : i1
  } : tensor<1x8x2048x64xf32>, tensor<1x8x2048x64xf32>, tensor<1x8x2048x64xf32> -> tensor<1x8x2048x64xf32>
  return %c : tensor<1x8x2048x64xf32>
}

// Keys before a row, but from a fixed one on: any number of them.
// CHECK-LABEL: func.func @growing
// AVX512: schedule([#attn.prefill<q_block = 48, kv_block = {{64|96}},
// NARROW: schedule([#attn.prefill<q_block = 24, kv_block = 80,
func.func @growing(%x: tensor<1x8x2048x64xf32>) -> tensor<1x8x2048x64xf32> {
  %c = attn.attention %x, %x, %x mask {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %c5 = arith.constant 5 : index
    %1 = arith.cmpi sge, %k, %c5 : index
    %2 = arith.cmpi sle, %k, %q : index
    %3 = arith.andi %1, %2 : i1
    attn.yield %3 : i1
  } : tensor<1x8x2048x64xf32>, tensor<1x8x2048x64xf32>, tensor<1x8x2048x64xf32> -> tensor<1x8x2048x64xf32>
  return %c : tensor<1x8x2048x64xf32>
}

// The keys exceed the cache, and each query block rereads them: few large blocks.
// CHECK-LABEL: func.func @far_keys
// WIDE: schedule([#attn.prefill<q_block = 192, kv_block = 64,
// NARROW: schedule([#attn.prefill<q_block = 24, kv_block = 80,
func.func @far_keys(%x: tensor<1x1x32768x64xf32>) -> tensor<1x1x32768x64xf32> {
  %c = attn.attention %x, %x, %x : tensor<1x1x32768x64xf32>, tensor<1x1x32768x64xf32>, tensor<1x1x32768x64xf32> -> tensor<1x1x32768x64xf32>
  return %c : tensor<1x1x32768x64xf32>
}

// With this mask a query block may see few of them: query blocks and KV blocks fit those of the mask.
// CHECK-LABEL: func.func @blocks_of_far_keys
// WIDE: schedule([#attn.prefill<q_block = 64, kv_block = 64,
// NARROW: schedule([#attn.prefill<q_block = 32, kv_block = 64,
func.func @blocks_of_far_keys(%x: tensor<1x1x32768x64xf32>) -> tensor<1x1x32768x64xf32> {
  %c = attn.attention %x, %x, %x mask {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %size = arith.constant 512 : index
    %i = arith.divui %q, %size : index
    %j = arith.divui %k, %size : index
    %m = arith.cmpi eq, %i, %j : index
    attn.yield %m : i1
  } : tensor<1x1x32768x64xf32>, tensor<1x1x32768x64xf32>, tensor<1x1x32768x64xf32> -> tensor<1x1x32768x64xf32>
  return %c : tensor<1x1x32768x64xf32>
}

// Products of bf16 by AMX where the CPU has it, in pairs where they are faster; for an even head_dim.
// CHECK-LABEL: func.func @bf16
// PAIRS: #attn.prefill<{{.*}}, products = bf16_pairs>
// TILES: #attn.prefill<q_block = 128, kv_block = 512, vector_width = 16, {{.*}}, products = bf16_tiles>
// TILES: #attn.prefill<
// TILES-NOT: products
// TILES: #attn.prefill<
// TILES-NOT: products
// PAIRS: #attn.prefill<
// PAIRS-NOT: products
// PAIRS: #attn.prefill<
// PAIRS-NOT: products
// Few rows take pairs that fill vectors, where several share them.
// ZEN4: #attn.decode<q_block = 4, packed_heads = 4, kv_block = 64, vector_width = 16, score_rows = 4, score_keys = 2, context_rows = 4, context_vectors = 4, products = bf16_pairs, fetch_ahead = 64, kv_splits = 16>
// ZEN5: #attn.decode<q_block = 4, packed_heads = 4, kv_block = 32, vector_width = 16, score_rows = 4, score_keys = 2, context_rows = 4, context_vectors = 4, products = bf16_pairs, fetch_ahead = 32, fetches = 2, fetch_locality = 3, kv_splits = 16>
// PAIRS-NOT: products
// PAIRS: #attn.decode<
// PAIRS-NOT: products
// TILES: #attn.decode<
// TILES-NOT: products
// WIDE-NOT: products
// CHECK: return
func.func @bf16(%x: tensor<1x8x2048x64xbf16>, %odd: tensor<1x8x2048x63xbf16>, %half: tensor<1x8x2048x64xf16>,
                %row: tensor<1x8x1x64xbf16>, %shared: tensor<1x2x2048x64xbf16>)
    -> (tensor<1x8x2048x64xbf16>, tensor<1x8x2048x63xbf16>, tensor<1x8x2048x64xf16>, tensor<1x8x1x64xbf16>, tensor<1x8x1x64xbf16>) {
  %c = attn.attention %x, %x, %x : tensor<1x8x2048x64xbf16>, tensor<1x8x2048x64xbf16>, tensor<1x8x2048x64xbf16> -> tensor<1x8x2048x64xbf16>
  %d = attn.attention %odd, %odd, %odd : tensor<1x8x2048x63xbf16>, tensor<1x8x2048x63xbf16>, tensor<1x8x2048x63xbf16> -> tensor<1x8x2048x63xbf16>
  %e = attn.attention %half, %half, %half : tensor<1x8x2048x64xf16>, tensor<1x8x2048x64xf16>, tensor<1x8x2048x64xf16> -> tensor<1x8x2048x64xf16>
  %f = attn.attention %row, %shared, %shared : tensor<1x8x1x64xbf16>, tensor<1x2x2048x64xbf16>, tensor<1x2x2048x64xbf16> -> tensor<1x8x1x64xbf16>
  %g = attn.attention %row, %x, %x : tensor<1x8x1x64xbf16>, tensor<1x8x2048x64xbf16>, tensor<1x8x2048x64xbf16> -> tensor<1x8x1x64xbf16>
  return %c, %d, %e, %f, %g : tensor<1x8x2048x64xbf16>, tensor<1x8x2048x63xbf16>, tensor<1x8x2048x64xf16>, tensor<1x8x1x64xbf16>, tensor<1x8x1x64xbf16>
}

// Where calls are expected to have so many rows, there is one kernel, made for them, which serves all.
// CHECK-LABEL: func.func @expected_rows
// CHECK-NOT: max_q_len
// AVX512: schedule([#attn.prefill<q_block = 32,
// NARROW: schedule([#attn.prefill<q_block = 24,
// CHECK-NOT: max_q_len
// CHECK-LABEL: func.func @expected_row
// CHECK-NOT: max_q_len
// CHECK: schedule([#attn.decode<
// CHECK-NOT: max_q_len
// CHECK: return
func.func @expected_rows(%x: tensor<1x8x?x64xf32>) -> tensor<1x8x?x64xf32> attributes {attn.q_len = 100} {
  %c = attn.attention %x, %x, %x : tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32> -> tensor<1x8x?x64xf32>
  return %c : tensor<1x8x?x64xf32>
}
func.func @expected_row(%x: tensor<1x8x?x64xf32>) -> tensor<1x8x?x64xf32> attributes {attn.q_len = 1} {
  %c = attn.attention %x, %x, %x : tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32> -> tensor<1x8x?x64xf32>
  return %c : tensor<1x8x?x64xf32>
}

// A linear layer's kernels share the panels of a constant weight: a kernel for one row, if there may be one, and one for many.
// Weights packed in the call have the latter alone, and so have short rows beside a long dimension.
// CHECK-LABEL: func.func @linear(
// WIDE: attn.linear {{.*}} schedule([#attn.linear<row_tile = 1, vectors = 4, vector_width = 16, row_block = 516, max_rows = 1>, #attn.linear<row_tile = 6, vectors = 4, vector_width = 16, row_block = 516>])
// PAIRS: attn.linear {{.*}} row_block = 516, products = bf16_pairs, max_rows = 1>, {{.*}} row_block = 516, products = bf16_pairs>])
// TILES: attn.linear {{.*}} schedule([#attn.linear<row_tile = 1, vectors = 2, vector_width = 16, row_block = 256, products = bf16_tiles, max_rows = 1>, #attn.linear<row_tile = 8, vectors = 2, vector_width = 16, row_block = 256, products = bf16_tiles>])
// NARROW: attn.linear {{.*}} schedule([#attn.linear<row_tile = 1, vectors = 2, vector_width = 8, row_block = 96, max_rows = 1>, #attn.linear<row_tile = 6, vectors = 2, vector_width = 8, row_block = 96>])
// WIDE: attn.linear {{.*}} schedule([#attn.linear<row_tile = 6, vectors = 4, vector_width = 16, row_block = 516>])
// WIDE: attn.linear {{.*}} schedule([#attn.linear<row_tile = 6, vectors = 4, vector_width = 16, row_block = 516>])
// WIDE: attn.linear {{.*}} schedule([#attn.linear<row_tile = 6, vectors = 4, vector_width = 8, row_block = 516>])
// PAIRS-NOT: vector_width = 8,{{.*}}bf16_pairs
// CHECK: return
func.func @linear(%x: tensor<?x8xbf16>, %w: tensor<4x8xbf16>, %short: tensor<8x1x8xbf16>, %wide: tensor<2x8xf64>, %v: tensor<4x8xf64>)
    -> (tensor<?x4xbf16>, tensor<?x4xbf16>, tensor<8x1x4xbf16>, tensor<2x4xf64>) {
  %c = arith.constant dense<2.0> : tensor<4x8xbf16>
  %a = attn.linear %x, %c : tensor<?x8xbf16>, tensor<4x8xbf16> -> tensor<?x4xbf16>
  %b = attn.linear %x, %w : tensor<?x8xbf16>, tensor<4x8xbf16> -> tensor<?x4xbf16>
  %d = attn.linear %short, %c : tensor<8x1x8xbf16>, tensor<4x8xbf16> -> tensor<8x1x4xbf16>
  %e = attn.linear %wide, %v : tensor<2x8xf64>, tensor<4x8xf64> -> tensor<2x4xf64>
  return %a, %b, %d, %e : tensor<?x4xbf16>, tensor<?x4xbf16>, tensor<8x1x4xbf16>, tensor<2x4xf64>
}

// Of 16 registers, panels of three vectors go with tiles of four rows, where they divide features and heads.
// CHECK-LABEL: func.func @linear_panels
// WIDE: schedule([#attn.linear<row_tile = 6, vectors = 4, vector_width = 16,
// NARROW: schedule([#attn.linear<row_tile = 4, vectors = 3, vector_width = 8, row_block = 96>])
// NARROW: schedule([#attn.linear<row_tile = 6, vectors = 2, vector_width = 8, row_block = 96>])
// CHECK: return
func.func @linear_panels(%x: tensor<2x128x48xf32>) -> (tensor<2x128x48xf32>, tensor<2x3x128x16xf32>) {
  %w = arith.constant dense<2.0> : tensor<48x48xf32>
  %y = attn.linear %x, %w : tensor<2x128x48xf32>, tensor<48x48xf32> -> tensor<2x128x48xf32>
  %z = attn.linear %y, %w : tensor<2x128x48xf32>, tensor<48x48xf32> -> tensor<2x128x48xf32>
  %h = attn.split_heads %z num_heads(3) : tensor<2x128x48xf32> -> tensor<2x3x128x16xf32>
  return %y, %h : tensor<2x128x48xf32>, tensor<2x3x128x16xf32>
}

// A few rows read weights that only a call knows in place, in whole vectors of in_features.
// CHECK-LABEL: func.func @linear_in_place
// WIDE: schedule([#attn.linear<row_tile = 4, vectors = 4, vector_width = 16, row_block = 128, packed = false, max_rows = 128>, #attn.linear<row_tile = 6, vectors = 4, vector_width = 16, row_block = 516>])
// NARROW: schedule([#attn.linear<row_tile = 2, vectors = 4, vector_width = 8, row_block = 128, packed = false, max_rows = 128>, #attn.linear<row_tile = 6, vectors = 2, vector_width = 8, row_block = 96>])
// WIDE: schedule([#attn.linear<{{.*}} row_block = 16, packed = false>])
// WIDE: schedule([#attn.linear<row_tile = 6, vectors = 4, vector_width = 16, row_block = 516>])
func.func @linear_in_place(%x: tensor<?x48xf32>, %w: tensor<4x48xf32>, %y: tensor<16x48xbf16>, %v: tensor<4x48xbf16>, %u: tensor<48x4xf32>)
    -> (tensor<?x4xf32>, tensor<16x4xbf16>, tensor<?x48xf32>) {
  %a = attn.linear %x, %w : tensor<?x48xf32>, tensor<4x48xf32> -> tensor<?x4xf32>
  %b = attn.linear %y, %v : tensor<16x48xbf16>, tensor<4x48xbf16> -> tensor<16x4xbf16>
  %c = attn.linear %a, %u : tensor<?x4xf32>, tensor<48x4xf32> -> tensor<?x48xf32>
  return %a, %b, %c : tensor<?x4xf32>, tensor<16x4xbf16>, tensor<?x48xf32>
}

// Heads of a linear layer that alone reads them are stored one after the other, if no panel exceeds one: nothing is copied.
// CHECK-LABEL: func.func @stored_heads
// NARROW: schedule([#attn.prefill<q_block = 24, kv_block = 80,
// NARROW-NOT: copy_kv_blocks
// TILES: schedule([#attn.prefill<q_block = 48, kv_block = 128,
// TILES-NOT: copy_kv_blocks
// CHECK: return
// CHECK-LABEL: func.func @heads_in_rows
// TILES: schedule([#attn.prefill<q_block = 96, kv_block = 64, {{.*}} copy_kv_blocks = 1>])
// NARROW: schedule([#attn.prefill<q_block = 48, kv_block = 96, {{.*}} copy_kv_blocks = 1>])
func.func @stored_heads(%x: tensor<1x512x512xf32>, %w: tensor<512x512xf32>) -> tensor<1x8x512x64xf32> {
  %y = attn.linear %x, %w : tensor<1x512x512xf32>, tensor<512x512xf32> -> tensor<1x512x512xf32>
  %h = attn.split_heads %y num_heads(8) : tensor<1x512x512xf32> -> tensor<1x8x512x64xf32>
  %c = attn.attention %h, %h, %h : tensor<1x8x512x64xf32>, tensor<1x8x512x64xf32>, tensor<1x8x512x64xf32> -> tensor<1x8x512x64xf32>
  return %c : tensor<1x8x512x64xf32>
}
func.func @heads_in_rows(%x: tensor<1x512x512xf32>) -> tensor<1x8x512x64xf32> {
  %h = attn.split_heads %x num_heads(8) : tensor<1x512x512xf32> -> tensor<1x8x512x64xf32>
  %c = attn.attention %h, %h, %h : tensor<1x8x512x64xf32>, tensor<1x8x512x64xf32>, tensor<1x8x512x64xf32> -> tensor<1x8x512x64xf32>
  return %c : tensor<1x8x512x64xf32>
}

// Query blocks across two documents visit the keys of both: they are small. Keys that a search finds need no bounds in a KV block.
// CHECK-LABEL: func.func @documents
// WIDE: schedule([#attn.prefill<q_block = 32, kv_block = 128,
// NARROW: schedule([#attn.prefill<q_block = 24, kv_block = 80,
// WIDE: schedule([#attn.prefill<q_block = 32, kv_block = 128,
// PAIRS: schedule([#attn.prefill<q_block = 48, kv_block = 128,
// CHECK: return
func.func @documents(%x: tensor<1x8x4096x64xf32>, %y: tensor<1x8x4096x64xbf16>, %ids: tensor<1x4096xi32>)
    -> (tensor<1x8x4096x64xf32>, tensor<1x8x4096x64xbf16>) {
  %c = attn.attention %x, %x, %x mask {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %i = tensor.extract %ids[%b, %q] : tensor<1x4096xi32>
    %j = tensor.extract %ids[%b, %k] : tensor<1x4096xi32>
    %m = arith.cmpi eq, %i, %j : i32
    attn.yield %m : i1
  } : tensor<1x8x4096x64xf32>, tensor<1x8x4096x64xf32>, tensor<1x8x4096x64xf32> -> tensor<1x8x4096x64xf32>
  %d = attn.attention %y, %y, %y mask {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %i = tensor.extract %ids[%b, %q] : tensor<1x4096xi32>
    %j = tensor.extract %ids[%b, %k] : tensor<1x4096xi32>
    %m = arith.cmpi eq, %i, %j : i32
    attn.yield %m : i1
  } : tensor<1x8x4096x64xbf16>, tensor<1x8x4096x64xbf16>, tensor<1x8x4096x64xbf16> -> tensor<1x8x4096x64xbf16>
  return %c, %d : tensor<1x8x4096x64xf32>, tensor<1x8x4096x64xbf16>
}

// A CPU prefetches the rows of one head by itself, but not in views that put heads first, whose heads
// take turns: with AVX2 at short KV blocks. On Zen 5, prefetches of rows side by side fill the L1 cache.
// CHECK-LABEL: func.func @fetches
// NARROW: schedule([#attn.decode<{{.*}}kv_block = 64, {{.*}}context_vectors = 8>])
// NARROW: schedule([#attn.decode<{{.*}}kv_block = 32, {{.*}}context_rows = 1, context_vectors = 8, fetch_ahead = 32, interleaved_heads = 4, kv_splits = 4, min_split_keys = 512>])
// NARROW: schedule([#attn.decode<{{.*}}kv_block = 32, {{.*}}context_rows = 2, context_vectors = 8, fetch_ahead = 32, interleaved_heads = 4, {{.*}}>])
// WIDE: schedule([#attn.decode<{{.*}}context_vectors = 4>])
// ZEN4: schedule([#attn.decode<{{.*}}context_vectors = 4>])
// ZEN5: schedule([#attn.decode<{{.*}}kv_block = 16, {{.*}}context_vectors = 4, fetch_ahead = 16, fetch_locality = 3>])
// WIDE: schedule([#attn.decode<{{.*}}context_vectors = 4, fetch_ahead = 64, fetches = 3, interleaved_heads = 4, kv_splits = 4, min_split_keys = 512>])
// ZEN5: schedule([#attn.decode<{{.*}}context_vectors = 4, fetch_ahead = 64, fetches = 3, interleaved_heads = 4, kv_splits = 4, min_split_keys = 512>])
// WIDE: schedule([#attn.decode<{{.*}}fetch_ahead = 64, fetches = 3, interleaved_heads = 4, {{.*}}>])
// ZEN5: schedule([#attn.decode<{{.*}}fetch_ahead = 64, fetches = 3, interleaved_heads = 4, {{.*}}>])
// CHECK: return
func.func @fetches(%q: tensor<8x4x1x64xf32>, %k: tensor<8x4x?x64xf32>, %cache: tensor<8x?x4x64xf32>, %rows: tensor<8x16x1x64xf32>) -> (tensor<8x4x1x64xf32>, tensor<8x4x1x64xf32>, tensor<8x16x1x64xf32>) {
  %c = attn.attention %q, %k, %k : tensor<8x4x1x64xf32>, tensor<8x4x?x64xf32>, tensor<8x4x?x64xf32> -> tensor<8x4x1x64xf32>
  %view = attn.transpose %cache [0, 2, 1, 3] : tensor<8x?x4x64xf32> -> tensor<8x4x?x64xf32>
  %d = attn.attention %q, %view, %view : tensor<8x4x1x64xf32>, tensor<8x4x?x64xf32>, tensor<8x4x?x64xf32> -> tensor<8x4x1x64xf32>
  %e = attn.attention %rows, %view, %view : tensor<8x16x1x64xf32>, tensor<8x4x?x64xf32>, tensor<8x4x?x64xf32> -> tensor<8x16x1x64xf32>
  return %c, %d, %e : tensor<8x4x1x64xf32>, tensor<8x4x1x64xf32>, tensor<8x16x1x64xf32>
}

// With 16 registers, keys and values of f32 are copied where each key of a page is looked up by itself, and
// with AVX2 and on CPUs with AMX where a head's rows lie heads apart. Those CPUs prefetch no pages. Of 128 dims, fewer keys of a page fit in L1.
// CHECK-LABEL: func.func @pages
// AVX512: schedule([#attn.prefill<{{.*}}context_vectors = 4, fetch_ahead = 64>])
// NARROW: schedule([#attn.prefill<q_block = 24, kv_block = 48, {{.*}}context_vectors = 2, fetch_ahead = 64, fetch_locality = 3>])
// AVX512: schedule([#attn.prefill<{{.*}}fetch_ahead = 64>])
// NARROW: schedule([#attn.prefill<q_block = 24, kv_block = 32, {{.*}}context_vectors = 2, fetch_ahead = 64, fetch_locality = 3>])
// AVX512: schedule([#attn.prefill<{{.*}}fetch_ahead = 64>])
// NARROW: schedule([#attn.prefill<q_block = 48, {{.*}}context_vectors = 2, fetch_ahead = 64, copy_kv_blocks = 1>])
// AVX512: schedule([#attn.prefill<{{.*}}fetch_ahead = 64>])
// NARROW: schedule([#attn.prefill<q_block = 48, {{.*}}context_vectors = 2, fetch_ahead = 64, copy_kv_blocks = 1>])
// AVX512: schedule([#attn.prefill<{{.*}}fetch_ahead = 64>])
// NARROW: schedule([#attn.prefill<q_block = 48, {{.*}}context_vectors = 2, fetch_ahead = 64, copy_kv_blocks = 1>])
// AVX512: schedule([#attn.prefill<{{.*}}fetch_ahead = 64>])
// NARROW: schedule([#attn.prefill<q_block = 48, {{.*}}context_vectors = 2, fetch_ahead = 64, copy_kv_blocks = 1>])
// TILES-COUNT-3: schedule([#attn.prefill<q_block = 48, kv_block = 128, {{.*}}context_vectors = 4>])
// TILES-COUNT-2: schedule([#attn.prefill<q_block = 96, kv_block = 64, {{.*}}context_vectors = 4, fetch_ahead = 64, copy_kv_blocks = 1>])
// TILES: schedule([#attn.prefill<q_block = 48, kv_block = 96, {{.*}}context_vectors = 4>])
// CHECK: return
// PLAIN-LABEL: func.func @pages
// PLAIN-COUNT-2: fetch_ahead = 64, copy_kv_blocks = 1>
func.func @pages(%q: tensor<1x8x512x64xf32>, %long: tensor<1x8x512x128xf32>, %of16: tensor<99x8x16x64xf32>, %of64: tensor<99x8x64x128xf32>, %of4: tensor<99x8x4x64xf32>, %keys_first: tensor<99x16x8x64xf32>, %in_order: tensor<1x2048x8x64xf32>, %table: tensor<1x128xi32>) -> (tensor<1x8x512x64xf32>, tensor<1x8x512x128xf32>, tensor<1x8x512x64xf32>, tensor<1x8x512x64xf32>, tensor<1x8x512x64xf32>, tensor<1x8x512x64xf32>) {
  %a = attn.attention %q, %of16, %of16 pages(%table : tensor<1x128xi32>) : tensor<1x8x512x64xf32>, tensor<99x8x16x64xf32>, tensor<99x8x16x64xf32> -> tensor<1x8x512x64xf32>
  %b = attn.attention %long, %of64, %of64 pages(%table : tensor<1x128xi32>) : tensor<1x8x512x128xf32>, tensor<99x8x64x128xf32>, tensor<99x8x64x128xf32> -> tensor<1x8x512x128xf32>
  %c = attn.attention %q, %of4, %of4 pages(%table : tensor<1x128xi32>) : tensor<1x8x512x64xf32>, tensor<99x8x4x64xf32>, tensor<99x8x4x64xf32> -> tensor<1x8x512x64xf32>
  %pages = attn.transpose %keys_first [0, 2, 1, 3] : tensor<99x16x8x64xf32> -> tensor<99x8x16x64xf32>
  %d = attn.attention %q, %pages, %pages pages(%table : tensor<1x128xi32>) : tensor<1x8x512x64xf32>, tensor<99x8x16x64xf32>, tensor<99x8x16x64xf32> -> tensor<1x8x512x64xf32>
  %view = attn.transpose %in_order [0, 2, 1, 3] : tensor<1x2048x8x64xf32> -> tensor<1x8x2048x64xf32>
  %e = attn.attention %q, %view, %view : tensor<1x8x512x64xf32>, tensor<1x8x2048x64xf32>, tensor<1x8x2048x64xf32> -> tensor<1x8x512x64xf32>
  %f = attn.attention %q, %of16, %of16 pages(%table : tensor<1x128xi32>) mask {
  ^bb0(%batch: index, %h: index, %i: index, %k: index):
    %window = arith.constant 900 : index
    %near = arith.addi %k, %window : index
    %m = arith.cmpi sge, %near, %i : index
    attn.yield %m : i1
  } : tensor<1x8x512x64xf32>, tensor<99x8x16x64xf32>, tensor<99x8x16x64xf32> -> tensor<1x8x512x64xf32>
  return %a, %b, %c, %d, %e, %f : tensor<1x8x512x64xf32>, tensor<1x8x512x128xf32>, tensor<1x8x512x64xf32>, tensor<1x8x512x64xf32>, tensor<1x8x512x64xf32>, tensor<1x8x512x64xf32>
}

// With AVX2, several rows of f32 read pages at short KV blocks, prefetched two ahead.
// CHECK-LABEL: func.func @decode_pages
// NARROW: schedule([#attn.decode<{{.*}}kv_block = 8, {{.*}}context_rows = 4, context_vectors = 4, fetch_ahead = 16, fetches = 2, fetch_locality = 3, {{.*}}>])
// NARROW: schedule([#attn.decode<{{.*}}kv_block = 32, {{.*}}context_rows = 1, context_vectors = 8, fetch_ahead = 32, fetches = 2, fetch_locality = 3, {{.*}}>])
// CHECK: return
func.func @decode_pages(%four: tensor<1x32x1x128xf32>, %two: tensor<1x16x1x128xf32>, %pool: tensor<99x8x16x128xf32>, %table: tensor<1x128xi32>) -> (tensor<1x32x1x128xf32>, tensor<1x16x1x128xf32>) {
  %a = attn.attention %four, %pool, %pool pages(%table : tensor<1x128xi32>) : tensor<1x32x1x128xf32>, tensor<99x8x16x128xf32>, tensor<99x8x16x128xf32> -> tensor<1x32x1x128xf32>
  %b = attn.attention %two, %pool, %pool pages(%table : tensor<1x128xi32>) : tensor<1x16x1x128xf32>, tensor<99x8x16x128xf32>, tensor<99x8x16x128xf32> -> tensor<1x16x1x128xf32>
  return %a, %b : tensor<1x32x1x128xf32>, tensor<1x16x1x128xf32>
}

// The transpose of a matrix of the call is not made: the layer is the product again. A weight is packed as one, and
// 16 bits have instructions for layers.
// CHECK-LABEL: func @matrix_of_call(
// CHECK: attn.matmul %arg0, %arg1
// CHECK: attn.linear %arg0, %arg2
// CHECK: attn.linear %arg3, %{{.*}}
func.func @matrix_of_call(%x: tensor<8x64xf32>, %w: tensor<64x32xf32>, %bound: tensor<32x64xf32> {attn.weight = "w"}, %narrow: tensor<8x64xbf16>, %n: tensor<64x32xbf16>)
    -> (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xbf16>) {
  %t = attn.transpose %w [1, 0] : tensor<64x32xf32> -> tensor<32x64xf32>
  %a = attn.linear %x, %t : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %b = attn.linear %x, %bound : tensor<8x64xf32>, tensor<32x64xf32> -> tensor<8x32xf32>
  %nt = attn.transpose %n [1, 0] : tensor<64x32xbf16> -> tensor<32x64xbf16>
  %c = attn.linear %narrow, %nt : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  return %a, %b, %c : tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xbf16>
}
