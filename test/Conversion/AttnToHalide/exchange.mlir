// RUN: attn-opt %s --convert-attn-to-halide=target=x86-64-linux-avx2 --cse --canonicalize | FileCheck %s
// RUN: not attn-opt %s --convert-attn-to-halide=target=x86-64-linux-cuda 2>&1 | FileCheck %s --check-prefix=GPU

// Blocks have two buffers: the next one arrives while one is computed with. Temporaries of the loop are
// allocated ahead of it.
// CHECK-LABEL: func.func @ring
// CHECK-SAME: (%[[BLOCK:.*]]: memref<?xf32, {{.*}}>, %[[INIT:.*]]: memref<?xf32, {{.*}}>, %[[RESULT:.*]]: memref
// CHECK: host.agree %{{.*}}
// CHECK: %[[BLOCKS:.*]] = memref.alloc(%{{.*}}) : memref<2x?xf32>
// CHECK: %[[CARRIED:.*]] = memref.alloc(%{{.*}}) : memref<2x?xf32>
// CHECK: host.call @ring_copy_0(%[[BLOCK]],
// CHECK: host.call @ring_copy_0(%[[INIT]],
// CHECK: host.rank %[[RANK:.*]] : memref<2xi32>
// CHECK: host.load %[[RANK]]
// CHECK: memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK: scf.for %[[TURN:.*]] =
// CHECK: %[[CURRENT:.*]] = arith.remui %[[TURN]]
// CHECK: %[[NEXT:.*]] = arith.subi
// CHECK: %[[HERE:.*]] = memref.subview %[[BLOCKS]][%[[CURRENT]], 0]
// CHECK: %[[COMING:.*]] = memref.subview %[[BLOCKS]][%[[NEXT]], 0]
// CHECK: scf.if
// CHECK-NEXT: host.pass %[[HERE]] to %[[COMING]]
// CHECK: %[[LAST:.*]] = memref.subview %[[CARRIED]][%[[CURRENT]], 0]
// CHECK: %[[THIS:.*]] = memref.subview %[[CARRIED]][%[[NEXT]], 0]
// CHECK-NOT: memref.alloc
// CHECK: host.call @ring_{{.*}}(%[[HERE]], %[[SQUARE:.*]]) :
// CHECK: host.call @ring_{{.*}}(%[[LAST]], %[[SQUARE]], %[[THIS]]) :
// CHECK-NEXT: host.wait
// CHECK-NEXT: }
// CHECK: host.call @ring_copy_{{.*}}(%{{.*}}, %[[RESULT]])
// GPU: expected a CPU as target of a function whose sequence is spread
func.func @ring(%block: tensor<?xf32>, %init: tensor<?xf32>) -> tensor<?xf32> {
  %sum = attn.ring %block init(%init) {
  ^bb0(%b: tensor<?xf32>, %carried: tensor<?xf32>):
    %square = arith.mulf %b, %b : tensor<?xf32>
    %next = arith.addf %carried, %square : tensor<?xf32>
    attn.yield %next : tensor<?xf32>
  } : tensor<?xf32> -> tensor<?xf32>
  return %sum : tensor<?xf32>
}

// CHECK-LABEL: func.func @all_reduce
// CHECK: host.agree
// CHECK: scf.for %[[ROUND:.*]] =
// CHECK: %[[IS:.*]] = host.trade %[[ROUND]], %[[DATA:.*]] to %[[RECEIVED:.*]] : memref<?xf32>, memref<?xf32>
// CHECK-NEXT: host.wait
// CHECK-NEXT: scf.if %[[IS]] {
// CHECK-NEXT: host.call @all_reduce_{{.*}}(%[[DATA]], %[[RECEIVED]], %[[SUM:.*]]) :
// CHECK-NEXT: host.call @all_reduce_copy_{{.*}}(%[[SUM]], %[[DATA]]) :
func.func @all_reduce(%x: tensor<?xf32>) -> tensor<?xf32> {
  %sum = attn.all_reduce %x {
  ^bb0(%a: tensor<?xf32>, %b: tensor<?xf32>):
    %c = arith.addf %a, %b : tensor<?xf32>
    attn.yield %c : tensor<?xf32>
  } : tensor<?xf32>
  return %sum : tensor<?xf32>
}
