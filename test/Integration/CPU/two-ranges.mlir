// Masks whose rows see two ranges of keys: the KV blocks between them are not visited.

// RUN: attnc explain %s --function sinks | FileCheck %s
// RUN: attnc compile %s --function sinks --emit halide -o - | FileCheck %s --check-prefix=IR
// RUN: attnc verify %s --function sinks --size q_len=330,kv_len=330
// RUN: attnc verify %s --function lengths --size q_len=100,kv_len=500
// RUN: attnc verify %s --function lengths --size q_len=1,kv_len=500
// RUN: attnc compile %s --function lengths --emit halide -o - | FileCheck %s --check-prefix=DECODE
// RUN: attnc verify %s --function tensors --size q_len=100,kv_len=400
// RUN: attnc verify %s --function tensors --size q_len=1,kv_len=400
// RUN: attnc verify %s --function order --size q_len=130,kv_len=500
// RUN: attnc verify %s --function prefix --size q_len=130,kv_len=300

// CHECK: skips KV blocks after the last visible key and between two ranges of them
// Keys of the longer range that all rows see take no mask.
// DECODE-LABEL: halide.pipeline @lengths_attention_0 {{.*}}#attn.decode<{{[^>]*}}max_q_len = 1>
// DECODE: "gap_keys"
// DECODE-LABEL: halide.pipeline @lengths_attention_1
// IR-DAG: "gap_keys"
// IR-DAG: "first_full"

!heads = tensor<1x2x?x32xf32>
!score = tensor<1x2x?x?xf32>

// Attention sinks and a window.
func.func @sinks(%query: !heads {attn.dims = [1, 2, "q_len", 32]}, %key: !heads {attn.dims = [1, 2, "kv_len", 32]},
                 %value: !heads {attn.dims = [1, 2, "kv_len", 32]}) -> !heads {
  %score = attn.score %query, %key scale(0.2) : !heads, !heads
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %four = arith.constant 4 : index
    %width = arith.constant 70 : index
    %first = arith.subi %q, %width : index
    %isSink = arith.cmpi slt, %k, %four : index
    %isNear = arith.cmpi sgt, %k, %first : index
    %seen = arith.ori %isSink, %isNear : i1
    %isPast = arith.cmpi sle, %k, %q : index
    %both = arith.andi %seen, %isPast : i1
    attn.yield %both : i1
  } : !score
  %prob = attn.softmax %masked : !score
  %context = attn.context %prob, %value : !score, !heads
  return %context : !heads
}

// The last keys of each sequence, or the first ones, in this order; then neither where a sequence is short.
func.func @lengths(%query: tensor<3x2x?x32xbf16>, %key: tensor<3x2x?x32xbf16>, %value: tensor<3x2x?x32xbf16>,
                   %lengths: tensor<3xi32>) -> tensor<3x2x?x32xbf16> {
  %score = attn.score %query, %key scale(0.2) : tensor<3x2x?x32xbf16>, tensor<3x2x?x32xbf16>
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %l = tensor.extract %lengths[%b] : tensor<3xi32>
    %length = arith.index_cast %l : i32 to index
    %forty = arith.constant 40 : index
    %last = arith.subi %length, %forty : index
    %isLast = arith.cmpi sge, %k, %last : index
    %isFirst = arith.cmpi slt, %k, %forty : index
    %seen = arith.ori %isLast, %isFirst : i1
    attn.yield %seen : i1
  } : tensor<3x2x?x?xbf16>
  %within = attn.mask %masked kv_lengths(%lengths : tensor<3xi32>) : tensor<3x2x?x?xbf16>
  %prob = attn.softmax %within : tensor<3x2x?x?xbf16>
  %context = attn.context %prob, %value : tensor<3x2x?x?xbf16>, tensor<3x2x?x32xbf16>
  return %context : tensor<3x2x?x32xbf16>
}

// Bounds of tensors, which may cross, and lie anywhere.
func.func @tensors(%query: !heads, %key: !heads, %value: !heads, %ends: tensor<2xi64>, %starts: tensor<2xi64>)
    -> (!heads, tensor<1x2x?xf32>) {
  %score = attn.score %query, %key scale(0.2) : !heads, !heads
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %e = tensor.extract %ends[%h] : tensor<2xi64>
    %s = tensor.extract %starts[%h] : tensor<2xi64>
    %ten = arith.constant 10 : i64
    %end = arith.muli %e, %ten : i64
    %start = arith.muli %s, %ten : i64
    %ki = arith.index_cast %k : index to i64
    %isFirst = arith.cmpi slt, %ki, %end : i64
    %isLast = arith.cmpi sgt, %ki, %start : i64
    %seen = arith.ori %isFirst, %isLast : i1
    attn.yield %seen : i1
  } : !score
  %lse = attn.lse %masked : !score -> tensor<1x2x?xf32>
  %prob = attn.softmax %masked : !score
  %context = attn.context %prob, %value : !score, !heads
  return %context, %lse : !heads, tensor<1x2x?xf32>
}

// The second range before the first one, one of them empty for some rows.
func.func @order(%query: !heads, %key: !heads, %value: !heads) -> !heads {
  %score = attn.score %query, %key scale(0.2) : !heads, !heads
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %hundred = arith.constant 40 : index
    %many = arith.constant 300 : index
    %upper = arith.subi %q, %hundred : index
    %lower = arith.addi %q, %many : index
    %isAfter = arith.cmpi sgt, %k, %lower : index
    %isBefore = arith.cmpi slt, %k, %upper : index
    %seen = arith.ori %isAfter, %isBefore : i1
    attn.yield %seen : i1
  } : !score
  %prob = attn.softmax %masked : !score
  %context = attn.context %prob, %value : !score, !heads
  return %context : !heads
}

// A prefix that all rows see, beside a causal mask: one range.
func.func @prefix(%query: !heads, %key: !heads, %value: !heads, %prefix: tensor<1xi32>) -> !heads {
  %score = attn.score %query, %key scale(0.2) : !heads, !heads
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %length = tensor.extract %prefix[%b] : tensor<1xi32>
    %end = arith.index_cast %length : i32 to index
    %isPrefix = arith.cmpi slt, %k, %end : index
    %isPast = arith.cmpi sle, %k, %q : index
    %seen = arith.ori %isPrefix, %isPast : i1
    attn.yield %seen : i1
  } : !score
  %prob = attn.softmax %masked : !score
  %context = attn.context %prob, %value : !score, !heads
  return %context : !heads
}
