// What a kernel finds out of bounds is told by the names of the call's arguments, whatever the kernel
// calls its parameters, and by the dimension as numpy counts it from the last.

!q = tensor<?x8x?x16xf32>
!s = tensor<?x8x?x?xf32>

// RUN: %exits 1 attnc run %s --function direct --input query=random:2x8x5x16 --input slope=random:5x3 \
// RUN:   --input lengths=ones:2 2>&1 | FileCheck %s --check-prefix=DIRECT
// DIRECT: direct: error: slope: expected at least 8 elements in dimension -2, found 5
// RUN: %exits 1 attnc run %s --function direct --input query=random:2x8x5x16 --input slope=random:8x3 \
// RUN:   --input lengths=ones:1 2>&1 | FileCheck %s --check-prefix=LENGTHS
// LENGTHS: direct: error: lengths: expected at least 2 elements in dimension -1, found 1
// RUN: %exits 1 attnc run %s --function direct --input query=random:2x8x5x16 --input slope=random:0x3 \
// RUN:   --input lengths=ones:2 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: direct: error: slope: expected at least 8 elements in dimension -2, found 0
func.func @direct(%query: !q, %slope: tensor<?x3xf32>, %lengths: tensor<?xi32>) -> !q {
  %s = attn.score %query, %query scale(0.25) : !q, !q -> !s
  %b = attn.modify_score %s {
  ^bb0(%score: f32, %batch: index, %head: index, %i: index, %j: index):
    %c0 = arith.constant 0 : index
    %m = tensor.extract %slope[%head, %c0] : tensor<?x3xf32>
    %r = arith.addf %score, %m : f32
    attn.yield %r : f32
  } : !s
  %n = attn.mask %b kv_lengths(%lengths : tensor<?xi32>) : !s
  %p = attn.softmax %n : !s
  %c = attn.context %p, %query : !s, !q -> !q
  return %c : !q
}

// A place that depends on data is clamped, but nothing is within an empty table.
// RUN: %exits 1 attnc run %s --function table --input ids=ones:4 --input words=ones:0 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TABLE
// TABLE: table: error: words: expected at least 1 elements in dimension -1, found 0
func.func @table(%ids: tensor<4xi32>, %words: tensor<?xf32>) -> tensor<4xf32> {
  %y = attn.map %ids {
  ^bb0(%id: i32):
    %place = arith.index_cast %id : i32 to index
    %word = tensor.extract %words[%place] : tensor<?xf32>
    attn.yield %word : f32
  } : tensor<4xi32> -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// What is no argument has no name: a constant, and what was computed before.
// RUN: %exits 1 attnc run %s --function others --input x=ones:4 --input n=ones:3 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CONSTANT
// CONSTANT: others: error: a constant: expected at least 4 elements in dimension -1, found 2
// RUN: %exits 1 attnc run %s --function others --input x=ones:2 --input n=ones:1 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TEMPORARY
// TEMPORARY: others: error: a temporary: expected at least 2 elements in dimension -1, found 1
func.func @others(%x: tensor<?xf32>, %n: tensor<?xf32>) -> tensor<?xf32> {
  %table = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %sums = attn.softmax %n : tensor<?xf32>
  %c0 = arith.constant 0 : index
  %size = tensor.dim %x, %c0 : tensor<?xf32>
  %y = tensor.generate %size {
  ^bb0(%i: index):
    %a = tensor.extract %table[%i] : tensor<2xf32>
    %b = tensor.extract %sums[%i] : tensor<?xf32>
    %c = arith.addf %a, %b : f32
    tensor.yield %c : f32
  } : tensor<?xf32>
  return %y : tensor<?xf32>
}
