// Pages that rows are appended to are all of different numbers, whatever the kind of inputs.

// RUN: attnc verify %s | FileCheck %s
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
