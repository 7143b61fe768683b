// Masks with "or" and "not" between conditions, and with repeated subexpressions.
// RUN: attnc verify %s --function shared --size n=70 | FileCheck %s
// RUN: attnc verify %s --function either --size n=70 | FileCheck %s
// RUN: attnc verify %s --function chosen --size n=70 | FileCheck %s
// CHECK: all within the allowed error

!t = tensor<2x4x?x8xf32>
!s = tensor<2x4x?x?xf32>

func.func @shared(%q: !t {attn.dims = [2, 4, "n", 8]}, %k: !t {attn.dims = [2, 4, "n", 8]}) -> !t {
  %score = attn.score %q, %k : !t, !t -> !s
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %before = arith.cmpi sle, %j, %i : index
    %few = arith.cmpi sle, %h, %b : index
    %first = arith.cmpi sle, %i, %b : index
    %x = arith.ori %first, %before : i1
    %y = arith.ori %few, %before : i1
    %seen = arith.andi %x, %y : i1
    attn.yield %seen : i1
  } : !s
  %prob = attn.softmax %masked : !s
  %context = attn.context %prob, %k : !s, !t -> !t
  return %context : !t
}

func.func @either(%q: !t {attn.dims = [2, 4, "n", 8]}, %k: !t {attn.dims = [2, 4, "n", 8]}) -> !t {
  %score = attn.score %q, %k : !t, !t -> !s
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %before = arith.cmpi sle, %j, %i : index
    %few = arith.cmpi sle, %h, %b : index
    %x = arith.xori %few, %before : i1
    %seen = arith.andi %x, %before : i1
    attn.yield %seen : i1
  } : !s
  %prob = attn.softmax %masked : !s
  %context = attn.context %prob, %k : !s, !t -> !t
  return %context : !t
}

func.func @chosen(%q: !t {attn.dims = [2, 4, "n", 8]}, %k: !t {attn.dims = [2, 4, "n", 8]}) -> !t {
  %score = attn.score %q, %k : !t, !t -> !s
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %before = arith.cmpi sle, %j, %i : index
    %few = arith.cmpi sle, %h, %b : index
    %x = arith.select %few, %before, %few : i1
    %seen = arith.andi %x, %before : i1
    attn.yield %seen : i1
  } : !s
  %prob = attn.softmax %masked : !s
  %context = attn.context %prob, %k : !s, !t -> !t
  return %context : !t
}
