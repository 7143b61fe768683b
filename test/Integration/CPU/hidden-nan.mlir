// NaN and infinities in a bias behind a mask, where it hides keys: prob, lse and context of one
// call agree that those keys take no part, fused (many rows) and not (one row).

// RUN: %python -c "import numpy as n, sys; b = n.zeros((40, 6), 'f4'); b[:, 3] = n.nan; \
// RUN:   b[:, 4] = n.inf; n.save('%t.npy', b)"
// RUN: attnc verify %s --function mask --size q_len=40 --input bias=@%t.npy | FileCheck %s
// RUN: attnc verify %s --function capped --size q_len=40 --input bias=@%t.npy | FileCheck %s
// RUN: attnc run %s --function mask --input query=random:1x1x40x16 --input bias=@%t.npy \
// RUN:   --input key=random:1x1x6x16 | FileCheck %s --check-prefix=FINITE
// RUN: attnc run %s --function select --input query=random:1x1x40x16 --input bias=@%t.npy \
// RUN:   --input key=random:1x1x6x16 | FileCheck %s --check-prefix=FINITE
// RUN: %python -c "import numpy as n; b = n.zeros((1, 6), 'f4'); b[:, 3] = n.nan; b[:, 4] = n.inf; \
// RUN:   n.save('%t.npy', b)"
// RUN: attnc verify %s --function mask --size q_len=1 --input bias=@%t.npy | FileCheck %s
// CHECK: cases, all within the allowed error
// FINITE-NOT: nan
// FINITE-COUNT-3: mean
// FINITE-NOT: nan

!query = tensor<1x1x?x16xf32>
!key = tensor<1x1x6x16xf32>
!score = tensor<1x1x?x6xf32>
!bias = tensor<?x6xf32>
func.func @mask(%query: !query {attn.name = "query", attn.dims = [1, 1, "q_len", 16]}, %key: !key {attn.name = "key"},
                %bias: !bias {attn.name = "bias", attn.dims = ["q_len", 6]})
    -> (!query {attn.name = "context"}, !score {attn.name = "prob"}, tensor<1x1x?xf32> {attn.name = "lse"}) {
  %score = attn.score %query, %key : !query, !key -> !score
  %mask = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %c = arith.constant 3 : index
    %seen = arith.cmpi slt, %k, %c : index
    attn.yield %seen : i1
  } : !score
  %sum = attn.modify_score %mask {
  ^bb0(%x: f32, %b: index, %h: index, %q: index, %k: index):
    %e = tensor.extract %bias[%q, %k] : !bias
    %r = arith.addf %x, %e : f32
    attn.yield %r : f32
  } : !score
  %lse = attn.lse %sum : !score -> tensor<1x1x?xf32>
  %prob = attn.softmax %sum : !score
  %context = attn.context %prob, %key : !score, !key -> !query
  return %context, %prob, %lse : !query, !score, tensor<1x1x?xf32>
}

// tanh makes -1 of the -inf that stays.
func.func @capped(%query: !query {attn.name = "query", attn.dims = [1, 1, "q_len", 16]}, %key: !key {attn.name = "key"},
                  %bias: !bias {attn.name = "bias", attn.dims = ["q_len", 6]}) -> !query {
  %score = attn.score %query, %key : !query, !key -> !score
  %mask = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %c = arith.constant 3 : index
    %seen = arith.cmpi slt, %k, %c : index
    attn.yield %seen : i1
  } : !score
  %sum = attn.modify_score %mask {
  ^bb0(%x: f32, %b: index, %h: index, %q: index, %k: index):
    %e = tensor.extract %bias[%q, %k] : !bias
    %s = arith.addf %x, %e : f32
    %r = math.tanh %s : f32
    attn.yield %r : f32
  } : !score
  %prob = attn.softmax %sum : !score
  %context = attn.context %prob, %key : !score, !key -> !query
  return %context : !query
}

// A condition in the score's region hides as well, for all results of a fused op.
func.func @select(%query: !query {attn.name = "query", attn.dims = [1, 1, "q_len", 16]}, %key: !key {attn.name = "key"},
                  %bias: !bias {attn.name = "bias", attn.dims = ["q_len", 6]})
    -> (!query {attn.name = "context"}, !score {attn.name = "prob"}, tensor<1x1x?xf32> {attn.name = "lse"}) {
  %score = attn.score %query, %key : !query, !key -> !score
  %sum = attn.modify_score %score {
  ^bb0(%x: f32, %b: index, %h: index, %q: index, %k: index):
    %c = arith.constant 3 : index
    %hidden = arith.constant 0xFF800000 : f32
    %seen = arith.cmpi slt, %k, %c : index
    %s = arith.select %seen, %x, %hidden : f32
    %e = tensor.extract %bias[%q, %k] : !bias
    %r = arith.addf %s, %e : f32
    attn.yield %r : f32
  } : !score
  %prob = attn.softmax %sum : !score
  %lse = attn.lse %sum : !score -> tensor<1x1x?xf32>
  %context = attn.context %prob, %key : !score, !key -> !query
  return %context, %prob, %lse : !query, !score, tensor<1x1x?xf32>
}
