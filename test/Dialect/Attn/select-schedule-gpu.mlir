// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-select-schedule{target=host-cuda}))' | FileCheck %s
// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-select-schedule{target=host-cuda-cuda_capability_75}))' | FileCheck %s --check-prefix=TURING
// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-select-schedule{target=host-cuda-cuda_capability_80}))' | FileCheck %s --check-prefix=TENSOR
// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-select-schedule{target=host-cuda-cuda_capability_90}))' | FileCheck %s --check-prefix=WARPGROUPS

// One row has several thread blocks for its keys, more rows have query blocks.
// CHECK-LABEL: func.func @any_rows
// CHECK: schedule([#attn.gpu<q_block = 1, packed_heads = 1, kv_block = 64, kv_splits = 16, threads_x = 32, threads_y = 1, context_columns = 2, max_q_len = 1>,
// CHECK-SAME: #attn.gpu<q_block = 48, packed_heads = 1, kv_block = 64, kv_splits = 1, threads_x = 8, threads_y = 8, context_columns = 8>])
// 64 KB of shared memory are for two blocks.
// TURING: max_q_len = 1>, #attn.gpu<q_block = 48, packed_heads = 1, kv_block = 32,
func.func @any_rows(%x: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %c = attn.attention %x, %x, %x : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// Heads that share a head of keys are rows of one query block.
// CHECK-LABEL: func.func @grouped
// CHECK: schedule([#attn.gpu<q_block = 4, packed_heads = 4, kv_block = 64, kv_splits = 32,
func.func @grouped(%q: tensor<1x32x1x128xf32>, %k: tensor<1x8x?x128xf32>) -> tensor<1x32x1x128xf32> {
  %c = attn.attention %q, %k, %k : tensor<1x32x1x128xf32>, tensor<1x8x?x128xf32>, tensor<1x8x?x128xf32> -> tensor<1x32x1x128xf32>
  return %c : tensor<1x32x1x128xf32>
}

// Elements of 16 bits are f32 once they are read, but for tensor cores.
// TENSOR-LABEL: func.func @short_elements
// TENSOR: schedule([#attn.mma<q_block = 128, kv_block = 64, warp_rows = 32>])
// CHECK-LABEL: func.func @short_elements
// CHECK: schedule([#attn.gpu<q_block = 48, packed_heads = 1, kv_block = 64,
func.func @short_elements(%x: tensor<1x8x300x64xbf16>) -> tensor<1x8x300x64xbf16> {
  %c = attn.attention %x, %x, %x : tensor<1x8x300x64xbf16>, tensor<1x8x300x64xbf16>, tensor<1x8x300x64xbf16> -> tensor<1x8x300x64xbf16>
  return %c : tensor<1x8x300x64xbf16>
}

// Where no two blocks fit, one does.
// CHECK-LABEL: func.func @one_block
// CHECK: schedule([#attn.gpu<q_block = 8, packed_heads = 1, kv_block = 8,
// TURING-LABEL: func.func @one_block
// TURING: schedule([#attn.gpu<q_block = 8, packed_heads = 1, kv_block = 8,
func.func @one_block(%x: tensor<1x1x300x512xf32>) -> tensor<1x1x300x512xf32> {
  %c = attn.attention %x, %x, %x : tensor<1x1x300x512xf32>, tensor<1x1x300x512xf32>, tensor<1x1x300x512xf32> -> tensor<1x1x300x512xf32>
  return %c : tensor<1x1x300x512xf32>
}

// No query block fits into shared memory.
// CHECK-LABEL: func.func @wide
// CHECK-NOT: schedule
func.func @wide(%x: tensor<1x1x?x2048xf32>) -> tensor<1x1x?x2048xf32> {
  %c = attn.attention %x, %x, %x : tensor<1x1x?x2048xf32>, tensor<1x1x?x2048xf32>, tensor<1x1x?x2048xf32> -> tensor<1x1x?x2048xf32>
  return %c : tensor<1x1x?x2048xf32>
}

// One row is still for several thread blocks, and few rows for few warps.
// CHECK-LABEL: func.func @open_short
// WARPGROUPS-LABEL: func.func @open_short
// WARPGROUPS: schedule([#attn.mma<q_block = 16, kv_block = 64, kv_splits = 16, max_q_len = 1>, #attn.wgmma<q_block = 192, kv_block = 128, stages = 2>])
// TENSOR-LABEL: func.func @open_short
// TENSOR: schedule([#attn.mma<q_block = 16, kv_block = 64, kv_splits = 16, max_q_len = 1>, #attn.mma<q_block = 128, kv_block = 64, warp_rows = 32>])
func.func @open_short(%x: tensor<?x8x?x64xf16>) -> tensor<?x8x?x64xf16> {
  %c = attn.attention %x, %x, %x : tensor<?x8x?x64xf16>, tensor<?x8x?x64xf16>, tensor<?x8x?x64xf16> -> tensor<?x8x?x64xf16>
  return %c : tensor<?x8x?x64xf16>
}

// WARPGROUPS-LABEL: func.func @few_short
// WARPGROUPS: schedule([#attn.mma<q_block = 32, kv_block = 64>])
// TENSOR-LABEL: func.func @few_short
// TENSOR: schedule([#attn.mma<q_block = 32, kv_block = 64>])
func.func @few_short(%q: tensor<1x8x20x64xf16>, %k: tensor<1x8x?x64xf16>) -> tensor<1x8x20x64xf16> {
  %c = attn.attention %q, %k, %k : tensor<1x8x20x64xf16>, tensor<1x8x?x64xf16>, tensor<1x8x?x64xf16> -> tensor<1x8x20x64xf16>
  return %c : tensor<1x8x20x64xf16>
}

// Heads that share keys are packed into a tile; a prob region may depend on all probs of a row.
// TENSOR-LABEL: func.func @grouped_short
// TENSOR: schedule([#attn.mma<q_block = 16, kv_block = 64, packed_heads = 4, kv_splits = 64>])
// TENSOR: schedule([#attn.mma<q_block = 64, kv_block = 64, packed_heads = 4>])
// TENSOR: schedule([#attn.mma<q_block = 16, kv_block = 64, packed_heads = 4, max_q_len = 1>, #attn.mma
func.func @grouped_short(%a: tensor<1x32x4x64xf16>, %b: tensor<1x32x15x64xf16>, %c: tensor<1x32x?x64xf16>, %k: tensor<1x8x?x64xf16>)
    -> (tensor<1x32x4x64xf16>, tensor<1x32x15x64xf16>, tensor<1x32x?x64xf16>) {
  %x = attn.attention %a, %k, %k : tensor<1x32x4x64xf16>, tensor<1x8x?x64xf16>, tensor<1x8x?x64xf16> -> tensor<1x32x4x64xf16>
  %y = attn.attention %b, %k, %k : tensor<1x32x15x64xf16>, tensor<1x8x?x64xf16>, tensor<1x8x?x64xf16> -> tensor<1x32x15x64xf16>
  %z = attn.attention %c, %k, %k prob_mod {
  ^bb0(%p: f16, %batch: index, %head: index, %i: index, %j: index):
    %two = arith.constant 2.0 : f16
    %double = arith.mulf %p, %two : f16
    attn.yield %double : f16
  } : tensor<1x32x?x64xf16>, tensor<1x8x?x64xf16>, tensor<1x8x?x64xf16> -> tensor<1x32x?x64xf16>
  return %x, %y, %z : tensor<1x32x4x64xf16>, tensor<1x32x15x64xf16>, tensor<1x32x?x64xf16>
}

// Wide rows leave shared memory for fewer keys.
// WARPGROUPS-LABEL: func.func @wide_short
// WARPGROUPS: schedule([#attn.wgmma<q_block = 128, kv_block = 80, stages = 2>])
// TENSOR-LABEL: func.func @wide_short
// TENSOR: schedule([#attn.mma<q_block = 64, kv_block = 16>])
func.func @wide_short(%x: tensor<1x8x300x250xf16>) -> tensor<1x8x300x250xf16> {
  %c = attn.attention %x, %x, %x : tensor<1x8x300x250xf16>, tensor<1x8x300x250xf16>, tensor<1x8x300x250xf16> -> tensor<1x8x300x250xf16>
  return %c : tensor<1x8x300x250xf16>
}

// What tensor cores don't compute falls to Halide's kernels.
// TENSOR-LABEL: func.func @widest_short
// TENSOR: schedule([#attn.gpu<q_block = {{[0-9]+}}, packed_heads = 1,
func.func @widest_short(%x: tensor<1x8x300x512xf16>) -> tensor<1x8x300x512xf16> {
  %c = attn.attention %x, %x, %x : tensor<1x8x300x512xf16>, tensor<1x8x300x512xf16>, tensor<1x8x300x512xf16> -> tensor<1x8x300x512xf16>
  return %c : tensor<1x8x300x512xf16>
}

// Packed rows: steps and prompts, whatever the number of all rows.
// CHECK-LABEL: func.func @packed
// CHECK: schedule([#attn.gpu<q_block = 4, {{.*}}, max_q_len = 1>, #attn.gpu<q_block = 48, packed_heads = 1, {{[^>]*}}context_columns = 8>])
// TENSOR-LABEL: func.func @packed
// TENSOR: schedule([#attn.mma<q_block = 16, kv_block = 64, packed_heads = 4, kv_splits = 16, max_q_len = 1>, #attn.mma<q_block = 128, kv_block = 64, warp_rows = 32>])
// WARPGROUPS-LABEL: func.func @packed
// WARPGROUPS: schedule([#attn.mma<{{.*}}, kv_splits = 16, max_q_len = 1>, #attn.wgmma<q_block = 192, kv_block = 128, stages = 2>])
func.func @packed(%q: tensor<1x8x3x64xf16>, %k: tensor<?x2x?x64xf16>, %o: tensor<?xi32>) -> tensor<1x8x3x64xf16> {
  %c = attn.attention %q, %k, %k offsets(%o : tensor<?xi32>) : tensor<1x8x3x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<1x8x3x64xf16>
  return %c : tensor<1x8x3x64xf16>
}

// Linear layers of 16 bits: few rows, and many.
// CHECK-LABEL: func.func @linear
// CHECK-NOT: schedule
// TENSOR-LABEL: func.func @linear
// TENSOR: attn.linear %{{.*}}, %{{.*}} schedule([#attn.mma_linear<row_block = 16, feature_block = 64, depth = 64, stages = 4, max_rows = 16>, #attn.mma_linear<row_block = 128, feature_block = 128, depth = 32, stages = 3>]) :
// TENSOR: schedule([#attn.mma_linear<row_block = 16, feature_block = 64, depth = 64, stages = 4>])
// TENSOR: schedule([#attn.mma_linear<row_block = 128, feature_block = 128, depth = 32, stages = 3>])
// TENSOR-NOT: schedule
func.func @linear(%w: tensor<64x64xbf16>, %x: tensor<2x?x64xbf16>, %few: tensor<8x2x64xbf16>, %many: tensor<9x2x64xbf16>, %open: tensor<3x?xbf16>) {
  %a = attn.linear %x, %w : tensor<2x?x64xbf16>, tensor<64x64xbf16> -> tensor<2x?x64xbf16>
  %b = attn.linear %few, %w : tensor<8x2x64xbf16>, tensor<64x64xbf16> -> tensor<8x2x64xbf16>
  %c = attn.linear %many, %w : tensor<9x2x64xbf16>, tensor<64x64xbf16> -> tensor<9x2x64xbf16>
  %d = attn.linear %open, %w : tensor<3x?xbf16>, tensor<64x64xbf16> -> tensor<3x64xbf16>
  return
}

// Copies of boxes take no pages.
// CHECK-LABEL: func.func @pages
// TENSOR-LABEL: func.func @pages
// WARPGROUPS-LABEL: func.func @pages
// WARPGROUPS: schedule([#attn.mma<q_block = 128, kv_block = 64, warp_rows = 32>])
func.func @pages(%q: tensor<2x8x100x64xf16>, %pool: tensor<?x8x16x64xf16>, %pages: tensor<2x?xi32>) -> tensor<2x8x100x64xf16> {
  %c = attn.attention %q, %pool, %pool pages(%pages : tensor<2x?xi32>) : tensor<2x8x100x64xf16>, tensor<?x8x16x64xf16>, tensor<?x8x16x64xf16> -> tensor<2x8x100x64xf16>
  return %c : tensor<2x8x100x64xf16>
}
