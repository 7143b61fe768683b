// RUN: attn-opt %s -resolve-ranked-shaped-type-result-dims -canonicalize | FileCheck %s
//
// The sizes of every result follow from those of the operands.

// CHECK-LABEL: func @attention
// CHECK-SAME: %[[Q:[^ ]*]]: tensor<?x?x?x?xf32>, %[[K:[^ ]*]]: tensor<?x?x?x?xf32>, %[[V:[^ ]*]]: tensor<?x?x?x?xf32>
// CHECK-DAG: %[[C0:.*]] = arith.constant 0
// CHECK-DAG: %[[C2:.*]] = arith.constant 2
// CHECK-DAG: %[[C3:.*]] = arith.constant 3
// CHECK: %[[KV:.*]] = tensor.dim %[[K]], %[[C2]]
// CHECK: %[[B:.*]] = tensor.dim %[[Q]], %[[C0]]
// CHECK: %[[D:.*]] = tensor.dim %[[V]], %[[C3]]
// CHECK: return %[[KV]], %[[B]], %[[D]]
func.func @attention(%q: tensor<?x?x?x?xf32>, %k: tensor<?x?x?x?xf32>, %v: tensor<?x?x?x?xf32>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %s = attn.score %q, %k : tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32> -> tensor<?x?x?x?xf32>
  %m = attn.mask %s causal(top_left) : tensor<?x?x?x?xf32>
  %p = attn.softmax %m : tensor<?x?x?x?xf32>
  %c = attn.context %p, %v : tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32> -> tensor<?x?x?x?xf32>
  %a, %lse = attn.attention %q, %k, %v : tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32> -> tensor<?x?x?x?xf32>, tensor<?x?x?xf32>
  %0 = tensor.dim %p, %c3 : tensor<?x?x?x?xf32>
  %1 = tensor.dim %lse, %c0 : tensor<?x?x?xf32>
  %2 = tensor.dim %c, %c3 : tensor<?x?x?x?xf32>
  return %0, %1, %2 : index, index, index
}

// CHECK-LABEL: func @heads
// CHECK-SAME: %[[X:[^ ]*]]: tensor<?x?x?xf32>, %[[H:[^ ]*]]: tensor<?x?x?x?xf32>
// CHECK: %[[LEN:.*]] = tensor.dim %[[X]], %c0
// CHECK: %[[WIDTH:.*]] = tensor.dim %[[X]], %c2
// CHECK: %[[HEAD_DIM:.*]] = arith.divui %[[WIDTH]], %c4
// CHECK: %[[HEADS:.*]] = tensor.dim %[[H]], %c1
// CHECK: %[[SIZE:.*]] = tensor.dim %[[H]], %c3
// CHECK: %[[MERGED:.*]] = arith.muli %[[HEADS]], %[[SIZE]]
// CHECK: return %[[LEN]], %[[HEAD_DIM]], %[[MERGED]]
func.func @heads(%x: tensor<?x?x?xf32>, %h: tensor<?x?x?x?xf32>) -> (index, index, index) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %s = attn.split_heads %x num_heads(4) layout(time_first) : tensor<?x?x?xf32> -> tensor<?x4x?x?xf32>
  %m = attn.merge_heads %h : tensor<?x?x?x?xf32> -> tensor<?x?x?xf32>
  %0 = tensor.dim %s, %c2 : tensor<?x4x?x?xf32>
  %1 = tensor.dim %s, %c3 : tensor<?x4x?x?xf32>
  %2 = tensor.dim %m, %c2 : tensor<?x?x?xf32>
  return %0, %1, %2 : index, index, index
}

// CHECK-LABEL: func @linear
// CHECK-SAME: %[[X:[^ ]*]]: tensor<?x?xf32>, %[[W:[^ ]*]]: tensor<?x?xf32>
// CHECK: tensor.dim %[[X]], %c0
// CHECK: tensor.dim %[[W]], %c0
func.func @linear(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = attn.linear %x, %w : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %0 = tensor.dim %y, %c0 : tensor<?x?xf32>
  %1 = tensor.dim %y, %c1 : tensor<?x?xf32>
  return %0, %1 : index, index
}

// CHECK-LABEL: func @tensors
// CHECK-SAME: %[[X:[^ ]*]]: tensor<?x?x?xf32>, %[[Y:[^ ]*]]: tensor<?x1x?xf32>, %[[T:[^ ]*]]: tensor<?x?xf32>, %[[IDS:[^ ]*]]: tensor<?xi64>
// CHECK: %[[Y0:.*]] = tensor.dim %[[Y]], %c0
// CHECK: %[[X1:.*]] = tensor.dim %[[X]], %c1
// CHECK: %[[X2:.*]] = tensor.dim %[[X]], %c2
// CHECK: %[[X0:.*]] = tensor.dim %[[X]], %c0
// CHECK: %[[I0:.*]] = tensor.dim %[[IDS]], %c0
// CHECK: %[[T1:.*]] = tensor.dim %[[T]], %c1
// CHECK: return %[[Y0]], %[[X1]], %[[X2]], %[[X0]], %[[I0]], %[[T1]]
func.func @tensors(%x: tensor<?x?x?xf32>, %y: tensor<?x1x?xf32>, %t: tensor<?x?xf32>, %ids: tensor<?xi64>) -> (index, index, index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %m = attn.map %y, %x {
  ^bb0(%a: f32, %b: f32):
    attn.yield %a : f32
  } : tensor<?x1x?xf32>, tensor<?x?x?xf32> -> tensor<?x?x?xf32>
  %r = attn.reduce sum %x axes [0, 1] : tensor<?x?x?xf32> -> tensor<?xf32>
  %p = attn.transpose %x [2, 0, 1] : tensor<?x?x?xf32> -> tensor<?x?x?xf32>
  %e = attn.embedding %t, %ids : tensor<?x?xf32>, tensor<?xi64> -> tensor<?x?xf32>
  %0 = tensor.dim %m, %c0 : tensor<?x?x?xf32>
  %1 = tensor.dim %m, %c1 : tensor<?x?x?xf32>
  %2 = tensor.dim %r, %c0 : tensor<?xf32>
  %3 = tensor.dim %p, %c1 : tensor<?x?x?xf32>
  %4 = tensor.dim %e, %c0 : tensor<?x?xf32>
  %5 = tensor.dim %e, %c1 : tensor<?x?xf32>
  return %0, %1, %2, %3, %4, %5 : index, index, index, index, index, index
}

// CHECK-LABEL: func @products
// CHECK-SAME: %[[A:[^ ]*]]: tensor<?x1x?x?xf32>, %[[B:[^ ]*]]: tensor<?x?x?xf32>
// CHECK: %[[A0:.*]] = tensor.dim %[[A]], %c0
// CHECK: %[[B0:.*]] = tensor.dim %[[B]], %c0
// CHECK: %[[A2:.*]] = tensor.dim %[[A]], %c2
// CHECK: %[[B2:.*]] = tensor.dim %[[B]], %c2
// CHECK: return %[[A0]], %[[B0]], %[[A2]], %[[B2]]
func.func @products(%a: tensor<?x1x?x?xf32>, %b: tensor<?x?x?xf32>) -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c = attn.matmul %a, %b : tensor<?x1x?x?xf32>, tensor<?x?x?xf32> -> tensor<?x?x?x?xf32>
  %0 = tensor.dim %c, %c0 : tensor<?x?x?x?xf32>
  %1 = tensor.dim %c, %c1 : tensor<?x?x?x?xf32>
  %2 = tensor.dim %c, %c2 : tensor<?x?x?x?xf32>
  %3 = tensor.dim %c, %c3 : tensor<?x?x?x?xf32>
  return %0, %1, %2, %3 : index, index, index, index
}
