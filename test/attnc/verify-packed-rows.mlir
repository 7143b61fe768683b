// Offsets that are not given divide the rows among as many sequences as there are lengths, offsets of
// pages, or elements that a mask reads for a sequence.

// RUN: attnc verify %s --function fused | FileCheck %s
// RUN: attnc verify %s --function padded | FileCheck %s
// RUN: attnc verify %s --function csr | FileCheck %s
// RUN: attnc verify %s --function prefixes | FileCheck %s
// RUN: attnc verify %s --function documents | FileCheck %s
// CHECK: all within the allowed error
func.func @fused(%rows: tensor<?x4x16xf32> {attn.dims = ["total", 4, 16]}, %k: tensor<?x2x?x16xf32> {attn.dims = ["batch", 2, "kv_len", 16]},
                 %o: tensor<?xi32> {attn.name = "offsets"}, %n: tensor<?xi32> {attn.dims = ["batch"]})
    -> (tensor<?x4x16xf32>, tensor<?x4xf32>) {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x4x16xf32>, tensor<?xi32>
  %s = attn.score %q, %k : tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32>
  %m = attn.mask %s causal(bottom_right) q_offsets(%o : tensor<?xi32>) kv_lengths(%n : tensor<?xi32>) : tensor<?x4x?x?xf32>
  %l = attn.lse %m : tensor<?x4x?x?xf32> -> tensor<?x4x?xf32>
  %p = attn.softmax %m : tensor<?x4x?x?xf32>
  %c = attn.context %p, %k : tensor<?x4x?x?xf32>, tensor<?x2x?x16xf32>
  %r = attn.pack_rows %c offsets(%o) : tensor<?x4x?x16xf32>, tensor<?xi32>
  %rl = attn.pack_rows %l offsets(%o) : tensor<?x4x?xf32>, tensor<?xi32>
  return %r, %rl : tensor<?x4x16xf32>, tensor<?x4xf32>
}

func.func @padded(%rows: tensor<?x2x5xf16> {attn.dims = ["total", 2, 5]}, %o: tensor<?xi64>) -> (tensor<?x2x?x5xf16>, tensor<?x2x5xf16>) {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x2x5xf16>, tensor<?xi64>
  %r = attn.pack_rows %q offsets(%o) : tensor<?x2x?x5xf16>, tensor<?xi64>
  return %q, %r : tensor<?x2x?x5xf16>, tensor<?x2x5xf16>
}

func.func @csr(%rows: tensor<?x4x8xf32>, %o: tensor<?xi32>, %pool: tensor<?x4x2x8xf32>, %pages: tensor<?xi32>, %po: tensor<?xi32>,
               %last: tensor<?xi32>) -> tensor<?x4x8xf32> {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x4x8xf32>, tensor<?xi32>
  %n = attn.page_lengths %pool[%pages] offsets(%po : tensor<?xi32>) last(%last : tensor<?xi32>) : tensor<?x4x2x8xf32>, tensor<?xi32>
  %k = attn.gather_pages %pool[%pages] offsets(%po : tensor<?xi32>) : tensor<?x4x2x8xf32>, tensor<?xi32>
  %s = attn.score %q, %k scale(0.3) : tensor<?x4x?x8xf32>, tensor<?x2x?x8xf32>
  %m = attn.mask %s causal(bottom_right) q_offsets(%o : tensor<?xi32>) kv_lengths(%n : tensor<?xi32>) : tensor<?x4x?x?xf32>
  %p = attn.softmax %m : tensor<?x4x?x?xf32>
  %c = attn.context %p, %k : tensor<?x4x?x?xf32>, tensor<?x2x?x8xf32>
  %r = attn.pack_rows %c offsets(%o) : tensor<?x4x?x8xf32>, tensor<?xi32>
  return %r : tensor<?x4x8xf32>
}

func.func @prefixes(%rows: tensor<?x1x72xf32>, %o: tensor<?xi32>, %keys: tensor<?x1x72xf32>, %ko: tensor<?xi32>, %pre: tensor<?xi32>)
    -> tensor<?x1x72xf32> {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x1x72xf32>, tensor<?xi32>
  %k = attn.unpack_rows %keys offsets(%ko) : tensor<?x1x72xf32>, tensor<?xi32>
  %s = attn.score %q, %k : tensor<?x1x?x72xf32>, tensor<?x1x?x72xf32>
  %m = attn.mask %s prefix(%pre : tensor<?xi32>) q_offsets(%o : tensor<?xi32>) kv_offsets(%ko : tensor<?xi32>) : tensor<?x1x?x?xf32>
  %p = attn.softmax %m : tensor<?x1x?x?xf32>
  %c = attn.context %p, %k : tensor<?x1x?x?xf32>, tensor<?x1x?x72xf32>
  %r = attn.pack_rows %c offsets(%o) : tensor<?x1x?x72xf32>, tensor<?xi32>
  return %r : tensor<?x1x72xf32>
}

// A mask reads ids of all sequences, rows, and keys of pages.
func.func @documents(%rows: tensor<?x2x8xf32>, %o: tensor<?xi32>, %pool: tensor<?x4x2x8xf32>, %new: tensor<?x2x?x8xf32>, %past: tensor<?xi32>,
                     %table: tensor<?x?xi32>, %n: tensor<?xi32>, %ids: tensor<?x?xi32>, %key_ids: tensor<?x?xi32>)
    -> (tensor<?x2x8xf32>, tensor<?x4x2x8xf32>) {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x2x8xf32>, tensor<?xi32>
  %next = attn.append_pages %pool[%table], %new, %past : tensor<?x4x2x8xf32>, tensor<?x?xi32>, tensor<?x2x?x8xf32>, tensor<?xi32>
  %k = attn.gather_pages %next[%table] : tensor<?x4x2x8xf32>, tensor<?x?xi32>
  %s = attn.score %q, %k : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>
  %m = attn.mask %s kv_lengths(%n : tensor<?xi32>) documents(%ids, %key_ids : tensor<?x?xi32>, tensor<?x?xi32>) : tensor<?x2x?x?xf32>
  %p = attn.softmax %m : tensor<?x2x?x?xf32>
  %c = attn.context %p, %k : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32>
  %r = attn.pack_rows %c offsets(%o) : tensor<?x2x?x8xf32>, tensor<?xi32>
  return %r, %next : tensor<?x2x8xf32>, tensor<?x4x2x8xf32>
}
