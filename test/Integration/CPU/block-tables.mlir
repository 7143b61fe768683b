// Masks that a table of blocks gives: KV blocks without a visible key are skipped, wherever they lie.
// RUN: attnc verify %s --function of_head --size batch=2,q_len=200,kv_len=333,q_blocks=7,kv_blocks=6 | FileCheck %s
// RUN: attnc verify %s --function of_head --size batch=1,q_len=5,kv_len=1000,q_blocks=1,kv_blocks=16 | FileCheck %s
// RUN: attnc verify %s --function shifted --size q_len=150,kv_len=500,kv_blocks=6 | FileCheck %s
// RUN: attnc verify %s --function beside_gap --size q_len=2000,kv_len=2048,kv_blocks=32 | FileCheck %s
// CHECK: all within the allowed error

// RUN: attnc explain %s --function of_head --target x86-64-linux-avx512_skylake | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: prefill skips those without a visible key, found by evaluating the mask first

// The first key of each KV block is looked up.
// RUN: attn-opt %s --attn-pipeline=target=x86-64-linux-avx512_skylake | FileCheck %s --check-prefix=STARTS
// STARTS-LABEL: halide.pipeline @shifted_attention_2
// STARTS: %block_starts = halide.func "block_starts"

!t = tensor<?x4x?x32xf32>
!s = tensor<?x4x?x?xf32>

func.func @of_head(
    %q: !t {attn.name = "query", attn.dims = ["batch", 4, "q_len", 32]},
    %k: !t {attn.name = "key", attn.dims = ["batch", 4, "kv_len", 32]},
    %table: tensor<4x?x?xi1> {attn.name = "table", attn.dims = [4, "q_blocks", "kv_blocks"]}) -> !t {
  %score = attn.score %q, %k scale(0.125) : !t, !t -> !s
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %qb = arith.divui %i, %c32 : index
    %kb = arith.divui %j, %c64 : index
    %seen = tensor.extract %table[%h, %qb, %kb] : tensor<4x?x?xi1>
    %before = arith.cmpi sge, %j, %i : index
    %both = arith.andi %seen, %before : i1
    attn.yield %both : i1
  } : !s
  %prob = attn.softmax %masked : !s
  %context = attn.context %prob, %k : !s, !t -> !t
  return %context : !t
}

!one = tensor<1x4x?x32xf32>
!score = tensor<1x4x?x?xf32>

// All rows see the same keys.
func.func @shifted(
    %q: !one {attn.name = "query", attn.dims = [1, 4, "q_len", 32]},
    %k: !one {attn.name = "key", attn.dims = [1, 4, "kv_len", 32]},
    %table: tensor<?xi1> {attn.name = "table", attn.dims = ["kv_blocks"]}) -> !one {
  %score = attn.score %q, %k scale(0.125) : !one, !one -> !score
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c7 = arith.constant 7 : index
    %c100 = arith.constant 100 : index
    %at = arith.addi %j, %c7 : index
    %kb = arith.divui %at, %c100 : index
    %seen = tensor.extract %table[%kb] : tensor<?xi1>
    attn.yield %seen : i1
  } : !score
  %prob = attn.softmax %masked : !score
  %context = attn.context %prob, %k : !score, !one -> !one
  return %context : !one
}

// Two key ranges and a block table: keys of the second range that the table shows are visited.
func.func @beside_gap(
    %q: !one {attn.name = "query", attn.dims = [1, 4, "q_len", 32]},
    %k: !one {attn.name = "key", attn.dims = [1, 4, "kv_len", 32]},
    %table: tensor<?xi1> {attn.name = "table", attn.dims = ["kv_blocks"]}) -> !one {
  %score = attn.score %q, %k scale(0.125) : !one, !one -> !score
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c64 = arith.constant 64 : index
    %c100 = arith.constant 100 : index
    %c1000 = arith.constant 1000 : index
    %kb = arith.divui %j, %c64 : index
    %seen = tensor.extract %table[%kb] : tensor<?xi1>
    %before = arith.subi %i, %c100 : index
    %near = arith.cmpi sgt, %j, %before : index
    %sink = arith.cmpi slt, %j, %c1000 : index
    %either = arith.ori %sink, %near : i1
    %both = arith.andi %either, %seen : i1
    attn.yield %both : i1
  } : !score
  %prob = attn.softmax %masked : !score
  %context = attn.context %prob, %k : !score, !one -> !one
  return %context : !one
}
