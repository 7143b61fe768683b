// NaN, infinities and denormal probs in prob regions.

// RUN: attnc verify %s --function factor --size batch=2,q_len=5,kv_len=19 | FileCheck %s
// RUN: attnc verify %s --function factor_of_prob --size batch=2,q_len=5,kv_len=19 | FileCheck %s
// RUN: attnc verify %s --function zeroed --size batch=2,q_len=5,kv_len=19 | FileCheck %s
// RUN: attnc verify %s --function masked_alone --size batch=2,q_len=5,kv_len=19 | FileCheck %s
// RUN: attnc verify %s --function tiny --size batch=2,q_len=5,kv_len=19 | FileCheck %s
// RUN: attnc verify %s --function zero_before_factor --size batch=2,q_len=5,kv_len=19 | FileCheck %s
// RUN: attnc verify %s --function zero_before_quotient --size batch=2,q_len=5,kv_len=19 | FileCheck %s
// RUN: attnc verify %s --function zero_factor --size batch=2,q_len=5,kv_len=19 | FileCheck %s
// RUN: attnc verify %s --function bent --size batch=2,q_len=5,kv_len=19 | FileCheck %s
// CHECK: cases, all within the allowed error

// An infinite factor at a masked key: its prob stays 0. Fused.
func.func @factor(%query: tensor<?x2x?x16xf32> {attn.name = "query", attn.dims = ["batch", 2, "q_len", 16]},
                  %key: tensor<?x2x?x16xf32> {attn.name = "key", attn.dims = ["batch", 2, "kv_len", 16]},
                  %value: tensor<?x2x?x8xf32> {attn.name = "value", attn.dims = ["batch", 2, "kv_len", 8]},
                  %factor: tensor<2x?xf32> {attn.name = "factor", attn.dims = [2, "kv_len"]})
    -> (tensor<?x2x?x8xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25) : tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32> -> tensor<?x2x?x?xf32>
  %masked = attn.mask %score causal(top_left) : tensor<?x2x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x2x?x?xf32>
  %scaled = attn.modify_prob %prob {
  ^bb0(%p: f32, %b: index, %h: index, %q: index, %k: index):
    %f = tensor.extract %factor[%h, %k] : tensor<2x?xf32>
    %r = arith.mulf %p, %f : f32
    attn.yield %r : f32
  } : tensor<?x2x?x?xf32>
  %context = attn.context %scaled, %value : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x8xf32>
  return %context : tensor<?x2x?x8xf32>
}

// The same op by op: the prob is a result as well.
func.func @factor_of_prob(%query: tensor<?x2x?x16xf32> {attn.name = "query", attn.dims = ["batch", 2, "q_len", 16]},
                          %key: tensor<?x2x?x16xf32> {attn.name = "key", attn.dims = ["batch", 2, "kv_len", 16]},
                          %value: tensor<?x2x?x8xf32> {attn.name = "value", attn.dims = ["batch", 2, "kv_len", 8]},
                          %factor: tensor<2x?xf32> {attn.name = "factor", attn.dims = [2, "kv_len"]})
    -> (tensor<?x2x?x8xf32> {attn.name = "context"}, tensor<?x2x?x?xf32> {attn.name = "prob"}) {
  %score = attn.score %query, %key scale(0.25) : tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32> -> tensor<?x2x?x?xf32>
  %masked = attn.mask %score causal(top_left) : tensor<?x2x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x2x?x?xf32>
  %scaled = attn.modify_prob %prob {
  ^bb0(%p: f32, %b: index, %h: index, %q: index, %k: index):
    %f = tensor.extract %factor[%h, %k] : tensor<2x?xf32>
    %r = arith.mulf %p, %f : f32
    attn.yield %r : f32
  } : tensor<?x2x?x?xf32>
  %context = attn.context %scaled, %value : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x8xf32>
  return %context, %scaled : tensor<?x2x?x8xf32>, tensor<?x2x?x?xf32>
}

// Zero instead of every prob of a row, NaN among them, is zero; of some, the others stay NaN.
func.func @zeroed(%query: tensor<?x2x?x16xf32> {attn.name = "query", attn.dims = ["batch", 2, "q_len", 16]},
                  %key: tensor<?x2x?x16xf32> {attn.name = "key", attn.dims = ["batch", 2, "kv_len", 16]},
                  %value: tensor<?x2x?x8xf32> {attn.name = "value", attn.dims = ["batch", 2, "kv_len", 8]})
    -> (tensor<?x2x?x8xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25) : tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32> -> tensor<?x2x?x?xf32>
  %prob = attn.softmax %score : tensor<?x2x?x?xf32>
  %some = attn.modify_prob %prob {
  ^bb0(%p: f32, %b: index, %h: index, %q: index, %k: index):
    %zero = arith.constant 0.0 : f32
    %kept = arith.cmpi ne, %b, %h : index
    %odd = arith.cmpi slt, %k, %q : index
    %both = arith.ori %kept, %odd : i1
    %r = arith.select %both, %p, %zero : f32
    attn.yield %r : f32
  } : tensor<?x2x?x?xf32>
  %context = attn.context %some, %value : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x8xf32>
  return %context : tensor<?x2x?x8xf32>
}

// Of a row that sees NaN, the only prob that is left is one of a masked key: 0.
func.func @masked_alone(%query: tensor<?x2x?x16xf32> {attn.name = "query", attn.dims = ["batch", 2, "q_len", 16]},
                        %key: tensor<?x2x?x16xf32> {attn.name = "key", attn.dims = ["batch", 2, "kv_len", 16]},
                        %value: tensor<?x2x?x8xf32> {attn.name = "value", attn.dims = ["batch", 2, "kv_len", 8]})
    -> (tensor<?x2x?x8xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25) : tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32> -> tensor<?x2x?x?xf32>
  %masked = attn.mask %score causal(top_left) : tensor<?x2x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x2x?x?xf32>
  %some = attn.modify_prob %prob {
  ^bb0(%p: f32, %b: index, %h: index, %q: index, %k: index):
    %zero = arith.constant 0.0 : f32
    %hidden = arith.cmpi sgt, %k, %q : index
    %r = arith.select %hidden, %p, %zero : f32
    attn.yield %r : f32
  } : tensor<?x2x?x?xf32>
  %context = attn.context %some, %value : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x8xf32>
  return %context : tensor<?x2x?x8xf32>
}

// Probs of 1e-60 beside an infinite value, op by op.
func.func @tiny(%query: tensor<?x2x?x16xf32> {attn.name = "query", attn.dims = ["batch", 2, "q_len", 16]},
                %key: tensor<?x2x?x16xf32> {attn.name = "key", attn.dims = ["batch", 2, "kv_len", 16]},
                %value: tensor<?x2x?x8xf32> {attn.name = "value", attn.dims = ["batch", 2, "kv_len", 8]})
    -> (tensor<?x2x?x8xf32> {attn.name = "context"}, tensor<?x2x?x?xf32> {attn.name = "prob"}) {
  %score = attn.score %query, %key scale(15.0) : tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32> -> tensor<?x2x?x?xf32>
  %prob = attn.softmax %score : tensor<?x2x?x?xf32>
  %context = attn.context %prob, %value : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x8xf32>
  return %context, %prob : tensor<?x2x?x8xf32>, tensor<?x2x?x?xf32>
}

// What is 0 already stays so, whatever another region multiplies it by.
func.func @zero_before_factor(%query: tensor<?x2x?x16xf32> {attn.name = "query", attn.dims = ["batch", 2, "q_len", 16]},
                              %key: tensor<?x2x?x16xf32> {attn.name = "key", attn.dims = ["batch", 2, "kv_len", 16]},
                              %value: tensor<?x2x?x8xf32> {attn.name = "value", attn.dims = ["batch", 2, "kv_len", 8]},
                              %factor: tensor<2x?xf32> {attn.name = "factor", attn.dims = [2, "kv_len"]})
    -> (tensor<?x2x?x8xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25) : tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32> -> tensor<?x2x?x?xf32>
  %prob = attn.softmax %score : tensor<?x2x?x?xf32>
  %some = attn.modify_prob %prob {
  ^bb0(%p: f32, %b: index, %h: index, %q: index, %k: index):
    %zero = arith.constant 0.0 : f32
    %same = arith.cmpi eq, %k, %q : index
    %r = arith.select %same, %p, %zero : f32
    attn.yield %r : f32
  } : tensor<?x2x?x?xf32>
  %scaled = attn.modify_prob %some {
  ^bb0(%p: f32, %b: index, %h: index, %q: index, %k: index):
    %f = tensor.extract %factor[%h, %k] : tensor<2x?xf32>
    %r = arith.mulf %p, %f : f32
    attn.yield %r : f32
  } : tensor<?x2x?x?xf32>
  %context = attn.context %scaled, %value : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x8xf32>
  return %context : tensor<?x2x?x8xf32>
}

// The same of a factor computed from indices: infinite on the diagonal.
func.func @zero_before_quotient(%query: tensor<?x2x?x16xf32> {attn.name = "query", attn.dims = ["batch", 2, "q_len", 16]},
                                %key: tensor<?x2x?x16xf32> {attn.name = "key", attn.dims = ["batch", 2, "kv_len", 16]},
                                %value: tensor<?x2x?x8xf32> {attn.name = "value", attn.dims = ["batch", 2, "kv_len", 8]})
    -> (tensor<?x2x?x8xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25) : tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32> -> tensor<?x2x?x?xf32>
  %prob = attn.softmax %score : tensor<?x2x?x?xf32>
  %some = attn.modify_prob %prob {
  ^bb0(%p: f32, %b: index, %h: index, %q: index, %k: index):
    %zero = arith.constant 0.0 : f32
    %same = arith.cmpi eq, %k, %q : index
    %r = arith.select %same, %zero, %p : f32
    attn.yield %r : f32
  } : tensor<?x2x?x?xf32>
  %scaled = attn.modify_prob %some {
  ^bb0(%p: f32, %b: index, %h: index, %q: index, %k: index):
    %d = arith.subi %k, %q : index
    %i = arith.index_cast %d : index to i32
    %f = arith.sitofp %i : i32 to f32
    %r = arith.divf %p, %f : f32
    attn.yield %r : f32
  } : tensor<?x2x?x?xf32>
  %context = attn.context %scaled, %value : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x8xf32>
  return %context : tensor<?x2x?x8xf32>
}

// NaN times zero is NaN: of a row whose probs are all NaN, those with a factor of 0, too.
func.func @zero_factor(%query: tensor<?x2x?x16xf32> {attn.name = "query", attn.dims = ["batch", 2, "q_len", 16]},
                       %key: tensor<?x2x?x16xf32> {attn.name = "key", attn.dims = ["batch", 2, "kv_len", 16]},
                       %value: tensor<?x2x?x8xf32> {attn.name = "value", attn.dims = ["batch", 2, "kv_len", 8]})
    -> (tensor<?x2x?x8xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25) : tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32> -> tensor<?x2x?x?xf32>
  %prob = attn.softmax %score : tensor<?x2x?x?xf32>
  %few = attn.modify_prob %prob {
  ^bb0(%p: f32, %b: index, %h: index, %q: index, %k: index):
    %none = arith.constant 99 : index
    %is = arith.cmpi sgt, %k, %none : index
    %factor = arith.uitofp %is : i1 to f32
    %r = arith.mulf %p, %factor : f32
    attn.yield %r : f32
  } : tensor<?x2x?x?xf32>
  %context = attn.context %few, %value : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x8xf32>
  return %context : tensor<?x2x?x8xf32>
}

// No fused kernel: the region is to see the prob itself, of a row that is normalised.
func.func @bent(%query: tensor<?x2x?x16xf32> {attn.name = "query", attn.dims = ["batch", 2, "q_len", 16]},
                %key: tensor<?x2x?x16xf32> {attn.name = "key", attn.dims = ["batch", 2, "kv_len", 16]},
                %value: tensor<?x2x?x8xf32> {attn.name = "value", attn.dims = ["batch", 2, "kv_len", 8]})
    -> (tensor<?x2x?x8xf32> {attn.name = "context"}) {
  %context = attn.attention %query, %key, %value scale(0.25) prob_mod {
  ^bb0(%p: f32, %b: index, %h: index, %q: index, %k: index):
    %r = math.erf %p : f32
    attn.yield %r : f32
  } : tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x8xf32>
  return %context : tensor<?x2x?x8xf32>
}
