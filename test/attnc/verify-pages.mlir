// Pages that rows are appended to are all of different numbers, whatever the kind of inputs.

// RUN: attnc verify %s --function appended | FileCheck %s
// CHECK: normal
// CHECK: empty
// CHECK: all within the allowed error
func.func @appended(%pool: tensor<?x4x2x8xf32> {attn.dims = ["num_pages", 4, 2, 8]},
                    %table: tensor<2x?xi32> {attn.dims = [2, "max_pages"]},
                    %rows: tensor<2x2x?x8xf32> {attn.dims = [2, 2, "new", 8]}, %length: tensor<2xi32>)
    -> tensor<?x4x2x8xf32> {
  %pages = attn.append_pages %pool[%table], %rows, %length
      : tensor<?x4x2x8xf32>, tensor<2x?xi32>, tensor<2x2x?x8xf32>, tensor<2xi32>
  return %pages : tensor<?x4x2x8xf32>
}

// Pages in CSR; a last page holds at least one key.
// RUN: attnc verify %s --function csr | FileCheck %s
func.func @csr(%query: tensor<?x4x3x8xf32> {attn.dims = ["batch", 4, 3, 8]},
               %pool: tensor<?x4x2x8xf32> {attn.dims = ["num_pages", 4, 2, 8]},
               %indices: tensor<?xi32> {attn.dims = ["num_indices"]}, %indptr: tensor<?xi32>,
               %last: tensor<?xi32> {attn.dims = ["batch"]}) -> tensor<?x4x3x8xf32> {
  %n = attn.page_lengths %pool[%indices] offsets(%indptr : tensor<?xi32>) last(%last : tensor<?xi32>)
      : tensor<?x4x2x8xf32>, tensor<?xi32>
  %keys = attn.gather_pages %pool[%indices] offsets(%indptr : tensor<?xi32>) : tensor<?x4x2x8xf32>, tensor<?xi32>
  %score = attn.score %query, %keys : tensor<?x4x3x8xf32>, tensor<?x2x?x8xf32>
  %masked = attn.mask %score kv_lengths(%n : tensor<?xi32>) : tensor<?x4x3x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x3x?xf32>
  %context = attn.context %prob, %keys : tensor<?x4x3x?xf32>, tensor<?x2x?x8xf32>
  return %context : tensor<?x4x3x8xf32>
}

// Lists that a spec moves, and computes with, before it gathers.
// RUN: attnc verify %s --function lists | FileCheck %s
func.func @lists(%query: tensor<?x4x1x8xf32> {attn.dims = ["rows", 4, 1, 8]},
                 %slots: tensor<50x1x2x8xf32>, %lists: tensor<2x?x?xi32> {attn.dims = [2, "rows", "top_k"]}) -> tensor<?x4x1x8xf32> {
  %by_row = attn.transpose %lists [1, 0, 2] : tensor<2x?x?xi32>
  %table = attn.map %by_row {
  ^bb0(%slot: i32):
    %zero = arith.constant 0 : i32
    %any = arith.maxsi %slot, %zero : i32
    attn.yield %any : i32
  } : tensor<?x2x?xi32>
  %keys = attn.gather_pages %slots[%table] : tensor<50x1x2x8xf32>, tensor<?x2x?xi32>
  %score = attn.score %query, %keys : tensor<?x4x1x8xf32>, tensor<?x2x?x8xf32>
  %prob = attn.softmax %score : tensor<?x4x1x?xf32>
  %context = attn.context %prob, %keys : tensor<?x4x1x?xf32>, tensor<?x2x?x8xf32>
  return %context : tensor<?x4x1x8xf32>
}
