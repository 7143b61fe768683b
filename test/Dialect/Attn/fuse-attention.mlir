// RUN: attn-opt %s -attn-raise -attn-fuse-attention -split-input-file | FileCheck %s --implicit-check-not=attn.softmax
//
// Every spelling of attention becomes one attn.attention.

// CHECK-LABEL: func @plain(
// CHECK: attn.attention %arg0, %arg1, %arg2 scale(1.250000e-01) : tensor
// CHECK-NEXT: return
func.func @plain(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %s = attn.score %q, %k scale(0.125) : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %p = attn.softmax %s : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// The scale on the score, as a product and as a quotient.
// CHECK-LABEL: func @scale_after(
// CHECK: attn.attention %arg0, %arg1, %arg2 scale(1.250000e-01) : tensor
func.func @scale_after(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %two = arith.constant 2.0 : f32
  %quarter = arith.constant 0.25 : f32
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %a = attn.modify_score %s {
  ^bb0(%score: f32, %batch: index, %head: index, %i: index, %j: index):
    %x = arith.mulf %quarter, %score : f32
    %y = arith.divf %x, %two : f32
    attn.yield %y : f32
  } : tensor<?x8x?x?xf32>
  %p = attn.softmax %a : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// More steps than are common, one after the other.
// CHECK-LABEL: func @many_steps(
// CHECK-COUNT-5: math.tanh
// CHECK: return
func.func @many_steps(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %a = math.tanh %s : tensor<?x8x?x?xf32>
  %b = math.tanh %a : tensor<?x8x?x?xf32>
  %c = math.tanh %b : tensor<?x8x?x?xf32>
  %d = math.tanh %c : tensor<?x8x?x?xf32>
  %e = math.tanh %d : tensor<?x8x?x?xf32>
  %p = attn.softmax %e : tensor<?x8x?x?xf32>
  %x = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %x : tensor<?x8x?x64xf32>
}

// The scale on the key, of dynamic size.
// CHECK-LABEL: func @scale_key_dynamic(
// CHECK: attn.attention %arg0, %arg1, %arg2 scale(5.000000e-01) : tensor
func.func @scale_key_dynamic(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %half = arith.constant 0.5 : f32
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %k, %c0 : tensor<?x8x?x64xf32>
  %n = tensor.dim %k, %c2 : tensor<?x8x?x64xf32>
  %splat = tensor.splat %half[%b, %n] : tensor<?x8x?x64xf32>
  %ks = arith.mulf %k, %splat : tensor<?x8x?x64xf32>
  %s = attn.score %q, %ks : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %p = attn.softmax %s : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// A factor on a score that is no longer plain stays where it is.
// CHECK-LABEL: func @scale_after_softcap(
// CHECK: attn.attention %arg0, %arg1, %arg2 scale(5.000000e-01) score_mod {
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[B:.*]]: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[S]]
// CHECK-NEXT: %[[R:.*]] = arith.mulf %[[T]]
// CHECK-NEXT: attn.yield %[[R]]
// CHECK-NEXT: } : tensor
func.func @scale_after_softcap(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %half = arith.constant 0.5 : f32
  %thirty = arith.constant 30.0 : f32
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %a = attn.modify_score %s {
  ^bb0(%score: f32, %batch: index, %head: index, %i: index, %j: index):
    %x = arith.mulf %score, %half : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %b = attn.modify_score %a {
  ^bb0(%score: f32, %batch: index, %head: index, %i: index, %j: index):
    %x = math.tanh %score : f32
    %y = arith.mulf %x, %thirty : f32
    attn.yield %y : f32
  } : tensor<?x8x?x?xf32>
  %p = attn.softmax %b : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// CHECK-LABEL: func @scale_on_prob(
// CHECK: attn.attention %arg0, %arg1, %arg2 prob_mod {
// CHECK-NEXT: ^bb0(%[[P:.*]]: f32, %[[B:.*]]: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[R:.*]] = arith.mulf %[[P]]
// CHECK-NEXT: attn.yield %[[R]]
// CHECK-NEXT: } : tensor
func.func @scale_on_prob(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %half = arith.constant 0.5 : f32
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %p = attn.softmax %s : tensor<?x8x?x?xf32>
  %d = attn.modify_prob %p {
  ^bb0(%prob: f32, %batch: index, %head: index, %i: index, %j: index):
    %x = arith.mulf %prob, %half : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %c = attn.context %d, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// Masks are and-ed.
// CHECK-LABEL: func @masks(
// CHECK: attn.attention %arg0, %arg1, %arg2 mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[C0:.*]] = arith.cmpi
// CHECK: %[[C1:.*]] = arith.cmpi
// CHECK: %[[R:.*]] = arith.andi %[[C0]], %[[C1]]
// CHECK-NEXT: attn.yield %[[R]]
// CHECK-NEXT: } : tensor
func.func @masks(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>, %n: tensor<?xi32>) -> tensor<?x8x?x64xf32> {
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %a = attn.mask %s causal(top_left) : tensor<?x8x?x?xf32>
  %b = attn.mask %a kv_lengths(%n : tensor<?xi32>) : tensor<?x8x?x?xf32>
  %p = attn.softmax %b : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// Sizes of the score are sizes of query and key.
// CHECK-LABEL: func @sizes(
// CHECK-NOT: attn.score
// CHECK: attn.attention %arg0, %arg1, %arg2 mask {
// CHECK: %[[K:.*]] = tensor.dim %arg1, %c2{{.*}} :
// CHECK: %[[Q:.*]] = tensor.dim %arg0, %c2{{.*}} :
// CHECK: arith.subi %[[K]], %[[Q]]
// CHECK: arith.cmpi sle
// CHECK: %[[N:.*]] = tensor.dim %arg1
// CHECK: return %{{.*}}, %[[N]]
func.func @sizes(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> (tensor<?x8x?x64xf32>, index) {
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %a = attn.mask %s causal(bottom_right) : tensor<?x8x?x?xf32>
  %p = attn.softmax %a : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  %c3 = arith.constant 3 : index
  %n = tensor.dim %p, %c3 : tensor<?x8x?x?xf32>
  return %c, %n : tensor<?x8x?x64xf32>, index
}

// What no operand answers stays: which size is asked for is computed.
// CHECK-LABEL: func @computed_dim(
// CHECK: %[[S:.*]] = attn.score
// CHECK: attn.attention
// CHECK: tensor.dim %[[S]], %arg3
func.func @computed_dim(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>, %which: index) -> (tensor<?x8x?x64xf32>, index) {
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %p = attn.softmax %s : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  %n = tensor.dim %s, %which : tensor<?x8x?x?xf32>
  return %c, %n : tensor<?x8x?x64xf32>, index
}

// CHECK-LABEL: func @mask_as_select(
// CHECK: attn.attention %arg0, %arg1, %arg2 mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[C:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-NEXT: attn.yield %[[C]]
// CHECK-NEXT: } : tensor
func.func @mask_as_select(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %inf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %a = attn.modify_score %s {
  ^bb0(%score: f32, %batch: index, %head: index, %i: index, %j: index):
    %le = arith.cmpi sle, %j, %i : index
    %x = arith.select %le, %score, %inf : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %p = attn.softmax %a : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// Selected the other way round: the comparison turns.
// CHECK-LABEL: func @mask_as_select_inverted(
// CHECK: attn.attention %arg0, %arg1, %arg2 mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[C:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-NEXT: attn.yield %[[C]]
// CHECK-NEXT: } : tensor
func.func @mask_as_select_inverted(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %inf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %a = attn.modify_score %s {
  ^bb0(%score: f32, %batch: index, %head: index, %i: index, %j: index):
    %le = arith.cmpi sgt, %j, %i : index
    %x = arith.select %le, %inf, %score : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %p = attn.softmax %a : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// A bias of -inf is a mask.
// CHECK-LABEL: func @mask_as_bias(
// CHECK: attn.attention %arg0, %arg1, %arg2 mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[C:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-NEXT: attn.yield %[[C]]
// CHECK-NEXT: } : tensor
func.func @mask_as_bias(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %inf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %a = attn.modify_score %s {
  ^bb0(%score: f32, %batch: index, %head: index, %i: index, %j: index):
    %le = arith.cmpi sle, %j, %i : index
    %b = arith.select %le, %zero, %inf : f32
    %x = arith.addf %score, %b : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %p = attn.softmax %a : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// CHECK-LABEL: func @mask_as_bias_inverted(
// CHECK: attn.attention %arg0, %arg1, %arg2 mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[C:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-NEXT: attn.yield %[[C]]
// CHECK-NEXT: } : tensor
func.func @mask_as_bias_inverted(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %inf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %a = attn.modify_score %s {
  ^bb0(%score: f32, %batch: index, %head: index, %i: index, %j: index):
    %gt = arith.cmpi sgt, %j, %i : index
    %b = arith.select %gt, %inf, %zero : f32
    %x = arith.addf %b, %score : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %p = attn.softmax %a : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// A condition that is no comparison is negated.
// CHECK-LABEL: func @mask_inverted_flag(
// CHECK: attn.attention %arg0, %arg1, %arg2 mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[E:.*]] = tensor.extract %arg3[%{{.*}}, %[[J]]]
// CHECK: %[[T:.*]] = arith.constant true
// CHECK: %[[N:.*]] = arith.xori %[[E]], %[[T]]
// CHECK: attn.yield %[[N]]
// CHECK-NEXT: } : tensor
func.func @mask_inverted_flag(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>, %pad: tensor<?x?xi1>) -> tensor<?x8x?x64xf32> {
  %inf = arith.constant 0xFF800000 : f32
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %a = attn.modify_score %s {
  ^bb0(%score: f32, %batch: index, %head: index, %i: index, %j: index):
    %e = tensor.extract %pad[%batch, %j] : tensor<?x?xi1>
    %x = arith.select %e, %inf, %score : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %p = attn.softmax %a : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// Softcap, bias, then a mask.
// CHECK-LABEL: func @softcap_mask(
// CHECK: attn.attention %arg0, %arg1, %arg2 scale(2.000000e+00) score_mod {
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[B:.*]]: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[X:.*]] = math.tanh %[[S]]
// CHECK-NEXT: %[[E:.*]] = tensor.extract %arg3[%[[H]], %[[I]], %[[J]]]
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[X]], %[[E]]
// CHECK-NEXT: attn.yield %[[Y]]
// CHECK-NEXT: } mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: arith.cmpi sle
// CHECK-NEXT: attn.yield
// CHECK-NEXT: } : tensor
func.func @softcap_mask(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>, %bias: tensor<8x?x?xf32>) -> tensor<?x8x?x64xf32> {
  %s = attn.score %q, %k scale(2.0) : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %a = attn.modify_score %s {
  ^bb0(%score: f32, %batch: index, %head: index, %i: index, %j: index):
    %x = math.tanh %score : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %b = attn.modify_score %a {
  ^bb0(%score: f32, %batch: index, %head: index, %i: index, %j: index):
    %e = tensor.extract %bias[%head, %i, %j] : tensor<8x?x?xf32>
    %x = arith.addf %score, %e : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %m = attn.mask %b causal(top_left) : tensor<?x8x?x?xf32>
  %p = attn.softmax %m : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// tanh turns -inf into -1: such a mask hides nothing and stays in its place.
// CHECK-LABEL: func @mask_then_softcap(
// CHECK: attn.attention %arg0, %arg1, %arg2 score_mod {
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[B:.*]]: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[C:.*]] = arith.cmpi sle, %[[J]], %[[I]]
// CHECK: %[[INF:.*]] = arith.constant 0xFF800000
// CHECK: %[[X:.*]] = arith.select %[[C]], %[[S]], %[[INF]]
// CHECK: %[[Y:.*]] = math.tanh %[[X]]
// CHECK: attn.yield %[[Y]]
// CHECK-NEXT: } : tensor
func.func @mask_then_softcap(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %m = attn.mask %s causal(top_left) : tensor<?x8x?x?xf32>
  %a = attn.modify_score %m {
  ^bb0(%score: f32, %batch: index, %head: index, %i: index, %j: index):
    %x = math.tanh %score : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %p = attn.softmax %a : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// A positive factor and a bias leave -inf what it is.
// CHECK-LABEL: func @mask_then_scale(
// CHECK: attn.attention %arg0, %arg1, %arg2 scale(5.000000e-01) score_mod {
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[B:.*]]: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[E:.*]] = tensor.extract
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[S]], %[[E]]
// CHECK-NEXT: attn.yield %[[Y]]
// CHECK-NEXT: } mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: arith.cmpi sle, %[[J]], %[[I]]
// CHECK-NEXT: attn.yield
// CHECK-NEXT: } : tensor
func.func @mask_then_scale(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>, %bias: tensor<8x?x?xf32>) -> tensor<?x8x?x64xf32> {
  %half = arith.constant 0.5 : f32
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %m = attn.mask %s causal(top_left) : tensor<?x8x?x?xf32>
  %a = attn.modify_score %m {
  ^bb0(%score: f32, %batch: index, %head: index, %i: index, %j: index):
    %x = arith.mulf %score, %half : f32
    %e = tensor.extract %bias[%head, %i, %j] : tensor<8x?x?xf32>
    %y = arith.addf %x, %e : f32
    attn.yield %y : f32
  } : tensor<?x8x?x?xf32>
  %p = attn.softmax %a : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// A negative factor turns -inf into inf.
// CHECK-LABEL: func @mask_then_negate(
// CHECK: attn.attention %arg0, %arg1, %arg2 score_mod {
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[B:.*]]: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: arith.select
// CHECK: arith.mulf
// CHECK: } : tensor
func.func @mask_then_negate(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %minus = arith.constant -1.0 : f32
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %m = attn.mask %s causal(top_left) : tensor<?x8x?x?xf32>
  %a = attn.modify_score %m {
  ^bb0(%score: f32, %batch: index, %head: index, %i: index, %j: index):
    %x = arith.mulf %score, %minus : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %p = attn.softmax %a : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// A condition on the score itself is no mask; nor is a large finite bias.
// CHECK-LABEL: func @score_dependent(
// CHECK: attn.attention %arg0, %arg1, %arg2 score_mod {
// CHECK: arith.cmpf ogt
// CHECK: arith.select
// CHECK-NOT: mask
func.func @score_dependent(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %inf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -1.0e9 : f32
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %a = attn.modify_score %s {
  ^bb0(%score: f32, %batch: index, %head: index, %i: index, %j: index):
    %le = arith.cmpi sle, %j, %i : index
    %b = arith.select %le, %zero, %low : f32
    %y = arith.addf %score, %b : f32
    %c = arith.cmpf ogt, %y, %low : f32
    %x = arith.select %c, %y, %inf : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %p = attn.softmax %a : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// Regions that are linear in the prob compose.
// CHECK-LABEL: func @prob_chain(
// CHECK: attn.attention %arg0, %arg1, %arg2 prob_mod {
// CHECK-NEXT: ^bb0(%[[P:.*]]: f32, %[[B:.*]]: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[E:.*]] = tensor.extract
// CHECK: %[[C:.*]] = arith.cmpi
// CHECK: %[[X:.*]] = arith.divf %[[P]], %[[E]]
// CHECK: %[[Y:.*]] = arith.select %[[C]], %[[X]], %{{.*}} : f32
// CHECK: %[[Z:.*]] = arith.addf %[[Y]], %[[Y]]
// CHECK: attn.yield %[[Z]]
// CHECK-NEXT: } : tensor
func.func @prob_chain(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>, %keep: tensor<8xf32>) -> tensor<?x8x?x64xf32> {
  %zero = arith.constant 0.0 : f32
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %p = attn.softmax %s : tensor<?x8x?x?xf32>
  %d0 = attn.modify_prob %p {
  ^bb0(%prob: f32, %batch: index, %head: index, %i: index, %j: index):
    %e = tensor.extract %keep[%head] : tensor<8xf32>
    %le = arith.cmpi sle, %j, %i : index
    %x = arith.divf %prob, %e : f32
    %y = arith.select %le, %x, %zero : f32
    attn.yield %y : f32
  } : tensor<?x8x?x?xf32>
  %d = attn.modify_prob %d0 {
  ^bb0(%prob: f32, %batch: index, %head: index, %i: index, %j: index):
    %x = arith.addf %prob, %prob : f32
    attn.yield %x : f32
  } : tensor<?x8x?x?xf32>
  %c = attn.context %d, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// Static sizes: factors on query, key and score are splat constants, mask and
// bias are arithmetic on whole tensors.
// CHECK-LABEL: func @tensors(
// CHECK: attn.attention %arg0, %arg1, %arg2 scale(7.500000e-01) score_mod {
// CHECK-NEXT: ^bb0(%[[S:.*]]: f16, %[[B:.*]]: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[E:.*]] = tensor.extract %arg4[%[[B]], %[[H]], %[[I]], %[[J]]]
// CHECK-NEXT: %[[X:.*]] = arith.addf %[[S]], %[[E]] : f16
// CHECK-NEXT: attn.yield %[[X]]
// CHECK-NEXT: } mask {
// CHECK: %[[M:.*]] = tensor.extract %arg3
// CHECK-NEXT: attn.yield %[[M]]
// CHECK-NEXT: } prob_mod {
// CHECK: arith.mulf
// CHECK: } : tensor<1x4x5x8xf16>
func.func @tensors(%q: tensor<1x4x5x8xf16>, %k: tensor<1x2x7x8xf16>, %v: tensor<1x2x7x3xf16>,
                   %m: tensor<1x4x5x7xi1>, %bias: tensor<1x4x5x7xf16>) -> tensor<1x4x5x3xf16> {
  %half = arith.constant dense<0.5> : tensor<1x4x5x8xf16>
  %two = arith.constant dense<2.0> : tensor<1x2x7x8xf16>
  %three = arith.constant dense<3.0> : tensor<1x4x5x7xf16>
  %inf = arith.constant dense<0xFC00> : tensor<1x4x5x7xf16>
  %qs = arith.mulf %half, %q : tensor<1x4x5x8xf16>
  %ks = arith.divf %k, %two : tensor<1x2x7x8xf16>
  %s = attn.score %qs, %ks : tensor<1x4x5x8xf16>, tensor<1x2x7x8xf16> -> tensor<1x4x5x7xf16>
  %a = arith.mulf %s, %three : tensor<1x4x5x7xf16>
  %b = arith.addf %a, %bias : tensor<1x4x5x7xf16>
  %c = arith.select %m, %b, %inf : tensor<1x4x5x7xi1>, tensor<1x4x5x7xf16>
  %p = attn.softmax %c axis(3) : tensor<1x4x5x7xf16>
  %d = arith.mulf %p, %three : tensor<1x4x5x7xf16>
  %r = attn.context %d, %v : tensor<1x4x5x7xf16>, tensor<1x2x7x3xf16> -> tensor<1x4x5x3xf16>
  return %r : tensor<1x4x5x3xf16>
}

// The scale before the heads are split, in f64.
// CHECK-LABEL: func @scale_before_split(
// CHECK: %[[Q:.*]] = attn.split_heads %arg0
// CHECK: attn.attention %[[Q]], %{{.*}}, %{{.*}} scale(2.500000e-01) : tensor
func.func @scale_before_split(%x: tensor<2x5x12xf64>) -> tensor<2x3x5x4xf64> {
  %quarter = arith.constant dense<0.25> : tensor<2x5x12xf64>
  %xs = arith.mulf %x, %quarter : tensor<2x5x12xf64>
  %q = attn.split_heads %xs num_heads(3) : tensor<2x5x12xf64> -> tensor<2x3x5x4xf64>
  %k = attn.split_heads %x num_heads(3) : tensor<2x5x12xf64> -> tensor<2x3x5x4xf64>
  %s = attn.score %q, %k : tensor<2x3x5x4xf64>, tensor<2x3x5x4xf64> -> tensor<2x3x5x5xf64>
  %p = attn.softmax %s : tensor<2x3x5x5xf64>
  %c = attn.context %p, %k : tensor<2x3x5x5xf64>, tensor<2x3x5x4xf64> -> tensor<2x3x5x4xf64>
  return %c : tensor<2x3x5x4xf64>
}

// A factor on a key that is also the value leaves the value alone.
// CHECK-LABEL: func @shared_factor(
// CHECK: %[[X:.*]] = arith.mulf
// CHECK: attn.attention %arg0, %arg0, %[[X]] scale(4.000000e+00) : tensor
func.func @shared_factor(%q: tensor<1x1x5x4xbf16>) -> tensor<1x1x5x4xbf16> {
  %two = arith.constant dense<2.0> : tensor<1x1x5x4xbf16>
  %x = arith.mulf %q, %two : tensor<1x1x5x4xbf16>
  %s = attn.score %x, %x : tensor<1x1x5x4xbf16>, tensor<1x1x5x4xbf16> -> tensor<1x1x5x5xbf16>
  %p = attn.softmax %s : tensor<1x1x5x5xbf16>
  %c = attn.context %p, %x : tensor<1x1x5x5xbf16>, tensor<1x1x5x4xbf16> -> tensor<1x1x5x4xbf16>
  return %c : tensor<1x1x5x4xbf16>
}

// -----

// Zero for NaN, as exported graphs have it behind a softmax that knows no masks.
// CHECK-LABEL: func.func @zero_for_nan(
// CHECK: attn.attention %arg0, %arg1, %arg2 prob_mod {
// CHECK: arith.cmpf uno
func.func @zero_for_nan(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x7x8xf32>, %v: tensor<1x2x7x8xf32>)
    -> tensor<1x2x5x8xf32> {
  %s = attn.score %q, %k : tensor<1x2x5x8xf32>, tensor<1x2x7x8xf32> -> tensor<1x2x5x7xf32>
  %p = attn.softmax %s : tensor<1x2x5x7xf32>
  %g = attn.modify_prob %p {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %nan = arith.cmpf uno, %x, %x : f32
    %zero = arith.constant 0.0 : f32
    %r = arith.select %nan, %zero, %x : f32
    attn.yield %r : f32
  } : tensor<1x2x5x7xf32>
  %c = attn.context %g, %v : tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32> -> tensor<1x2x5x8xf32>
  return %c : tensor<1x2x5x8xf32>
}

// Maps between score and context: a bias that broadcasts, a mask, a scale of the prob.
// CHECK-LABEL: func @maps(
// CHECK: attn.attention %arg0, %arg1, %arg2 scale(1.250000e-01) score_mod {
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[B:.*]]: index, %[[H:.*]]: index, %{{.*}}: index, %[[K:.*]]: index):
// CHECK: %[[EXTRACTED:.*]] = tensor.extract %arg3[%[[H]], %c0{{.*}}, %[[K]]]
// CHECK: arith.addf %[[S]], %[[EXTRACTED]]
// CHECK: } mask {
// CHECK-NEXT: ^bb0(%[[B:.*]]: index, %{{.*}}: index, %{{.*}}: index, %[[K:.*]]: index):
// CHECK: tensor.extract %arg4[%[[B]], %c0{{.*}}, %c0{{.*}}, %[[K]]]
// CHECK: } prob_mod {
// CHECK: arith.mulf
func.func @maps(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>,
                %bias: tensor<8x1x?xf32>, %visible: tensor<?x1x1x?xi1>) -> tensor<?x8x?x64xf32> {
  %s = attn.score %q, %k scale(0.125) : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %a = attn.map %s, %bias {
  ^bb0(%x: f32, %y: f32):
    %sum = arith.addf %x, %y : f32
    attn.yield %sum : f32
  } : tensor<?x8x?x?xf32>, tensor<8x1x?xf32> -> tensor<?x8x?x?xf32>
  %b = attn.map %visible, %a {
  ^bb0(%m: i1, %x: f32):
    %inf = arith.constant 0xFF800000 : f32
    %r = arith.select %m, %x, %inf : f32
    attn.yield %r : f32
  } : tensor<?x1x1x?xi1>, tensor<?x8x?x?xf32> -> tensor<?x8x?x?xf32>
  %p = attn.softmax %b : tensor<?x8x?x?xf32>
  %d = attn.map %p {
  ^bb0(%x: f32):
    %half = arith.constant 0.5 : f32
    %r = arith.mulf %x, %half : f32
    attn.yield %r : f32
  } : tensor<?x8x?x?xf32> -> tensor<?x8x?x?xf32>
  %c = attn.context %d, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// The scale on query and key as maps, before and after the split of heads.
// CHECK-LABEL: func @scale_as_map(
// CHECK: %[[Q:.*]] = attn.split_heads %arg0
// CHECK: attn.attention %[[Q]], %arg1, %arg2 scale(1.250000e-01) : tensor
func.func @scale_as_map(%x: tensor<?x?x512xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %a = attn.map %x {
  ^bb0(%e: f32):
    %half = arith.constant 0.5 : f32
    %r = arith.mulf %half, %e : f32
    attn.yield %r : f32
  } : tensor<?x?x512xf32> -> tensor<?x?x512xf32>
  %q = attn.split_heads %a num_heads(8) : tensor<?x?x512xf32> -> tensor<?x8x?x64xf32>
  %b = attn.map %k {
  ^bb0(%e: f32):
    %four = arith.constant 4.0 : f32
    %r = arith.divf %e, %four : f32
    attn.yield %r : f32
  } : tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  %s = attn.score %q, %b : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %p = attn.softmax %s : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// A prob of many rows that is a result is computed apart.
// CHECK-LABEL: func @prob_is_result
func.func @prob_is_result(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x7x8xf32>, %v: tensor<1x2x7x8xf32>)
    -> (tensor<1x2x5x8xf32>, tensor<1x2x5x7xf32>) {
  // CHECK: %[[SCORE:.*]] = attn.score
  %s = attn.score %q, %k : tensor<1x2x5x8xf32>, tensor<1x2x7x8xf32> -> tensor<1x2x5x7xf32>
  // CHECK: %[[PROB:.*]] = attn.softmax %[[SCORE]]
  %p = attn.softmax %s : tensor<1x2x5x7xf32>
  // CHECK: %[[CONTEXT:.*]] = attn.attention
  %c = attn.context %p, %v : tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32> -> tensor<1x2x5x8xf32>
  // CHECK: return %[[CONTEXT]], %[[PROB]]
  return %c, %p : tensor<1x2x5x8xf32>, tensor<1x2x5x7xf32>
}

// Two values for one prob are one value with the dimensions of both.
// CHECK-LABEL: func @two_values
func.func @two_values(%q: tensor<?x4x?x16xf32>, %k: tensor<?x2x?x16xf32>, %v: tensor<?x2x?x16xf32>,
                      %w: tensor<?x2x?x24xf32>) -> (tensor<?x4x?x24xf32>, tensor<?x4x?x16xf32>) {
  %s = attn.score %q, %k : tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32> -> tensor<?x4x?x?xf32>
  %p = attn.softmax %s : tensor<?x4x?x?xf32>
  // CHECK: %[[BOTH:.*]] = tensor.concat dim(3) %arg2, %arg3 {{.*}} -> tensor<?x2x?x40xf32>
  // CHECK: %[[CONTEXT:.*]] = attn.attention %arg0, %arg1, %[[BOTH]] {{.*}} -> tensor<?x4x?x40xf32>
  // CHECK-DAG: %[[FIRST:.*]] = tensor.extract_slice %[[CONTEXT]][0, 0, 0, 0] [%{{.*}}, 4, %{{.*}}, 16]
  // CHECK-DAG: %[[SECOND:.*]] = tensor.extract_slice %[[CONTEXT]][0, 0, 0, 16] [%{{.*}}, 4, %{{.*}}, 24]
  %c = attn.context %p, %v : tensor<?x4x?x?xf32>, tensor<?x2x?x16xf32> -> tensor<?x4x?x16xf32>
  %d = attn.context %p, %w : tensor<?x4x?x?xf32>, tensor<?x2x?x24xf32> -> tensor<?x4x?x24xf32>
  // CHECK: return %[[SECOND]], %[[FIRST]]
  return %d, %c : tensor<?x4x?x24xf32>, tensor<?x4x?x16xf32>
}

// The lse of the masked score is the second result.
// CHECK-LABEL: func @lse_beside
func.func @lse_beside(%q: tensor<?x8x1x64xf32>, %k: tensor<?x8x?x64xf32>, %lengths: tensor<?xi32>)
    -> (tensor<?x8x1x64xf32>, tensor<?x8x1xf32>) {
  %s = attn.score %q, %k : tensor<?x8x1x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x1x?xf32>
  %m = attn.mask %s kv_lengths(%lengths : tensor<?xi32>) : tensor<?x8x1x?xf32>
  // CHECK-NOT: attn.lse
  %l = attn.lse %m : tensor<?x8x1x?xf32> -> tensor<?x8x1xf32>
  %p = attn.softmax %m : tensor<?x8x1x?xf32>
  // CHECK: %[[BOTH:.*]]:2 = attn.attention %arg0, %arg1, %arg1
  // CHECK: -> tensor<?x8x1x64xf32>, tensor<?x8x1xf32>
  %c = attn.context %p, %k : tensor<?x8x1x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x1x64xf32>
  // CHECK: return %[[BOTH]]#0, %[[BOTH]]#1
  return %c, %l : tensor<?x8x1x64xf32>, tensor<?x8x1xf32>
}

// Ops that read the lse move behind the context. The lse of another score is computed apart.
// CHECK-LABEL: func @lse_apart
func.func @lse_apart(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x7x8xf32>)
    -> (tensor<1x2x5x8xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>) {
  %s = attn.score %q, %k : tensor<1x2x5x8xf32>, tensor<1x2x7x8xf32> -> tensor<1x2x5x7xf32>
  %m = attn.mask %s causal(top_left) : tensor<1x2x5x7xf32>
  // CHECK: %[[UNMASKED:.*]] = attn.lse
  %u = attn.lse %s : tensor<1x2x5x7xf32> -> tensor<1x2x5xf32>
  // CHECK-NOT: attn.lse
  %l = attn.lse %m : tensor<1x2x5x7xf32> -> tensor<1x2x5xf32>
  %n = arith.negf %l : tensor<1x2x5xf32>
  %s2 = arith.addf %n, %l : tensor<1x2x5xf32>
  %p = attn.softmax %m : tensor<1x2x5x7xf32>
  // CHECK: %[[BOTH:.*]]:2 = attn.attention
  %c = attn.context %p, %k : tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32> -> tensor<1x2x5x8xf32>
  // CHECK: %[[NEGATED:.*]] = arith.negf %[[BOTH]]#1
  // CHECK: %[[SUM:.*]] = arith.addf %[[NEGATED]], %[[BOTH]]#1
  // CHECK: return %[[BOTH]]#0, %[[UNMASKED]], %[[SUM]]
  return %c, %u, %s2 : tensor<1x2x5x8xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>
}

// An lse on which the values depend is computed apart.
// CHECK-LABEL: func @lse_before
func.func @lse_before(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x5x8xf32>) -> (tensor<1x2x5x5xf32>, tensor<1x2x5xf32>) {
  %s = attn.score %q, %k : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32> -> tensor<1x2x5x5xf32>
  // CHECK: %[[LSE:.*]] = attn.lse
  %l = attn.lse %s : tensor<1x2x5x5xf32> -> tensor<1x2x5xf32>
  %v = tensor.generate {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %e = tensor.extract %l[%b, %h, %j] : tensor<1x2x5xf32>
    tensor.yield %e : f32
  } : tensor<1x2x5x5xf32>
  %p = attn.softmax %s : tensor<1x2x5x5xf32>
  // CHECK: %[[CONTEXT:.*]] = attn.attention
  %c = attn.context %p, %v : tensor<1x2x5x5xf32>, tensor<1x2x5x5xf32> -> tensor<1x2x5x5xf32>
  // CHECK: return %[[CONTEXT]], %[[LSE]]
  return %c, %l : tensor<1x2x5x5xf32>, tensor<1x2x5xf32>
}

// Ranks execute collective ops in one order: they stay before the context.
// CHECK-LABEL: func @lse_gathered
func.func @lse_gathered(%q: tensor<1x2x?x8xf32>, %k: tensor<1x2x?x8xf32>, %places: tensor<?xi32>, %n: index)
    -> (tensor<1x2x?x8xf32>, tensor<1x2x?xf32>) {
  %s = attn.score %q, %k : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32> -> tensor<1x2x?x?xf32>
  // CHECK: %[[LSE:.*]] = attn.lse
  %l = attn.lse %s : tensor<1x2x?x?xf32> -> tensor<1x2x?xf32>
  // CHECK: attn.all_gather %[[LSE]]
  %all = attn.all_gather %l of %places layout(blocks) along 2 to %n : tensor<1x2x?xf32>, tensor<?xi32>
  %p = attn.softmax %s : tensor<1x2x?x?xf32>
  // CHECK: attn.attention
  %c = attn.context %p, %k : tensor<1x2x?x?xf32>, tensor<1x2x?x8xf32> -> tensor<1x2x?x8xf32>
  return %c, %all : tensor<1x2x?x8xf32>, tensor<1x2x?xf32>
}

// Keys and values that one table gathers are read in their pages, heads before keys.
// CHECK-LABEL: func @pages
func.func @pages(%q: tensor<?x8x?x64xf32>, %keys: tensor<?x16x2x64xf32>, %values: tensor<?x2x16x64xf32>,
                 %table: tensor<?x?xi32>, %n: tensor<?xi32>) -> tensor<?x8x?x64xf32> {
  // CHECK-NOT: attn.gather_pages
  // CHECK: %[[KEYS:.*]] = attn.transpose %arg1 [0, 2, 1, 3]
  // CHECK: attn.attention %arg0, %[[KEYS]], %arg2 pages(%arg3 : tensor<?x?xi32>) lengths(%arg4 : tensor<?xi32>) mask
  %k = attn.gather_pages %keys[%table] lengths(%n : tensor<?xi32>) : tensor<?x16x2x64xf32>, tensor<?x?xi32>
  %v = attn.gather_pages %values[%table] lengths(%n : tensor<?xi32>) layout(heads_first) : tensor<?x2x16x64xf32>, tensor<?x?xi32>
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>
  %m = attn.mask %s kv_lengths(%n : tensor<?xi32>) : tensor<?x8x?x?xf32>
  %p = attn.softmax %m : tensor<?x8x?x?xf32>
  %c = attn.context %p, %v : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// Lists of head groups, and pages in CSR.
// CHECK-LABEL: func @lists
// CHECK: attn.attention %arg0, %{{.*}}, %{{.*}} pages(%arg2 : tensor<?x2x?xi32>) :
func.func @lists(%q: tensor<?x8x1x64xf32>, %slots: tensor<?x1x2x64xf32>, %lists: tensor<?x2x?xi32>) -> tensor<?x8x1x64xf32> {
  %k = attn.gather_pages %slots[%lists] : tensor<?x1x2x64xf32>, tensor<?x2x?xi32>
  %s = attn.score %q, %k : tensor<?x8x1x64xf32>, tensor<?x2x?x64xf32>
  %p = attn.softmax %s : tensor<?x8x1x?xf32>
  %c = attn.context %p, %k : tensor<?x8x1x?xf32>, tensor<?x2x?x64xf32>
  return %c : tensor<?x8x1x64xf32>
}
// CHECK-LABEL: func @csr
// CHECK: attn.attention %arg0, %arg1, %arg1 pages(%arg2 : tensor<?xi32>) page_offsets(%arg3 : tensor<?xi32>) mask
func.func @csr(%q: tensor<?x8x?x64xf32>, %pool: tensor<?x2x16x64xf32>, %indices: tensor<?xi32>, %indptr: tensor<?xi32>,
               %last: tensor<?xi32>) -> tensor<?x8x?x64xf32> {
  %n = attn.page_lengths %pool[%indices] offsets(%indptr : tensor<?xi32>) last(%last : tensor<?xi32>) layout(heads_first)
      : tensor<?x2x16x64xf32>, tensor<?xi32>
  %k = attn.gather_pages %pool[%indices] offsets(%indptr : tensor<?xi32>) layout(heads_first) : tensor<?x2x16x64xf32>, tensor<?xi32>
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>
  %m = attn.mask %s kv_lengths(%n : tensor<?xi32>) : tensor<?x8x?x?xf32>
  %p = attn.softmax %m : tensor<?x8x?x?xf32>
  %c = attn.context %p, %k : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// One pool of keys and values; other readers get them gathered.
// CHECK-LABEL: func @pages_read_twice
func.func @pages_read_twice(%q: tensor<3x8x5x64xf32>, %pool: tensor<?x2x16x64xf32>, %table: tensor<3x4xi64>)
    -> (tensor<3x8x5x64xf32>, tensor<3x2x64x64xf32>) {
  // CHECK: %[[ROWS:.*]] = attn.gather_pages %arg1[%arg2]
  // CHECK: %[[CONTEXT:.*]] = attn.attention %arg0, %arg1, %arg1 pages(%arg2 : tensor<3x4xi64>) :
  // CHECK: return %[[CONTEXT]], %[[ROWS]]
  %k = attn.gather_pages %pool[%table] layout(heads_first) : tensor<?x2x16x64xf32>, tensor<3x4xi64>
  %s = attn.score %q, %k : tensor<3x8x5x64xf32>, tensor<3x2x64x64xf32>
  %p = attn.softmax %s : tensor<3x8x5x64xf32>
  %c = attn.context %p, %k : tensor<3x8x5x64xf32>, tensor<3x2x64x64xf32>
  return %c, %k : tensor<3x8x5x64xf32>, tensor<3x2x64x64xf32>
}

// Two tables, or two lengths, stay apart.
// CHECK-LABEL: func @pages_of_two_tables
func.func @pages_of_two_tables(%q: tensor<3x8x5x64xf32>, %pool: tensor<?x2x16x64xf32>, %a: tensor<3x4xi64>,
                               %b: tensor<3x4xi64>) -> tensor<3x8x5x64xf32> {
  // CHECK: %[[KEY:.*]] = attn.gather_pages
  // CHECK: %[[VALUE:.*]] = attn.gather_pages
  // CHECK: attn.attention %arg0, %[[KEY]], %[[VALUE]] :
  %k = attn.gather_pages %pool[%a] layout(heads_first) : tensor<?x2x16x64xf32>, tensor<3x4xi64>
  %v = attn.gather_pages %pool[%b] layout(heads_first) : tensor<?x2x16x64xf32>, tensor<3x4xi64>
  %s = attn.score %q, %k : tensor<3x8x5x64xf32>, tensor<3x2x64x64xf32>
  %p = attn.softmax %s : tensor<3x8x5x64xf32>
  %c = attn.context %p, %v : tensor<3x8x5x64xf32>, tensor<3x2x64x64xf32>
  return %c : tensor<3x8x5x64xf32>
}

// So do pages of different sizes.
// CHECK-LABEL: func @pages_of_two_sizes
func.func @pages_of_two_sizes(%q: tensor<3x8x5x64xf32>, %keys: tensor<?x2x16x64xf32>, %values: tensor<?x2x32x64xf32>,
                              %table: tensor<3x?xi64>) -> tensor<3x8x5x64xf32> {
  // CHECK: %[[KEY:.*]] = attn.gather_pages
  // CHECK: %[[VALUE:.*]] = attn.gather_pages
  // CHECK: attn.attention %arg0, %[[KEY]], %[[VALUE]] :
  %k = attn.gather_pages %keys[%table] layout(heads_first) : tensor<?x2x16x64xf32>, tensor<3x?xi64>
  %v = attn.gather_pages %values[%table] layout(heads_first) : tensor<?x2x32x64xf32>, tensor<3x?xi64>
  %s = attn.score %q, %k : tensor<3x8x5x64xf32>, tensor<3x2x?x64xf32>
  %p = attn.softmax %s : tensor<3x8x5x?xf32>
  %c = attn.context %p, %v : tensor<3x8x5x?xf32>, tensor<3x2x?x64xf32>
  return %c : tensor<3x8x5x64xf32>
}

// Keys and values are read as they are stored, however their widening is written.
// CHECK-LABEL: func @dequantized
func.func @dequantized(%q: tensor<3x8x5x64xf32>, %keys: tensor<3x2x9x64xi8>, %scales: tensor<3x2x9x2xf16>,
                       %values: tensor<3x9x2x64xbf16>) -> tensor<3x8x5x64xf32> {
  // CHECK-NEXT: %[[VALUES:.*]] = attn.transpose %arg3 [0, 2, 1, 3] : tensor<3x9x2x64xbf16> -> tensor<3x2x9x64xbf16>
  // CHECK-NEXT: %[[CONTEXT:.*]] = attn.attention %arg0, %arg1, %[[VALUES]] key_scales(%arg2 : tensor<3x2x9x2xf16>) :
  // CHECK-NEXT: return %[[CONTEXT]]
  %k = attn.dequantize %keys scales(%scales : tensor<3x2x9x2xf16>) : tensor<3x2x9x64xi8> -> tensor<3x2x9x64xf32>
  %wide = arith.extf %values : tensor<3x9x2x64xbf16> to tensor<3x9x2x64xf32>
  %v = attn.transpose %wide [0, 2, 1, 3] : tensor<3x9x2x64xf32> -> tensor<3x2x9x64xf32>
  %s = attn.score %q, %k : tensor<3x8x5x64xf32>, tensor<3x2x9x64xf32>
  %p = attn.softmax %s : tensor<3x8x5x9xf32>
  %c = attn.context %p, %v : tensor<3x8x5x9xf32>, tensor<3x2x9x64xf32>
  return %c : tensor<3x8x5x64xf32>
}

// CHECK-LABEL: func @dequantized_by_maps
func.func @dequantized_by_maps(%q: tensor<3x8x5x64xf32>, %keys: tensor<3x2x9x64xi8>, %scales: tensor<3x2x9x1xf16>,
                               %values: tensor<3x2x9x64xf16>) -> tensor<3x8x5x64xf32> {
  // CHECK-NEXT: %[[CONTEXT:.*]] = attn.attention %arg0, %arg1, %arg3 key_scales(%arg2 : tensor<3x2x9x1xf16>) :
  // CHECK-NEXT: return %[[CONTEXT]]
  %k = attn.map %scales, %keys {
  ^bb0(%scale: f16, %x: i8):
    %wide = arith.extf %scale : f16 to f32
    %y = arith.sitofp %x : i8 to f32
    %r = arith.mulf %wide, %y : f32
    attn.yield %r : f32
  } : tensor<3x2x9x1xf16>, tensor<3x2x9x64xi8> -> tensor<3x2x9x64xf32>
  %v = attn.map %values {
  ^bb0(%x: f16):
    %y = arith.extf %x : f16 to f32
    attn.yield %y : f32
  } : tensor<3x2x9x64xf16> -> tensor<3x2x9x64xf32>
  %s = attn.score %q, %k : tensor<3x8x5x64xf32>, tensor<3x2x9x64xf32>
  %p = attn.softmax %s : tensor<3x8x5x9xf32>
  %c = attn.context %p, %v : tensor<3x8x5x9xf32>, tensor<3x2x9x64xf32>
  return %c : tensor<3x8x5x64xf32>
}

// Maps that compute anything else stay.
// CHECK-LABEL: func @shifted
func.func @shifted(%q: tensor<3x8x5x64xf32>, %keys: tensor<3x2x9x64xi8>, %zero: tensor<3x2x9x1xf32>) -> tensor<3x8x5x64xf32> {
  // CHECK: %[[KEY:.*]] = attn.map
  // CHECK: attn.attention %arg0, %[[KEY]], %[[KEY]] :
  %k = attn.map %keys, %zero {
  ^bb0(%x: i8, %z: f32):
    %y = arith.sitofp %x : i8 to f32
    %r = arith.subf %y, %z : f32
    attn.yield %r : f32
  } : tensor<3x2x9x64xi8>, tensor<3x2x9x1xf32> -> tensor<3x2x9x64xf32>
  %s = attn.score %q, %k : tensor<3x8x5x64xf32>, tensor<3x2x9x64xf32>
  %p = attn.softmax %s : tensor<3x8x5x9xf32>
  %c = attn.context %p, %k : tensor<3x8x5x9xf32>, tensor<3x2x9x64xf32>
  return %c : tensor<3x8x5x64xf32>
}

// Quantized pages, gathered before they are widened or afterwards.
// CHECK-LABEL: func @quantized_pages
func.func @quantized_pages(%q: tensor<3x8x1x64xf32>, %keys: tensor<?x2x16x64xi8>, %ks: tensor<?x2x16x1xf32>,
                           %values: tensor<?x16x2x64xi8>, %vs: tensor<?x16x2x1xf32>, %table: tensor<3x4xi32>)
    -> tensor<3x8x1x64xf32> {
  // CHECK-NOT: attn.gather_pages
  // CHECK-NOT: attn.dequantize
  // CHECK: attn.attention %arg0, %arg1, %{{.*}} key_scales(%arg2 : tensor<?x2x16x1xf32>) value_scales(%{{.*}} : tensor<?x2x16x1xf32>) pages(%arg5 :
  %i8 = attn.gather_pages %keys[%table] layout(heads_first) : tensor<?x2x16x64xi8>, tensor<3x4xi32>
  %s8 = attn.gather_pages %ks[%table] layout(heads_first) : tensor<?x2x16x1xf32>, tensor<3x4xi32>
  %k = attn.dequantize %i8 scales(%s8 : tensor<3x2x64x1xf32>) : tensor<3x2x64x64xi8> -> tensor<3x2x64x64xf32>
  %pool = attn.dequantize %values scales(%vs : tensor<?x16x2x1xf32>) : tensor<?x16x2x64xi8> -> tensor<?x16x2x64xf32>
  %v = attn.gather_pages %pool[%table] : tensor<?x16x2x64xf32>, tensor<3x4xi32>
  %s = attn.score %q, %k : tensor<3x8x1x64xf32>, tensor<3x2x64x64xf32>
  %p = attn.softmax %s : tensor<3x8x1x64xf32>
  %c = attn.context %p, %v : tensor<3x8x1x64xf32>, tensor<3x2x64x64xf32>
  return %c : tensor<3x8x1x64xf32>
}

// Packed queries, keys and contexts; the lse is packed, too.
// CHECK-LABEL: func @packed_rows
func.func @packed_rows(%rows: tensor<?x8x64xf32>, %keys: tensor<?x2x64xf32>, %o: tensor<?xi32>, %p: tensor<?xi32>)
    -> (tensor<?x8x64xf32>, tensor<?x8xf32>) {
  // CHECK-NOT: pack_rows
  // CHECK: %[[KEYS:.*]] = attn.transpose %{{.*}} [0, 2, 1, 3] : tensor<1x?x2x64xf32> -> tensor<1x2x?x64xf32>
  // CHECK: %[[QUERY:.*]] = attn.transpose %{{.*}} [0, 2, 1, 3] : tensor<1x?x8x64xf32> -> tensor<1x8x?x64xf32>
  // CHECK: %[[C:.*]]:2 = attn.attention %[[QUERY]], %[[KEYS]], %[[KEYS]] offsets(%arg2 : tensor<?xi32>) kv_offsets(%arg3 : tensor<?xi32>) mask
  // CHECK-DAG: attn.transpose %[[C]]#0 [0, 2, 1, 3]
  // CHECK-DAG: attn.transpose %[[C]]#1 [0, 2, 1]
  // CHECK-NOT: pack_rows
  // CHECK: return
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x8x64xf32>, tensor<?xi32>
  %k = attn.unpack_rows %keys offsets(%p) : tensor<?x2x64xf32>, tensor<?xi32>
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>
  %m = attn.mask %s causal(bottom_right) q_offsets(%o : tensor<?xi32>) kv_offsets(%p : tensor<?xi32>) : tensor<?x8x?x?xf32>
  %l = attn.lse %m : tensor<?x8x?x?xf32> -> tensor<?x8x?xf32>
  %pr = attn.softmax %m : tensor<?x8x?x?xf32>
  %c = attn.context %pr, %k : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32>
  %rc = attn.pack_rows %c offsets(%o) : tensor<?x8x?x64xf32>, tensor<?xi32>
  %rl = attn.pack_rows %l offsets(%o) : tensor<?x8x?xf32>, tensor<?xi32>
  return %rc, %rl : tensor<?x8x64xf32>, tensor<?x8xf32>
}

// Sizes of what is unpacked are those of the packed rows.
// CHECK-LABEL: func @packed_rows_of_sizes
func.func @packed_rows_of_sizes(%rows: tensor<?x8x64xf32>, %k: tensor<?x2x?x64xf32>, %o: tensor<?xi32>) -> tensor<?x8x64xf32> {
  // CHECK-NOT: unpack_rows
  // CHECK: attn.attention
  // CHECK-NOT: pack_rows
  // CHECK: return
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x8x64xf32>, tensor<?xi32>
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>
  %m = attn.mask %s causal(bottom_right) : tensor<?x8x?x?xf32>
  %pr = attn.softmax %m : tensor<?x8x?x?xf32>
  %c = attn.context %pr, %k : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32>
  %rc = attn.pack_rows %c offsets(%o) : tensor<?x8x?x64xf32>, tensor<?xi32>
  return %rc : tensor<?x8x64xf32>
}

// Contexts that are packed otherwise, or read otherwise as well, are computed for all rows.
// CHECK-LABEL: func @packed_rows_of_two_offsets
func.func @packed_rows_of_two_offsets(%rows: tensor<?x8x64xf32>, %k: tensor<?x2x?x64xf32>, %o: tensor<?xi32>,
                                      %p: tensor<?xi32>) -> tensor<?x8x64xf32> {
  // CHECK: %[[QUERY:.*]] = attn.unpack_rows %arg0 offsets(%arg2)
  // CHECK: %[[CONTEXT:.*]] = attn.attention %[[QUERY]], %arg1, %arg1 :
  // CHECK: attn.pack_rows %[[CONTEXT]] offsets(%arg3)
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x8x64xf32>, tensor<?xi32>
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>
  %pr = attn.softmax %s : tensor<?x8x?x?xf32>
  %c = attn.context %pr, %k : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32>
  %rc = attn.pack_rows %c offsets(%p) : tensor<?x8x?x64xf32>, tensor<?xi32>
  return %rc : tensor<?x8x64xf32>
}

// CHECK-LABEL: func @packed_rows_read_otherwise
func.func @packed_rows_read_otherwise(%rows: tensor<?x8x64xf32>, %k: tensor<?x2x?x64xf32>, %o: tensor<?xi32>)
    -> (tensor<?x8x64xf32>, tensor<?x8x?x64xf32>) {
  // CHECK: attn.unpack_rows
  // CHECK: attn.attention
  // CHECK: attn.pack_rows
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x8x64xf32>, tensor<?xi32>
  %s = attn.score %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>
  %pr = attn.softmax %s : tensor<?x8x?x?xf32>
  %c = attn.context %pr, %k : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32>
  %rc = attn.pack_rows %c offsets(%o) : tensor<?x8x?x64xf32>, tensor<?xi32>
  return %rc, %c : tensor<?x8x64xf32>, tensor<?x8x?x64xf32>
}
