// RUN: attn-opt %s --pass-pipeline='builtin.module(func.func(attn-fuse-attention,attn-shard))' --split-input-file --verify-diagnostics
// RUN: not attn-opt %s --pass-pipeline='builtin.module(func.func(attn-fuse-attention,attn-shard{cluster=ranks=0}))' --split-input-file 2>&1 | FileCheck %s
// CHECK: error: expected a cluster of ranks, rows, gflops, memory, link and latency, each =NUMBER above 0, found ranks=0

// expected-error @+1 {{expected attn.shard to be a dictionary, found 3 : i64}}
func.func @no_dictionary(%x: tensor<?xf32> {attn.dims = ["len"]}) -> tensor<?xf32> attributes {attn.shard = 3} {
  return %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{expected #attn.shard<...> for "len" in attn.shard, found "zigzag"}}
func.func @no_layout(%x: tensor<?xf32> {attn.dims = ["len"]}) -> tensor<?xf32> attributes {attn.shard = {len = "zigzag"}} {
  return %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{expected a dynamic size of an argument that attn.dims calls "lens", found none}}
func.func @no_size(%x: tensor<?xf32> {attn.dims = ["len"]}) -> tensor<?xf32> attributes {attn.shard = {lens = #attn.shard<blocks>}} {
  return %x : tensor<?xf32>
}

// -----

func.func @mixes_rows(%x: tensor<?x8xf32> {attn.dims = ["len", 8]}) -> tensor<8xf32> attributes {attn.shard = {len = #attn.shard<blocks>}} {
  // expected-error @+1 {{expected an op that works row by row, or attention that fuses, on a dimension that attn.shard spreads}}
  %y = attn.reduce sum %x axes [0] : tensor<?x8xf32> -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @computed(%x: tensor<?x8xf32> {attn.dims = ["len", 8]}, %more: tensor<3x8xf32>) -> tensor<?x8xf32> attributes {attn.shard = {len = #attn.shard<blocks>}} {
  // expected-error @+1 {{expected sizes that are spread as a whole, found (len + 3)}}
  %y = tensor.concat dim(0) %x, %more : (tensor<?x8xf32>, tensor<3x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

func.func @unordered(%query: tensor<?x4x1x8xf32>, %key: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "kv_len", 8]})
    -> tensor<?x4x1x8xf32> attributes {attn.shard = {kv_len = #attn.shard<unordered>}} {
  %score = attn.score %query, %key : tensor<?x4x1x8xf32>, tensor<?x4x?x8xf32>
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %c5 = arith.constant 5 : index
    // expected-error @+1 {{expected no use of a position of "kv_len", which is unordered}}
    %m = arith.cmpi slt, %k, %c5 : index
    attn.yield %m : i1
  } : tensor<?x4x1x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x1x?xf32>
  %context = attn.context %prob, %key : tensor<?x4x1x?xf32>, tensor<?x4x?x8xf32>
  return %context : tensor<?x4x1x8xf32>
}

// -----

func.func @read_elsewhere(%query: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "len", 8]}, %ids: tensor<?xi32> {attn.dims = ["len"]})
    -> tensor<?x4x?x8xf32> attributes {attn.shard = {len = #attn.shard<blocks>}} {
  %score = attn.score %query, %query : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    // expected-error @+1 {{expected dimension 0, which attn.shard spreads, to be read at q or k itself}}
    %id = tensor.extract %ids[%h] : tensor<?xi32>
    %c5 = arith.constant 5 : i32
    %m = arith.cmpi slt, %id, %c5 : i32
    attn.yield %m : i1
  } : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %query : tensor<?x4x?x?xf32>, tensor<?x4x?x8xf32>
  return %context : tensor<?x4x?x8xf32>
}

// -----

// Of sigmoid attention the score is not fused.
func.func @unfused(%query: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "len", 8]})
    -> tensor<?x4x?x8xf32> attributes {attn.shard = {len = #attn.shard<blocks>}} {
  // expected-error @+1 {{expected an op that works row by row, or attention that fuses}}
  %score = attn.score %query, %query : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>
  %context = attn.context %score, %query : tensor<?x4x?x?xf32>, tensor<?x4x?x8xf32>
  return %context : tensor<?x4x?x8xf32>
}

// -----

func.func @batch(%query: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "len", 8]})
    -> tensor<?x4x?x8xf32> attributes {attn.shard = {batch = #attn.shard<blocks>}} {
  %score = attn.score %query, %query : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>
  %prob = attn.softmax %score : tensor<?x4x?x?xf32>
  // expected-error @+1 {{expected attn.shard to spread rows or keys, found dimension 0 of an operand}}
  %context = attn.context %prob, %query : tensor<?x4x?x?xf32>, tensor<?x4x?x8xf32>
  return %context : tensor<?x4x?x8xf32>
}

// -----

func.func @size_of_unordered(%query: tensor<?x4x1x8xf32>, %key: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "kv_len", 8]})
    -> tensor<?x4x1x8xf32> attributes {attn.shard = {kv_len = #attn.shard<unordered>}} {
  %score = attn.score %query, %key : tensor<?x4x1x8xf32>, tensor<?x4x?x8xf32>
  %scaled = attn.modify_score %score {
  ^bb0(%s: f32, %b: index, %h: index, %q: index, %k: index):
    %c2 = arith.constant 2 : index
    %len = tensor.dim %key, %c2 : tensor<?x4x?x8xf32>
    // expected-error @+1 {{expected no use of the size "kv_len", which is unordered}}
    %int = arith.index_cast %len : index to i32
    %float = arith.sitofp %int : i32 to f32
    %r = arith.divf %s, %float : f32
    attn.yield %r : f32
  } : tensor<?x4x1x?xf32>
  %prob = attn.softmax %scaled : tensor<?x4x1x?xf32>
  %context = attn.context %prob, %key : tensor<?x4x1x?xf32>, tensor<?x4x?x8xf32>
  return %context : tensor<?x4x1x8xf32>
}

// -----

func.func @bias_of_both(%query: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "len", 8]}, %bias: tensor<?x?xf32> {attn.dims = ["len", "len"]})
    -> tensor<?x4x?x8xf32> attributes {attn.shard = {len = #attn.shard<blocks>}} {
  %score = attn.score %query, %query : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>
  %biased = attn.modify_score %score {
  ^bb0(%s: f32, %b: index, %h: index, %q: index, %k: index):
    // expected-error @+1 {{expected a tensor with one dimension that attn.shard spreads, found 2}}
    %one = tensor.extract %bias[%q, %k] : tensor<?x?xf32>
    %r = arith.addf %s, %one : f32
    attn.yield %r : f32
  } : tensor<?x4x?x?xf32>
  %prob = attn.softmax %biased : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %query : tensor<?x4x?x?xf32>, tensor<?x4x?x8xf32>
  return %context : tensor<?x4x?x8xf32>
}

// -----

func.func @halo_without_window(%query: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "len", 8]})
    -> tensor<?x4x?x8xf32> attributes {attn.shard = {len = #attn.shard<blocks, halo>}} {
  %score = attn.score %query, %query : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>
  %masked = attn.mask %score causal(top_left) : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  // expected-error @+1 {{expected another strategy than halo, as the mask has no constant bound on both sides of a row's place}}
  %context = attn.context %prob, %query : tensor<?x4x?x?xf32>, tensor<?x4x?x8xf32>
  return %context : tensor<?x4x?x8xf32>
}

// -----

func.func @halo_of_stripes(%query: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "len", 8]})
    -> tensor<?x4x?x8xf32> attributes {attn.shard = {len = #attn.shard<striped, halo>}} {
  %score = attn.score %query, %query : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>
  %masked = attn.mask %score window(3, 0) : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  // expected-error @+1 {{expected another strategy than halo, as the layout is not blocks}}
  %context = attn.context %prob, %query : tensor<?x4x?x?xf32>, tensor<?x4x?x8xf32>
  return %context : tensor<?x4x?x8xf32>
}

// -----

func.func @ring_of_whole_rows(%query: tensor<?x4x1x8xf32>, %key: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "kv_len", 8]})
    -> tensor<?x4x1x8xf32> attributes {attn.shard = {kv_len = #attn.shard<blocks, ring>}} {
  %score = attn.score %query, %key : tensor<?x4x1x8xf32>, tensor<?x4x?x8xf32>
  %prob = attn.softmax %score : tensor<?x4x1x?xf32>
  // expected-error @+1 {{expected a strategy for rows that are whole, found ring}}
  %context = attn.context %prob, %key : tensor<?x4x1x?xf32>, tensor<?x4x?x8xf32>
  return %context : tensor<?x4x1x8xf32>
}

// -----

// expected-error @+1 {{expected a strategy for a size of keys alone, found ring for "len"}}
func.func @rows_have_none(%x: tensor<?x8xf32> {attn.dims = ["len", 8]}) -> tensor<?x8xf32> attributes {attn.shard = {len = #attn.shard<blocks, ring>}} {
  return %x : tensor<?x8xf32>
}
