// Regions that read a tensor for each row, or for each row and key, and select by what they read.
// RUN: attnc verify %s --function scaled | FileCheck %s
// RUN: attnc verify %s --function chosen | FileCheck %s
// RUN: attnc verify %s --function grouped | FileCheck %s
// CHECK: all within the allowed error

!t = tensor<2x4x70x32xf32>
!s = tensor<2x4x70x70xf32>

// A temperature for each row, and rows that are not masked.
func.func @scaled(%q: !t, %k: !t, %temperature: tensor<2x70xf32>, %bias: tensor<4x70x70xf32>, %whole: tensor<2x70xi1>) -> !t {
  %score = attn.score %q, %k : !t, !t -> !s
  %scaled = attn.modify_score %score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %zero = arith.constant 0.0 : f32
    %factor = tensor.extract %temperature[%b, %i] : tensor<2x70xf32>
    %more = tensor.extract %bias[%h, %i, %j] : tensor<4x70x70xf32>
    %product = arith.mulf %x, %factor : f32
    %positive = arith.cmpf ogt, %more, %zero : f32
    %y = arith.select %positive, %product, %x : f32
    attn.yield %y : f32
  } : !s
  %masked = attn.mask %scaled {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %all = tensor.extract %whole[%b, %i] : tensor<2x70xi1>
    %past = arith.cmpi sle, %j, %i : index
    %seen = arith.ori %all, %past : i1
    attn.yield %seen : i1
  } : !s
  %prob = attn.softmax %masked : !s
  %context = attn.context %prob, %k : !s, !t -> !t
  return %context : !t
}

// The direction in which a row looks, and documents.
func.func @chosen(%q: !t, %k: !t, %forward: tensor<4x70xi1>, %seen: tensor<2x70x70xi1>, %ids: tensor<70xi32>) -> !t {
  %score = attn.score %q, %k : !t, !t -> !s
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %later = arith.cmpi sge, %j, %i : index
    %past = arith.cmpi sle, %j, %i : index
    %isForward = tensor.extract %forward[%h, %i] : tensor<4x70xi1>
    %near = arith.select %isForward, %later, %past : i1
    %x = tensor.extract %ids[%i] : tensor<70xi32>
    %y = tensor.extract %ids[%j] : tensor<70xi32>
    %same = arith.cmpi sle, %x, %y : i32
    %m = tensor.extract %seen[%b, %i, %j] : tensor<2x70x70xi1>
    %chosen = arith.select %m, %near, %same : i1
    attn.yield %chosen : i1
  } : !s
  %prob = attn.softmax %masked : !s
  %context = attn.context %prob, %k : !s, !t -> !t
  return %context : !t
}

// Four heads of a query block, each with elements of its own.
func.func @grouped(%q: tensor<1x4x9x64xf32>, %k: tensor<1x1x203x64xf32>, %factor: tensor<4x9xf32>, %limit: tensor<4x9xi32>) -> tensor<1x4x9x64xf32> {
  %score = attn.score %q, %k : tensor<1x4x9x64xf32>, tensor<1x1x203x64xf32> -> tensor<1x4x9x203xf32>
  %scaled = attn.modify_score %score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %f = tensor.extract %factor[%h, %i] : tensor<4x9xf32>
    %y = arith.mulf %x, %f : f32
    attn.yield %y : f32
  } : tensor<1x4x9x203xf32>
  %masked = attn.mask %scaled {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %three = arith.constant 3 : index
    %most = tensor.extract %limit[%h, %i] : tensor<4x9xi32>
    %n = arith.index_cast %most : i32 to index
    %r = arith.remui %j, %three : index
    %seen = arith.cmpi sle, %r, %n : index
    attn.yield %seen : i1
  } : tensor<1x4x9x203xf32>
  %prob = attn.softmax %masked : tensor<1x4x9x203xf32>
  %context = attn.context %prob, %k : tensor<1x4x9x203xf32>, tensor<1x1x203x64xf32> -> tensor<1x4x9x64xf32>
  return %context : tensor<1x4x9x64xf32>
}
