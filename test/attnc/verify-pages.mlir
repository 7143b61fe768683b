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
// RUN: attnc verify %s --function csr --size num_offsets=4 | FileCheck %s
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

// A fixed number of offsets says how many sequences there are.
// RUN: attnc verify %s --function lengths | FileCheck %s
func.func @lengths(%pool: tensor<?x4x2x8xf32>, %indices: tensor<?xi32>, %indptr: tensor<4xi32>,
                   %last: tensor<?xi32>) -> tensor<?xi32> {
  %n = attn.page_lengths %pool[%indices] offsets(%indptr : tensor<4xi32>) last(%last : tensor<?xi32>)
      : tensor<?x4x2x8xf32>, tensor<?xi32>
  return %n : tensor<?xi32>
}

// Sequences in CSR have pages enough for the rows that they append.
// RUN: attnc verify %s --function appended_csr | FileCheck %s
func.func @appended_csr(%pool: tensor<?x2x4x8xf32> {attn.dims = ["num_pages", 2, 4, 8]},
                        %indices: tensor<?xi64> {attn.dims = ["num_indices"]}, %indptr: tensor<?xi32>,
                        %rows: tensor<?x2x?x8xf32> {attn.dims = ["batch", 2, "new", 8]}, %length: tensor<?xi32>,
                        %counts: tensor<?xi64>) -> tensor<?x2x4x8xf32> {
  %pages = attn.append_pages %pool[%indices] offsets(%indptr : tensor<?xi32>), %rows, %length counts(%counts : tensor<?xi64>)
      layout(heads_first) : tensor<?x2x4x8xf32>, tensor<?xi64>, tensor<?x2x?x8xf32>, tensor<?xi32>
  return %pages : tensor<?x2x4x8xf32>
}

// The same with rows at the ends of sequences, which then attend to all of their keys.
// RUN: attnc verify %s --function extended_csr | FileCheck %s
// RUN: attnc verify %s --function extended_csr --size new=5 --size num_indices=40 | FileCheck %s
// RUN: attnc bench %s --function extended_csr --size new=5,batch=4,num_pages=40,num_indices=40,num_offsets=5 --seconds 0.01
func.func @extended_csr(%query: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "new", 8]},
                        %pool: tensor<?x4x2x8xf32> {attn.dims = ["num_pages", 4, 2, 8]},
                        %indices: tensor<?xi32> {attn.dims = ["num_indices"]}, %indptr: tensor<?xi32>,
                        %last: tensor<?xi32>, %rows: tensor<?x2x?x8xf32> {attn.dims = ["batch", 2, "new", 8]})
    -> (tensor<?x4x?x8xf32>, tensor<?x4x2x8xf32>) {
  %n = attn.page_lengths %pool[%indices] offsets(%indptr : tensor<?xi32>) last(%last : tensor<?xi32>)
      : tensor<?x4x2x8xf32>, tensor<?xi32>
  %c2 = arith.constant 2 : index
  %new = tensor.dim %rows, %c2 : tensor<?x2x?x8xf32>
  %count = arith.index_cast %new : index to i32
  %past = attn.map %n {
  ^bb0(%all: i32):
    %before = arith.subi %all, %count : i32
    attn.yield %before : i32
  } : tensor<?xi32>
  %pages = attn.append_pages %pool[%indices] offsets(%indptr : tensor<?xi32>), %rows, %past
      : tensor<?x4x2x8xf32>, tensor<?xi32>, tensor<?x2x?x8xf32>, tensor<?xi32>
  %keys = attn.gather_pages %pages[%indices] offsets(%indptr : tensor<?xi32>) : tensor<?x4x2x8xf32>, tensor<?xi32>
  %score = attn.score %query, %keys : tensor<?x4x?x8xf32>, tensor<?x2x?x8xf32>
  %masked = attn.mask %score positions(%past : tensor<?xi32>) causal(top_left) : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %keys : tensor<?x4x?x?xf32>, tensor<?x2x?x8xf32>
  return %context, %pages : tensor<?x4x?x8xf32>, tensor<?x4x2x8xf32>
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
