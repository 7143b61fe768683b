// Rows, and lengths for them, that a cache has room for, whoever chooses the sizes.

// RUN: attnc verify %s --function named | FileCheck %s
// RUN: attnc verify %s --function named --size cache_len=7 | FileCheck %s
// RUN: attnc verify %s --function unnamed | FileCheck %s
// CHECK: all within the allowed error

// RUN: %exits 1 attnc verify %s --function named --size cache_len=7,new=8 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error: expected lengths that leave room for 8 of 7 rows

// The new rows see themselves, and those before them.
func.func @named(%query: tensor<2x2x?x8xf32> {attn.dims = [2, 2, "new", 8]},
                 %cache: tensor<2x2x?x8xf32> {attn.dims = [2, 2, "cache_len", 8]},
                 %rows: tensor<2x2x?x8xf32> {attn.dims = [2, 2, "new", 8]},
                 %length: tensor<2xi32>) -> (tensor<2x2x?x8xf32>, tensor<2x2x?x8xf32>) {
  %keys = attn.append_cache %cache, %rows, %length
      : tensor<2x2x?x8xf32>, tensor<2x2x?x8xf32>, tensor<2xi32>
  %score = attn.score %query, %keys : tensor<2x2x?x8xf32>, tensor<2x2x?x8xf32> -> tensor<2x2x?x?xf32>
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %n = tensor.extract %length[%b] : tensor<2xi32>
    %before = arith.index_cast %n : i32 to index
    %last = arith.addi %before, %q : index
    %seen = arith.cmpi sle, %k, %last : index
    attn.yield %seen : i1
  } : tensor<2x2x?x?xf32>
  %prob = attn.softmax %masked : tensor<2x2x?x?xf32>
  %context = attn.context %prob, %keys : tensor<2x2x?x?xf32>, tensor<2x2x?x8xf32> -> tensor<2x2x?x8xf32>
  return %context, %keys : tensor<2x2x?x8xf32>, tensor<2x2x?x8xf32>
}

func.func @unnamed(%cache: tensor<1x2x9x8xf32>, %rows: tensor<1x2x?x8xf32>, %length: tensor<1xi64>)
    -> tensor<1x2x9x8xf32> {
  %c = attn.append_cache %cache, %rows, %length : tensor<1x2x9x8xf32>, tensor<1x2x?x8xf32>, tensor<1xi64>
  return %c : tensor<1x2x9x8xf32>
}
