// A sum with -inf is a mask: NaN of keys that it hides stays hidden, though NaN + -inf is NaN. Visible NaN is still seen.
// RUN: attnc verify %s --size batch=2,q_len=33,kv_len=33 | FileCheck %s
// CHECK: NaN and inf in key
// CHECK: 5 cases, all within the allowed error

!heads = tensor<?x2x?x16xf32>
!score = tensor<?x2x?x?xf32>
func.func @f(%query: !heads, %key: !heads, %value: !heads) -> !heads {
  %score = attn.score %query, %key scale(0.25) : !heads, !heads
  %biased = attn.modify_score %score {
  ^bb0(%s: f32, %b: index, %h: index, %q: index, %k: index):
    %zero = arith.constant 0.0 : f32
    %inf = arith.constant 0xFF800000 : f32
    %c = arith.cmpi sle, %k, %q : index
    %m = arith.select %c, %zero, %inf : f32
    %r = arith.addf %s, %m : f32
    attn.yield %r : f32
  } : !score
  %prob = attn.softmax %biased : !score
  %context = attn.context %prob, %value : !score, !heads
  return %context : !heads
}
