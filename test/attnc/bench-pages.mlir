// A page table that is not given holds pages of both pools.
// RUN: attnc bench %s --function paged --seconds 0.01 --size num_keys=3,num_values=9 | FileCheck %s
// RUN: attnc bench %s --function paged --seconds 0.01 --size num_keys=9,num_values=3 | FileCheck %s

// CHECK: num_keys
func.func @paged(%query: tensor<2x2x1x16xf32>,
                 %keys: tensor<?x4x2x16xf32> {attn.dims = ["num_keys", 4, 2, 16]},
                 %values: tensor<?x4x2x16xf32> {attn.dims = ["num_values", 4, 2, 16]},
                 %table: tensor<2x5xi32>) -> tensor<2x2x1x16xf32> {
  %k = attn.gather_pages %keys[%table] : tensor<?x4x2x16xf32>, tensor<2x5xi32>
  %v = attn.gather_pages %values[%table] : tensor<?x4x2x16xf32>, tensor<2x5xi32>
  %s = attn.score %query, %k : tensor<2x2x1x16xf32>, tensor<2x2x20x16xf32>
  %p = attn.softmax %s : tensor<2x2x1x20xf32>
  %c = attn.context %p, %v : tensor<2x2x1x20xf32>, tensor<2x2x20x16xf32>
  return %c : tensor<2x2x1x16xf32>
}

// Rows are appended in place: no pool is copied.
// RUN: attnc bench %s --function append --seconds 0.01 --profile --size num_pages=9 | FileCheck %s --check-prefix=APPEND
// APPEND: num_pages=9
// APPEND-NOT: append_copy
// APPEND: append_append_pages
func.func @append(%pool: tensor<?x4x2x16xf32> {attn.dims = ["num_pages", 4, 2, 16]}, %table: tensor<2x3xi32>,
                  %rows: tensor<2x2x1x16xf32>, %length: tensor<2xi32>) -> tensor<?x4x2x16xf32> {
  %next = attn.append_pages %pool[%table], %rows, %length
      : tensor<?x4x2x16xf32>, tensor<2x3xi32>, tensor<2x2x1x16xf32>, tensor<2xi32>
  return %next : tensor<?x4x2x16xf32>
}
