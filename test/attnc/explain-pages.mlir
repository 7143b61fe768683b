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

// What asks for a pool's sizes alone reads nothing of it.
// RUN: attnc explain %s --function csr | FileCheck %s --check-prefix=CSR
// CSR: with in place if a caller passes one tensor for both
// CSR: row q sees keys [0, page_lengths[b])
func.func @csr(%pool: tensor<?x16x2x8xf32>, %rows: tensor<?x2x1x8xf32>, %query: tensor<?x2x1x8xf32>, %indices: tensor<?xi32>,
               %indptr: tensor<?xi32>, %last: tensor<?xi32>, %past: tensor<?xi32>) -> (tensor<?x16x2x8xf32>, tensor<?x2x1x8xf32>) {
  %n = attn.page_lengths %pool[%indices] offsets(%indptr : tensor<?xi32>) last(%last : tensor<?xi32>)
      : tensor<?x16x2x8xf32>, tensor<?xi32>
  %next = attn.append_pages %pool[%indices] offsets(%indptr : tensor<?xi32>), %rows, %past
      : tensor<?x16x2x8xf32>, tensor<?xi32>, tensor<?x2x1x8xf32>, tensor<?xi32>
  %k = attn.gather_pages %next[%indices] offsets(%indptr : tensor<?xi32>) : tensor<?x16x2x8xf32>, tensor<?xi32>
  %s = attn.score %query, %k : tensor<?x2x1x8xf32>, tensor<?x2x?x8xf32>
  %m = attn.mask %s kv_lengths(%n : tensor<?xi32>) : tensor<?x2x1x?xf32>
  %p = attn.softmax %m : tensor<?x2x1x?xf32>
  %c = attn.context %p, %k : tensor<?x2x1x?xf32>, tensor<?x2x?x8xf32>
  return %next, %c : tensor<?x16x2x8xf32>, tensor<?x2x1x8xf32>
}

// Why pages are copied.
// RUN: attnc explain %s --function two_tables | FileCheck %s --check-prefix=TABLES
// TABLES: attn.gather_pages at
// TABLES: with copies pages, as keys, values and scales are not all in pages of one size, with one table and its lengths
func.func @two_tables(%q: tensor<?x2x1x8xf32>, %pool: tensor<?x16x2x8xf32>, %a: tensor<?x?xi32>, %b: tensor<?x?xi32>) -> tensor<?x2x1x8xf32> {
  %k = attn.gather_pages %pool[%a] : tensor<?x16x2x8xf32>, tensor<?x?xi32>
  %v = attn.gather_pages %pool[%b] : tensor<?x16x2x8xf32>, tensor<?x?xi32>
  %s = attn.score %q, %k : tensor<?x2x1x8xf32>, tensor<?x2x?x8xf32>
  %p = attn.softmax %s : tensor<?x2x1x?xf32>
  %c = attn.context %p, %v : tensor<?x2x1x?xf32>, tensor<?x2x?x8xf32>
  return %c : tensor<?x2x1x8xf32>
}

// RUN: attnc explain %s --function rotated | FileCheck %s --check-prefix=ROTATED
// ROTATED: attn.gather_pages at
// ROTATED: with copies pages, as attn.positions reads them, not a fused attention
func.func @rotated(%q: tensor<?x2x1x8xf32>, %pool: tensor<?x16x2x8xf32>, %table: tensor<?x?xi32>) -> tensor<?x2x1x8xf32> {
  %k = attn.gather_pages %pool[%table] : tensor<?x16x2x8xf32>, tensor<?x?xi32>
  %r = attn.positions %k kind(rotary_halves) : tensor<?x2x?x8xf32>
  %s = attn.score %q, %r : tensor<?x2x1x8xf32>, tensor<?x2x?x8xf32>
  %p = attn.softmax %s : tensor<?x2x1x?xf32>
  %c = attn.context %p, %r : tensor<?x2x1x?xf32>, tensor<?x2x?x8xf32>
  return %c : tensor<?x2x1x8xf32>
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
