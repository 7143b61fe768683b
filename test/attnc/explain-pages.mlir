// Whether appended rows are all that is written. In place, no other part of the pool counts.
// RUN: attnc explain %s --function step | FileCheck %s --check-prefix=STEP
// RUN: attnc explain %s --function both | FileCheck %s --check-prefix=BOTH
// RUN: attnc explain %s --function inner | FileCheck %s --check-prefix=INNER

// STEP: attn.append_pages at {{.*}} -> f32[num_pages, 16, 2, 8]
// STEP: with in place if a caller passes one tensor for both; copies it otherwise
// STEP: bytes 4·batch + 4·batch·max_pages + 128·batch·new
func.func @step(%pool: tensor<?x16x2x8xf32> {attn.dims = ["num_pages", 16, 2, 8]},
                %table: tensor<?x?xi32> {attn.dims = ["batch", "max_pages"]},
                %rows: tensor<?x2x?x8xf32> {attn.dims = ["batch", 2, "new", 8]}, %length: tensor<?xi32>)
    -> tensor<?x16x2x8xf32> {
  %pages = attn.append_pages %pool[%table], %rows, %length
      : tensor<?x16x2x8xf32>, tensor<?x?xi32>, tensor<?x2x?x8xf32>, tensor<?xi32>
  return %pages : tensor<?x16x2x8xf32>
}

// RUN: attnc explain %s --function cache | FileCheck %s --check-prefix=CACHE
// CACHE: attn.append_cache at {{.*}} -> f32[2, 2, 9, 8]
// CACHE: with in place if a caller passes one tensor for both; copies it otherwise
// CACHE: bytes 264{{$}}
func.func @cache(%cache: tensor<2x2x9x8xf32>, %rows: tensor<2x2x1x8xf32>, %length: tensor<2xi32>) -> tensor<2x2x9x8xf32> {
  %c = attn.append_cache %cache, %rows, %length : tensor<2x2x9x8xf32>, tensor<2x2x1x8xf32>, tensor<2xi32>
  return %c : tensor<2x2x9x8xf32>
}

// BOTH: with copies what it appends to, which has other readers
func.func @both(%pool: tensor<9x16x2x8xf32>, %table: tensor<3x3xi32>, %rows: tensor<3x2x1x8xf32>, %length: tensor<3xi32>)
    -> (tensor<9x16x2x8xf32>, tensor<9x16x2x8xf32>) {
  %pages = attn.append_pages %pool[%table], %rows, %length
      : tensor<9x16x2x8xf32>, tensor<3x3xi32>, tensor<3x2x1x8xf32>, tensor<3xi32>
  %change = arith.subf %pages, %pool : tensor<9x16x2x8xf32>
  return %pages, %change : tensor<9x16x2x8xf32>, tensor<9x16x2x8xf32>
}

// INNER: with copies what it appends to, which has no result of the function for its rows
func.func @inner(%pool: tensor<9x16x2x8xf32>, %table: tensor<3x3xi32>, %rows: tensor<3x2x1x8xf32>, %length: tensor<3xi32>)
    -> tensor<3x2x48x8xf32> {
  %pages = attn.append_pages %pool[%table], %rows, %length
      : tensor<9x16x2x8xf32>, tensor<3x3xi32>, tensor<3x2x1x8xf32>, tensor<3xi32>
  %keys = attn.gather_pages %pages[%table] : tensor<9x16x2x8xf32>, tensor<3x3xi32>
  return %keys : tensor<3x2x48x8xf32>
}
