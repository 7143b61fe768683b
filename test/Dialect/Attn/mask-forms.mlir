// RUN: attn-opt %s | FileCheck %s
// RUN: attn-opt %s | attn-opt | FileCheck %s

!score = tensor<?x8x?x?xf32>

// CHECK-LABEL: func @causal_top_left
// CHECK-NEXT: attn.mask %{{.*}} {
// CHECK-NEXT: ^bb0(%batch: index, %head: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[C:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-NEXT: attn.yield %[[C]] : i1
// CHECK-NEXT: } : tensor<?x8x?x?xf32>
func.func @causal_top_left(%s: !score) -> !score {
  %m = attn.mask %s causal(top_left) : !score
  return %m : !score
}

// CHECK-LABEL: func @causal_bottom_right
// CHECK-SAME: %[[S:.*]]: tensor
// CHECK: attn.mask
// CHECK-NEXT: ^bb0(%batch: index, %head: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[QLEN:.*]] = tensor.dim %[[S]], %c2
// CHECK: %[[KVLEN:.*]] = tensor.dim %[[S]], %c3
// CHECK: %[[OFFSET:.*]] = arith.subi %[[KVLEN]], %[[QLEN]]
// CHECK: %[[LAST:.*]] = arith.addi %[[I]], %[[OFFSET]]
// CHECK: arith.cmpi sle, %[[J]], %[[LAST]]
// CHECK: {tag}
func.func @causal_bottom_right(%s: !score) -> !score {
  %m = attn.mask %s causal(bottom_right) {tag} : !score
  return %m : !score
}

// CHECK-LABEL: func @window
// CHECK: ^bb0(%batch: index, %head: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[FIRST:.*]] = arith.subi %[[I]], %c4
// CHECK: %[[LAST:.*]] = arith.addi %[[I]], %c1
// CHECK: %[[ABOVE:.*]] = arith.cmpi sge, %[[J]], %[[FIRST]]
// CHECK: %[[BELOW:.*]] = arith.cmpi sle, %[[J]], %[[LAST]]
// CHECK: arith.andi %[[ABOVE]], %[[BELOW]]
func.func @window(%s: !score) -> !score {
  %m = attn.mask %s window(4, 1) : !score
  return %m : !score
}

// CHECK-LABEL: func @window_bottom_right
// CHECK: ^bb0(%batch: index, %head: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[OFFSET:.*]] = arith.subi
// CHECK: %[[MIDDLE:.*]] = arith.addi %[[I]], %[[OFFSET]]
// CHECK: arith.subi %[[MIDDLE]], %c4
// CHECK: arith.addi %[[MIDDLE]], %c1
func.func @window_bottom_right(%s: !score) -> !score {
  %m = attn.mask %s window(4, 1, bottom_right) : !score
  return %m : !score
}

// CHECK-LABEL: func @kv_lengths
// CHECK-SAME: %[[N:[^ ]*]]: tensor<?xi64>
// CHECK: ^bb0(%[[B:.*]]: index, %head: index, %q: index, %[[J:.*]]: index):
// CHECK: %[[LEN:.*]] = tensor.extract %[[N]][%[[B]]]
// CHECK: %[[LENI:.*]] = arith.index_cast %[[LEN]] : i64 to index
// CHECK: arith.cmpi slt, %[[J]], %[[LENI]]
func.func @kv_lengths(%s: !score, %n: tensor<?xi64>) -> !score {
  %m = attn.mask %s kv_lengths(%n : tensor<?xi64>) : !score
  return %m : !score
}

// CHECK-LABEL: func @kv_offsets
// CHECK-SAME: %[[P:[^ ]*]]: tensor<?xi64>
// CHECK: ^bb0(%[[B:.*]]: index, %head: index, %q: index, %[[J:.*]]: index):
// CHECK: %[[NEXT:.*]] = arith.addi %[[B]], %{{.*}} : index
// CHECK: %[[END:.*]] = tensor.extract %[[P]][%[[NEXT]]]
// CHECK: %[[ENDI:.*]] = arith.index_cast %[[END]] : i64 to index
// CHECK: %[[FIRST:.*]] = tensor.extract %[[P]][%[[B]]]
// CHECK: %[[FIRSTI:.*]] = arith.index_cast %[[FIRST]] : i64 to index
// CHECK: %[[LEN:.*]] = arith.subi %[[ENDI]], %[[FIRSTI]]
// CHECK: arith.cmpi slt, %[[J]], %[[LEN]]
func.func @kv_offsets(%s: !score, %p: tensor<?xi64>) -> !score {
  %m = attn.mask %s kv_offsets(%p : tensor<?xi64>) : !score
  return %m : !score
}

// The lengths of sequences take the place of the score's sizes, in any order of the forms.
// CHECK-LABEL: func @lengths_of_sequences
// CHECK-NOT: tensor.dim
// CHECK: %[[QLEN:.*]] = arith.subi
// CHECK: %[[KVLEN:.*]] = arith.index_cast
// CHECK: %[[OFFSET:.*]] = arith.subi %[[KVLEN]], %[[QLEN]]
// CHECK: arith.addi %q, %[[OFFSET]]
// CHECK-NOT: tensor.dim
// CHECK: return
func.func @lengths_of_sequences(%s: !score, %o: tensor<?xi32>, %n: tensor<?xi32>) -> !score {
  %m = attn.mask %s causal(bottom_right) kv_lengths(%n : tensor<?xi32>) q_offsets(%o : tensor<?xi32>) : !score
  return %m : !score
}

// CHECK-LABEL: func @prefix
// CHECK: ^bb0(%[[B:.*]]: index, %head: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[CAUSAL:.*]] = arith.cmpi sle, %[[J]], %[[I]]
// CHECK: %[[PREFIX:.*]] = arith.cmpi slt, %[[J]]
// CHECK: arith.ori %[[CAUSAL]], %[[PREFIX]]
func.func @prefix(%s: !score, %n: tensor<?xi32>) -> !score {
  %m = attn.mask %s prefix(%n : tensor<?xi32>) : !score
  return %m : !score
}

// CHECK-LABEL: func @documents
// CHECK-SAME: %[[IDS:[^ ]*]]: tensor<?x?xi32>
// CHECK: ^bb0(%[[B:.*]]: index, %head: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[QID:.*]] = tensor.extract %[[IDS]][%[[B]], %[[I]]]
// CHECK: %[[KID:.*]] = tensor.extract %[[IDS]][%[[B]], %[[J]]]
// CHECK: arith.cmpi eq, %[[QID]], %[[KID]] : i32
func.func @documents(%s: !score, %ids: tensor<?x?xi32>) -> !score {
  %m = attn.mask %s documents(%ids : tensor<?x?xi32>) : !score
  return %m : !score
}

// CHECK-LABEL: func @documents_cross
// CHECK-SAME: %[[QIDS:[^ ]*]]: tensor<?x?xi32>, %[[KIDS:[^ ]*]]: tensor<?x?xi32>
// CHECK: tensor.extract %[[QIDS]][%batch, %q]
// CHECK: tensor.extract %[[KIDS]][%batch, %k]
func.func @documents_cross(%s: !score, %a: tensor<?x?xi32>, %b: tensor<?x?xi32>) -> !score {
  %m = attn.mask %s documents(%a, %b : tensor<?x?xi32>, tensor<?x?xi32>) : !score
  return %m : !score
}

// CHECK-LABEL: func @block
// CHECK: %[[QB:.*]] = arith.divsi %q, %[[SIZE:.*]] :
// CHECK: %[[KB:.*]] = arith.divsi %k, %[[SIZE]]
// CHECK: arith.cmpi eq, %[[QB]], %[[KB]]
func.func @block(%s: !score) -> !score {
  %m = attn.mask %s block(16) : !score
  return %m : !score
}

// CHECK-LABEL: func @tensor
// CHECK: %[[Z:.*]] = arith.constant 0 : index
// CHECK: tensor.extract %{{.*}}[%[[Z]], %head, %q, %k]
func.func @tensor(%s: !score, %t: tensor<1x8x?x?xi1>) -> !score {
  %m = attn.mask %s tensor(%t : tensor<1x8x?x?xi1>) : !score
  return %m : !score
}

// CHECK-LABEL: func @tensor_rank_2
// CHECK: tensor.extract %{{.*}}[%q, %k]
func.func @tensor_rank_2(%s: !score, %t: tensor<?x?xi1>) -> !score {
  %m = attn.mask %s tensor(%t : tensor<?x?xi1>) : !score
  return %m : !score
}

// CHECK-LABEL: func @conjunction
// CHECK: %[[A:.*]] = arith.cmpi sle
// CHECK: %[[B:.*]] = arith.cmpi slt
// CHECK: %[[AB:.*]] = arith.andi %[[A]], %[[B]]
// CHECK: %[[C:.*]] = arith.cmpi eq
// CHECK: %[[ABC:.*]] = arith.andi %[[AB]], %[[C]]
// CHECK: attn.yield %[[ABC]]
func.func @conjunction(%s: !score, %n: tensor<?xi32>) -> !score {
  %m = attn.mask %s causal(top_left) kv_lengths(%n : tensor<?xi32>) block(64) : !score
  return %m : !score
}

// Rows and keys lie at a start, of all or of each batch, or each at a position of its own.

// CHECK-LABEL: func @positions
// CHECK-SAME: %{{.*}}: tensor<?x8x?x?xf32>, %[[ROW:[^ ]*]]: tensor<?xi32>, %[[KEY:[^ ]*]]: tensor<i64>
// CHECK: ^bb0(%[[B:.*]]: index, %head: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[ROW_START:.*]] = tensor.extract %[[ROW]][%[[B]]]
// CHECK: %[[ROW_INDEX:.*]] = arith.index_cast %[[ROW_START]] : i32 to index
// CHECK: %[[Q:.*]] = arith.addi %[[I]], %[[ROW_INDEX]]
// CHECK: %[[KEY_START:.*]] = tensor.extract %[[KEY]][]
// CHECK: %[[KEY_INDEX:.*]] = arith.index_cast %[[KEY_START]] : i64 to index
// CHECK: %[[K:.*]] = arith.addi %[[J]], %[[KEY_INDEX]]
// CHECK: arith.cmpi sle, %[[K]], %[[Q]]
// CHECK: arith.subi %[[Q]], %c255
// CHECK: arith.addi %[[Q]], %c0
func.func @positions(%s: !score, %row: tensor<?xi32>, %key: tensor<i64>) -> !score {
  %m = attn.mask %s positions(%row, %key : tensor<?xi32>, tensor<i64>) causal(top_left) window(255, 0) : !score
  return %m : !score
}

// CHECK-LABEL: func @position_of_each
// CHECK-SAME: %{{.*}}: tensor<?x8x?x?xf32>, %[[ROW:[^ ]*]]: tensor<?x?xi32>
// CHECK: ^bb0(%[[B:.*]]: index, %head: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[POSITION:.*]] = tensor.extract %[[ROW]][%[[B]], %[[I]]]
// CHECK: %[[Q:.*]] = arith.index_cast %[[POSITION]] : i32 to index
// CHECK: arith.cmpi sle, %[[J]], %[[Q]]
func.func @position_of_each(%s: !score, %row: tensor<?x?xi32>) -> !score {
  %m = attn.mask %s positions(%row : tensor<?x?xi32>) causal(top_left) : !score
  return %m : !score
}
