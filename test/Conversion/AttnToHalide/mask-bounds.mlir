// RUN: attn-opt %s --attn-select-schedule=target=x86-64-linux-avx512_skylake --attn-decompose --convert-attn-to-halide --canonicalize --cse | FileCheck %s

// A window bounds the keys of a query block on both sides: its first row below, its last above. The
// keys that all rows see are bounded by the others: what is next to them is hidden afterwards.
// Groups of rows leave out the keys that are only other rows'. One chunk has all keys: nothing is
// rescaled.
// CHECK-LABEL: halide.pipeline @window_attention_2
// CHECK: %[[QUERY:.*]] = halide.input "query"
// CHECK: halide.func "low" [%[[IT:.*]], %h, %b]
// CHECK:   %[[FIRST:.*]] = arith.muli %[[IT]], %c32_i32
// CHECK:   arith.subi %[[FIRST]], %c255_i32
// CHECK: halide.func "high" [
// CHECK:   arith.minsi
// CHECK-NOT: "edge
// CHECK: halide.func "first_full" [%[[IT1:.*]], %h, %b]
// CHECK:   %[[START:.*]] = arith.muli %[[IT1]], %c32_i32
// CHECK:   %[[BEHIND:.*]] = arith.addi %[[START]], %c31_i32
// CHECK:   %[[LAST:.*]] = arith.minsi %[[BEHIND]]
// CHECK:   arith.subi %[[LAST]], %c255_i32
// CHECK: halide.func "end_full"
// CHECK: %[[GROUP_LOW:.*]] = halide.func "group_low" [%[[G:.*]], %[[IT2:.*]], %h, %b]
// CHECK:   arith.muli %[[G]], %c8_i32
// CHECK: %[[GROUP_HIGH:.*]] = halide.func "group_high"
// CHECK: %[[SCORE:.*]] = halide.func "score"
// CHECK-NOT: select
// CHECK: halide.update %[[SCORE]]
// CHECK:   arith.select {{.*}}, %c-8388608_i32
// The rows of the next query block are prefetched meanwhile.
// CHECK: %[[PRODUCT:.*]] = halide.func "product"
// CHECK: %[[NEXT:.*]] = halide.at %[[QUERY]]
// CHECK: halide.fetch_ahead %{{.*}}, %[[NEXT]]
// CHECK: halide.update %[[PRODUCT]]
// CHECK-DAG: halide.at %[[GROUP_LOW]]
// CHECK-DAG: halide.at %[[GROUP_HIGH]]
// CHECK: %[[ACC:.*]] = halide.func "acc"
// CHECK-NEXT: halide.at %[[PRODUCT]]
// CHECK-NOT: halide.update %[[ACC]]
// CHECK-LABEL: func.func @window
func.func @window(%q: tensor<1x1x?x64xf32>, %k: tensor<1x1x?x64xf32>) -> tensor<1x1x?x64xf32> {
  %c = attn.attention %q, %k, %k mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %width = arith.constant 255 : index
    %start = arith.subi %i, %width : index
    %after = arith.cmpi sge, %j, %start : index
    %before = arith.cmpi sle, %j, %i : index
    %m = arith.andi %after, %before : i1
    attn.yield %m : i1
  } : tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32> -> tensor<1x1x?x64xf32>
  return %c : tensor<1x1x?x64xf32>
}

// Lengths known when called bound the keys of a batch.
// CHECK-LABEL: halide.pipeline @lengths_attention_3
// CHECK: %[[LENGTHS:.*]] = halide.input "captured{{.*}}" [?] : <i32, 1>
// CHECK: halide.func "low"
// CHECK-NEXT: halide.yield %c0_i32
// CHECK: halide.func "high" [%it, %h, %[[B:.*]]]
// CHECK:   halide.at %[[LENGTHS]][%[[B]]]
func.func @lengths(%q: tensor<?x1x?x64xf32>, %k: tensor<?x1x?x64xf32>, %n: tensor<?xi32>) -> tensor<?x1x?x64xf32> {
  %c = attn.attention %q, %k, %k mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %length = tensor.extract %n[%b] : tensor<?xi32>
    %end = arith.index_cast %length : i32 to index
    %m = arith.cmpi slt, %j, %end : index
    attn.yield %m : i1
  } : tensor<?x1x?x64xf32>, tensor<?x1x?x64xf32>, tensor<?x1x?x64xf32> -> tensor<?x1x?x64xf32>
  return %c : tensor<?x1x?x64xf32>
}

// What is not linear in q and k bounds nothing: groups of keys between the bounds so far are searched for
// some that a row of the query block sees, once for heads that see the same ones, and KV blocks begin at these.
// What a group of rows sees bounds its products with values.
// CHECK-LABEL: halide.pipeline @odd_attention_2
// CHECK: %[[KNOWN:.*]] = halide.func "low"
// CHECK-NEXT: halide.yield %c0_i32
// CHECK: halide.func "high"
// CHECK-NEXT: halide.yield %key_extent1
// Constants of bounds are hidden from Halide.
// CHECK: %[[LOW:.*]] = halide.func "first"
// CHECK-NEXT: halide.at %[[KNOWN]]
// CHECK: halide.update %[[LOW]]
// CHECK: %[[HIGH:.*]] = halide.func "end"
// CHECK: %[[LANES:.*]] = halide.func "seen_of_lane"
// CHECK: halide.update %[[LANES]]{{.*}} over [%{{.*}} extent %c32_i32]
// CHECK: %[[SEEN:.*]] = halide.func "seen"
// CHECK: halide.update %[[SEEN]]
// CHECK:   halide.at %[[HIGH]]
// CHECK:   halide.at %[[LOW]]
// CHECK: %[[NEXT:.*]] = halide.func "next_seen"
// CHECK:   halide.at %[[SEEN]]
// CHECK: %[[FIRST:.*]] = halide.func "first_seen"
// CHECK:   halide.at %[[NEXT]]
// CHECK: %[[END:.*]] = halide.func "end_seen"
// CHECK: %[[STARTS:.*]] = halide.func "block_starts"
// CHECK:   halide.at %[[FIRST]]
// CHECK: %[[COUNT:.*]] = halide.func "kv_blocks"
// CHECK: halide.update %[[COUNT]]
// CHECK-DAG: halide.at %[[STARTS]]
// CHECK-DAG: halide.at %[[END]]
// CHECK: %[[GROUP:.*]] = halide.func "group_low"
// CHECK: halide.update %[[GROUP]]
// CHECK:   halide.at %[[SEEN]]
// CHECK: %[[TABLE:.*]] = halide.func "shared_keys"
// CHECK:   halide.at %[[FIRST]]
// CHECK: halide.func "shared_kv_blocks"
// CHECK-NEXT: halide.at %[[TABLE]][%{{.*}}, %it, %c0_i32, %b]
// CHECK: halide.compute_root %[[TABLE]]
func.func @odd(%q: tensor<1x1x?x64xf32>, %k: tensor<1x1x?x64xf32>) -> tensor<1x1x?x64xf32> {
  %c = attn.attention %q, %k, %k mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %two = arith.constant 2 : index
    %r = arith.remui %j, %two : index
    %m = arith.cmpi ult, %r, %i : index
    attn.yield %m : i1
  } : tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32> -> tensor<1x1x?x64xf32>
  return %c : tensor<1x1x?x64xf32>
}

// A tensor that is read along the keys is copied first, so that rows can lie in the lanes.
// CHECK-LABEL: halide.pipeline @tensor_attention_0
// CHECK: %[[MASK:.*]] = halide.input "captured{{.*}}" [96, 96]
// A square of 16 × 16 elements is transposed by shuffles of its vectors, all in registers; the
// next KV block's elements are prefetched.
// CHECK: %[[ROWS:.*]] = halide.func "staged0_rows" {{.*}} : i8
// CHECK:   halide.at %[[MASK]]
// CHECK:   halide.fetch_ahead
// CHECK: %[[QUADS:.*]] = halide.func "staged0_quads"
// CHECK:   halide.at %[[ROWS]]
// CHECK: %[[PAIRS:.*]] = halide.func "staged0_pairs"
// CHECK:   halide.at %[[QUADS]]
// CHECK: %[[SQUARE:.*]] = halide.func "staged0_square"
// CHECK:   halide.at %[[PAIRS]]
// CHECK: %[[COPY:.*]] = halide.func "staged0"
// CHECK:   halide.at %[[SQUARE]]
// CHECK: halide.func "score"
// CHECK:   halide.at %[[COPY]]
// The pass that leaves masked keys out reads a copy as well, beside the weight.
// CHECK: %[[EXACT:.*]] = halide.func "fallback_staged0" {{.*}} : i8
// CHECK: %[[SUM:.*]] = halide.func "fallback_score"
// CHECK-NEXT: halide.at %{{fallback_dot.*}}[
// CHECK: halide.func "fallback_weight"
// CHECK:   halide.at %[[SUM]]
// CHECK:   halide.at %[[EXACT]]
// CHECK: halide.store_in %[[COPY]], stack
// CHECK: halide.store_in %[[ROWS]], register
func.func @tensor(%x: tensor<1x1x96x64xf32>, %mask: tensor<96x96xi1>) -> tensor<1x1x96x64xf32> {
  %c = attn.attention %x, %x, %x mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %m = tensor.extract %mask[%i, %j] : tensor<96x96xi1>
    attn.yield %m : i1
  } : tensor<1x1x96x64xf32>, tensor<1x1x96x64xf32>, tensor<1x1x96x64xf32> -> tensor<1x1x96x64xf32>
  return %c : tensor<1x1x96x64xf32>
}

// Where all keys are whole vectors and groups, and the first is always looked at, none of those
// that are copied has to be looked for.
// CHECK-LABEL: halide.pipeline @whole_attention_0
// CHECK: halide.func "staged0_rows"
// CHECK-NOT: halide.likely
// CHECK: halide.func "staged0_quads"
func.func @whole(%x: tensor<1x1x96x64xf32>, %bias: tensor<96x96xf32>) -> tensor<1x1x96x64xf32> {
  %c = attn.attention %x, %x, %x score_mod {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %m = tensor.extract %bias[%i, %j] : tensor<96x96xf32>
    %r = arith.addf %s, %m : f32
    attn.yield %r : f32
  } : tensor<1x1x96x64xf32>, tensor<1x1x96x64xf32>, tensor<1x1x96x64xf32> -> tensor<1x1x96x64xf32>
  return %c : tensor<1x1x96x64xf32>
}

// CHECK-LABEL: halide.pipeline @ragged_attention_0
// CHECK: halide.func "staged0_rows"
// CHECK: halide.likely
// CHECK: halide.func "staged0_quads"
func.func @ragged(%x: tensor<1x1x97x64xf32>, %bias: tensor<97x97xf32>) -> tensor<1x1x97x64xf32> {
  %c = attn.attention %x, %x, %x score_mod {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %m = tensor.extract %bias[%i, %j] : tensor<97x97xf32>
    %r = arith.addf %s, %m : f32
    attn.yield %r : f32
  } : tensor<1x1x97x64xf32>, tensor<1x1x97x64xf32>, tensor<1x1x97x64xf32> -> tensor<1x1x97x64xf32>
  return %c : tensor<1x1x97x64xf32>
}

// What is read for each row is copied once for a query block, also where a region selects by it. The pass
// that leaves masked keys out reads the same copy.
// CHECK-LABEL: halide.pipeline @rows_attention_0
// CHECK: %[[ON:.*]] = halide.input "captured{{.*}}" [96] : <i1, 1>
// CHECK: %[[ROWS:.*]] = halide.func "row_read0" [%ii, %it, %h, %b] : i8
// CHECK:   halide.at %[[ON]]
// CHECK-NOT: halide.func "row_read1"
// CHECK: halide.func "score"
// CHECK: halide.update
// CHECK:   halide.at %[[ROWS]][%ii, %it, %h, %b]
// CHECK: halide.func "fallback_weight"
// CHECK:   halide.at %[[ROWS]]
func.func @rows(%x: tensor<1x1x96x64xf32>, %on: tensor<96xi1>) -> tensor<1x1x96x64xf32> {
  %c = attn.attention %x, %x, %x mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %m = tensor.extract %on[%i] : tensor<96xi1>
    %past = arith.cmpi sle, %j, %i : index
    %later = arith.cmpi sge, %j, %i : index
    %seen = arith.select %m, %past, %later : i1
    attn.yield %seen : i1
  } : tensor<1x1x96x64xf32>, tensor<1x1x96x64xf32>, tensor<1x1x96x64xf32> -> tensor<1x1x96x64xf32>
  return %c : tensor<1x1x96x64xf32>
}
