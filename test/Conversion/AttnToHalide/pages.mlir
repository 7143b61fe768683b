// RUN: attn-opt %s --attn-pipeline | FileCheck %s

// Entries and lengths are checked before the kernel follows them. A key's page is its entry of the
// table, clamped to the pool, and page 0 behind the sequence's last page.
// CHECK-LABEL: halide.pipeline @gathered_wrong_lengths_0
// CHECK-LABEL: halide.pipeline @gathered_wrong_pages_1
// CHECK-LABEL: halide.pipeline @gathered_gather_pages_2
// CHECK: %[[TABLE:.*]] = halide.input "pages" [?, ?] : <i32, 2>
// CHECK: %[[LENGTHS:.*]] = halide.input "lengths" [?] : <i32, 1>
// CHECK: halide.func "rows" [%[[D:.*]], %[[J:.*]], %[[H:.*]], %[[B:.*]]]
// CHECK: %[[ENTRY:.*]] = arith.floordivsi %[[J]]
// CHECK: %[[PAGE:.*]] = halide.at %[[TABLE]][%{{.*}}, %[[B]]]
// CHECK: %[[MOST:.*]] = arith.minsi %[[PAGE]]
// CHECK: %[[IN_POOL:.*]] = arith.maxsi %[[MOST]]
// CHECK: halide.at %[[LENGTHS]][%[[B]]]
// CHECK: arith.select %{{.*}}, %[[IN_POOL]], %c0_i32
// CHECK-LABEL: func.func @gathered(
// CHECK: host.call @gathered_wrong_lengths_0
// CHECK: host.require %{{.*}}, "expected element {} of kv_len of attn.gather_pages to be 0 to max_pages * page_size"(%{{.*}})
// CHECK: host.call @gathered_wrong_pages_1
// CHECK: host.require %{{.*}}, "expected element [{}, {}] of table of attn.gather_pages to be a page of the pool"(%{{.*}}, %{{.*}})
// CHECK: host.call @gathered_gather_pages_2
func.func @gathered(%pool: tensor<?x16x2x64xf32>, %table: tensor<?x?xi32> {attn.name = "table"},
                    %n: tensor<?xi32> {attn.name = "kv_len"}) -> tensor<?x2x?x64xf32> {
  %k = attn.gather_pages %pool[%table] lengths(%n : tensor<?xi32>) : tensor<?x16x2x64xf32>, tensor<?x?xi32>
  return %k : tensor<?x2x?x64xf32>
}

// The fused kernel reads the pools; only their own page and row sizes are theirs.
// CHECK-LABEL: halide.pipeline @fused_wrong_pages
// CHECK-LABEL: halide.pipeline @fused_attention
// CHECK: halide.input "key" [64, 16, ?, ?]
// CHECK: halide.input "pages" [?, ?]
// CHECK-LABEL: func.func @fused(
// CHECK: %[[KEYS:.*]] = memref.transpose %arg1
// CHECK: %[[VALUES:.*]] = memref.transpose %arg2
// CHECK-NOT: memref.alloc() : memref<3x2x64x64xf32>
// CHECK: host.require %{{.*}}, "expected element [{}, {}] of the page table of attn.attention to be a page of the pool"
// CHECK: host.call @fused_attention{{.*}}(%arg0, %[[KEYS]], %[[VALUES]], %arg3, %arg4)
func.func @fused(%q: tensor<3x4x1x64xf32>, %keys: tensor<?x16x2x64xf32>, %values: tensor<?x16x2x64xf32>,
                 %table: tensor<3x4xi64>) -> tensor<3x4x1x64xf32> {
  %k = attn.gather_pages %keys[%table] : tensor<?x16x2x64xf32>, tensor<3x4xi64>
  %v = attn.gather_pages %values[%table] : tensor<?x16x2x64xf32>, tensor<3x4xi64>
  %s = attn.score %q, %k : tensor<3x4x1x64xf32>, tensor<3x2x64x64xf32>
  %p = attn.softmax %s : tensor<3x4x1x64xf32>
  %c = attn.context %p, %v : tensor<3x4x1x64xf32>, tensor<3x2x64x64xf32>
  return %c : tensor<3x4x1x64xf32>
}

// Offsets and last pages are checked, and the kernel follows the indices.
// CHECK-LABEL: halide.pipeline @csr_attention
// CHECK: halide.input "pages" [?] : <i32, 1>
// CHECK: halide.input "page_offsets" [?] : <i32, 1>
// CHECK-LABEL: func.func @csr(
// CHECK: host.require %{{.*}}, "expected element {} of indptr of attn.page_lengths to be 0 first, not to decrease, and the number of pages last"
// CHECK: host.require %{{.*}}, "expected element {} of last of attn.page_lengths to be 1 to page_size"
// CHECK: host.require %{{.*}}, "expected element {} of indices of attn.attention to be a page of the pool"
func.func @csr(%q: tensor<?x4x1x64xf32>, %pool: tensor<?x2x16x64xf32>, %indices: tensor<?xi32> {attn.name = "indices"},
               %indptr: tensor<?xi32> {attn.name = "indptr"}, %last: tensor<?xi32> {attn.name = "last"}) -> tensor<?x4x1x64xf32> {
  %n = attn.page_lengths %pool[%indices] offsets(%indptr : tensor<?xi32>) last(%last : tensor<?xi32>) layout(heads_first)
      : tensor<?x2x16x64xf32>, tensor<?xi32>
  %k = attn.gather_pages %pool[%indices] offsets(%indptr : tensor<?xi32>) layout(heads_first) : tensor<?x2x16x64xf32>, tensor<?xi32>
  %s = attn.score %q, %k : tensor<?x4x1x64xf32>, tensor<?x2x?x64xf32>
  %m = attn.mask %s kv_lengths(%n : tensor<?xi32>) : tensor<?x4x1x?xf32>
  %p = attn.softmax %m : tensor<?x4x1x?xf32>
  %c = attn.context %p, %k : tensor<?x4x1x?xf32>, tensor<?x2x?x64xf32>
  return %c : tensor<?x4x1x64xf32>
}

// A list's elements are named by the argument that they come from.
// CHECK-LABEL: func.func @lists(
// CHECK: host.require %{{.*}}, "expected element [{}, {}, {}] of the page table from lists of attn.attention to be a page of the pool"
func.func @lists(%q: tensor<?x4x1x64xf32>, %slots: tensor<?x1x2x64xf32>, %lists: tensor<2x?x?xi32> {attn.name = "lists"})
    -> tensor<?x4x1x64xf32> {
  %t = attn.transpose %lists [1, 0, 2] : tensor<2x?x?xi32>
  %k = attn.gather_pages %slots[%t] : tensor<?x1x2x64xf32>, tensor<?x2x?xi32>
  %s = attn.score %q, %k : tensor<?x4x1x64xf32>, tensor<?x2x?x64xf32>
  %p = attn.softmax %s : tensor<?x4x1x?xf32>
  %c = attn.context %p, %k : tensor<?x4x1x?xf32>, tensor<?x2x?x64xf32>
  return %c : tensor<?x4x1x64xf32>
}

// Entries are read by a reduction over them, which reads nothing of an empty table. In place, the
// pool is not copied, and the kernel writes rows alone.
// CHECK-LABEL: halide.pipeline @appended_shared_pages
// CHECK: halide.func "written"
// CHECK-NOT: halide.at %pages
// CHECK: halide.update %written[] over [%e min %{{.*}} extent %{{.*}}]
// CHECK: halide.at %pages
// CHECK-LABEL: halide.pipeline @appended_append_pages
// CHECK: halide.func "result"
// CHECK-NEXT: %[[NOTHING:.*]] = halide.undef : f32
// CHECK-NEXT: halide.yield %[[NOTHING]]
// CHECK: halide.update %result[%x] over [%t min %{{.*}}, %h min %{{.*}}, %b min
// CHECK-LABEL: func.func @appended(
// CHECK-SAME: attn.in_place = 0 : i64
// CHECK: host.require %{{.*}}, "expected element {} of length of attn.append_pages to leave room for its rows in max_pages * page_size"(%{{.*}})
// CHECK: host.require %{{.*}}, "expected element [{}, {}] of table of attn.append_pages to be a page of the pool"(%{{.*}}, %{{.*}})
// CHECK: host.require %{{.*}}, "expected element [{}, {}] of table of attn.append_pages to be a page that no other entry appends to"(%{{.*}}, %{{.*}})
// CHECK: %[[POOL:.*]] = memref.extract_aligned_pointer_as_index %arg0
// CHECK: %[[RESULT:.*]] = memref.extract_aligned_pointer_as_index %arg4
// CHECK: %[[ELSEWHERE:.*]] = arith.cmpi ne, %[[POOL]], %[[RESULT]]
// CHECK: host.call @appended_copy{{.*}}(%arg0, %arg4) if(%[[ELSEWHERE]])
// CHECK: host.call @appended_append_pages
func.func @appended(%pool: tensor<?x16x2x64xf32>, %table: tensor<?x?xi32> {attn.name = "table"},
                    %rows: tensor<?x2x?x64xf32>, %length: tensor<?xi32> {attn.name = "length"}) -> tensor<?x16x2x64xf32> {
  %k = attn.append_pages %pool[%table], %rows, %length : tensor<?x16x2x64xf32>, tensor<?x?xi32>, tensor<?x2x?x64xf32>, tensor<?xi32>
  return %k : tensor<?x16x2x64xf32>
}

// In CSR rows go to the entries from an offset on. Offsets are checked first; room is that of a
// sequence's own pages.
// CHECK-LABEL: halide.pipeline @appended_csr_append_pages
// CHECK: halide.input "pages" [?] : <i32, 1>
// CHECK: halide.input "page_offsets" [?] : <i64, 1>
// CHECK-LABEL: func.func @appended_csr(
// CHECK-SAME: attn.in_place = 0 : i64
// CHECK: host.require %{{.*}}, "expected batch of counts and offsets of attn.append_pages to match, found {} (dim 0 of counts) and {} (dim 0 of indptr)"
// CHECK: host.require %{{.*}}, "expected element {} of indptr of attn.append_pages to be 0 first, not to decrease, and the number of pages last"(%{{.*}})
// CHECK: host.require %{{.*}}, "expected element {} of counts of attn.append_pages to be 0 to the number of rows"(%{{.*}})
// CHECK: host.require %{{.*}}, "expected element {} of length of attn.append_pages to leave room for its rows in the pages of its sequence"(%{{.*}})
// CHECK: host.require %{{.*}}, "expected element {} of indices of attn.append_pages to be a page of the pool"(%{{.*}})
// CHECK: host.require %{{.*}}, "expected element {} of indices of attn.append_pages to be a page that no other entry appends to"(%{{.*}})
// CHECK: host.call @appended_csr_append_pages
func.func @appended_csr(%pool: tensor<?x16x2x64xf32>, %indices: tensor<?xi32> {attn.name = "indices"},
                        %indptr: tensor<?xi64> {attn.name = "indptr"}, %rows: tensor<?x2x?x64xf32>,
                        %length: tensor<?xi32> {attn.name = "length"}, %counts: tensor<?xi32> {attn.name = "counts"}) -> tensor<?x16x2x64xf32> {
  %k = attn.append_pages %pool[%indices] offsets(%indptr : tensor<?xi64>), %rows, %length counts(%counts : tensor<?xi32>)
      : tensor<?x16x2x64xf32>, tensor<?xi32>, tensor<?x2x?x64xf32>, tensor<?xi32>
  return %k : tensor<?x16x2x64xf32>
}
