// RUN: attn-opt %s --host-plan-workspace | FileCheck %s

!row = memref<?x64xf32>

halide.pipeline @copy {
  %in = halide.input "in" [64, ?] : !halide.func<f32, 2>
  %f = halide.func "copy" [%x, %y] : f32 {
    %v = halide.at %in[%x, %y] : !halide.func<f32, 2>
    halide.yield %v : f32
  }
  halide.output %f [64, ?] : !halide.func<f32, 2>
}

// The third temporary takes the place of the first, which is read for the last time
// before it is written.
// CHECK-LABEL: func.func @turns
// CHECK-SAME: (%[[X:.*]]: memref<?x64xf32>, %[[Y:.*]]: memref<?x64xf32>, %[[W:.*]]: memref<?xi8>)
func.func @turns(%x: !row, %y: !row) {
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
  // CHECK: %[[N:.*]] = memref.dim %[[X]]
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : !row
  // CHECK: %[[A:.*]] = memref.view %[[W]][%{{.*}}][%[[N]]] : memref<?xi8> to memref<?x64xf32>
  // CHECK: %[[C256:.*]] = arith.constant 256 : index
  // CHECK: %[[BYTES:.*]] = arith.muli %[[C256]], %[[N]]
  // CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %[[BYTES]]
  // CHECK: host.call @copy(%[[X]], %[[A]])
  %a = memref.alloc(%n) : !row
  host.call @copy(%x, %a) : !row, !row
  // CHECK: %[[B:.*]] = memref.view %[[W]][%[[AT]]][%[[N]]]
  // CHECK: host.call @copy(%[[A]], %[[B]])
  %b = memref.alloc(%n) : !row
  host.call @copy(%a, %b) : !row, !row
  // CHECK: %[[C:.*]] = memref.view %[[W]][%[[ZERO]]{{.*}}][%[[N]]]
  // CHECK: host.call @copy(%[[B]], %[[C]])
  %c = memref.alloc(%n) : !row
  host.call @copy(%b, %c) : !row, !row
  // CHECK-NOT: memref.dealloc
  memref.dealloc %a : !row
  // CHECK: host.call @copy(%[[C]], %[[Y]])
  host.call @copy(%c, %y) : !row, !row
  return
}
// CHECK: func.func private @turns_workspace(%[[X:.*]]: memref<?x64xf32>, %{{.*}}: memref<?x64xf32>) -> index
// CHECK: %[[N:.*]] = memref.dim %[[X]]
// A product of more than 2^64 is the largest number, as is a sum of more than that.
// CHECK: %[[LOW:.*]], %[[HIGH:.*]] = arith.mului_extended %{{.*}}, %[[N]]
// CHECK: %[[NEGATIVE:.*]] = arith.cmpi slt, %[[LOW]], %{{.*}}
// CHECK: %[[SIGNED:.*]] = arith.select %[[NEGATIVE]], %c9223372036854775807{{.*}}, %[[LOW]]
// CHECK: %[[WRAPS:.*]] = arith.cmpi ne, %[[HIGH]], %{{.*}}
// CHECK: %[[ONE:.*]] = arith.select %[[WRAPS]], %c9223372036854775807{{.*}}, %[[SIGNED]]
// CHECK: %[[SUM:.*]] = arith.addi %{{.*}}, %[[ONE]]
// CHECK: %[[OVER:.*]] = arith.cmpi slt, %[[SUM]], %{{.*}}
// CHECK: %[[FIRST:.*]] = arith.select %[[OVER]], %c9223372036854775807{{.*}}, %[[SUM]]
// CHECK: mului_extended
// CHECK: %[[LAST:.*]] = arith.addi %[[FIRST]], %{{.*}}
// CHECK: %[[BOTH:.*]] = arith.select %{{.*}}, %c9223372036854775807{{.*}}, %[[LAST]]
// CHECK: return %[[BOTH]]

// A view keeps its temporary in use.
// CHECK-LABEL: func.func @views
func.func @views(%x: !row, %y: !row) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : !row
  // CHECK: memref.view %arg2[%[[ZERO:[a-z0-9_]+]]]
  %a = memref.alloc(%n) : !row
  %v = memref.expand_shape %a [[0], [1, 2]] output_shape [%n, 8, 8] : !row into memref<?x8x8xf32>
  %u = memref.collapse_shape %v [[0], [1, 2]] : memref<?x8x8xf32> into !row
  host.call @copy(%x, %u) : !row, !row
  // CHECK: %[[AT:.*]] = arith.addi %[[ZERO]]
  // CHECK: memref.view %arg2[%[[AT]]]
  %b = memref.alloc(%n) : !row
  host.call @copy(%x, %b) : !row, !row
  host.call @copy(%u, %y) : !row, !row
  return
}

// Sizes of different extents don't share; bytes are rounded up to the alignment.
// CHECK-LABEL: func.func @extents
func.func @extents(%x: !row, %y: !row) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : !row
  %m = memref.dim %y, %c0 : !row
  // CHECK: arith.constant 4 : index
  // CHECK: %[[BYTES:.*]] = arith.muli
  // CHECK: %[[RAISED:.*]] = arith.addi %[[BYTES]]
  // CHECK: %[[ALIGNED:.*]] = arith.andi %[[RAISED]]
  // CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %[[ALIGNED]]
  %a = memref.alloc(%n) : memref<?xf32>
  %e = arith.constant 0.0 : f32
  memref.store %e, %a[%c0] : memref<?xf32>
  // CHECK: memref.view %arg2[%[[AT]]]
  %b = memref.alloc(%m) : memref<?xf32>
  memref.store %e, %b[%c0] : memref<?xf32>
  return
}

// What is static is laid out at compile time, and the larger of two decides.
// CHECK-LABEL: func.func @static
// CHECK: memref.view %arg1[%[[ZERO:[a-z0-9_]+]]]
// CHECK: arith.constant 1024 : index
// CHECK: memref.view %arg1[%[[ZERO]]]
func.func @static(%x: memref<2x64xf32>) {
  %a = memref.alloc() : memref<2x64xf32>
  host.call @copy(%x, %a) : memref<2x64xf32>, memref<2x64xf32>
  %b = memref.alloc() : memref<4x64xf32>
  host.call @copy(%x, %b) : memref<2x64xf32>, memref<4x64xf32>
  return
}

// CHECK-LABEL: func.func @nothing
// CHECK-SAME: memref<?xi8>
// CHECK: func.func private @nothing_workspace
// CHECK: %[[C0:.*]] = arith.constant 0
// CHECK: return %[[C0]]
func.func @nothing(%x: !row, %y: !row) {
  host.call @copy(%x, %y) : !row, !row
  return
}

// Factors are multiplied in the order of their definitions, whatever the order of the sizes.
// CHECK-LABEL: func.func @order
// CHECK: %[[N:.*]] = memref.dim %arg0
// CHECK: %[[M:.*]] = memref.dim %arg1
// CHECK: %[[K:.*]] = memref.dim %arg2
// CHECK: memref.view
// CHECK: %[[ONE:.*]] = arith.muli %{{.*}}, %[[N]]
// CHECK: %[[TWO:.*]] = arith.muli %[[ONE]], %[[M]]
// CHECK: arith.muli %[[TWO]], %[[K]]
func.func @order(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %e = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = memref.dim %y, %c0 : memref<?xf32>
  %k = memref.dim %z, %c0 : memref<?xf32>
  %a = memref.alloc(%k, %n, %m) : memref<?x?x?x64xf32>
  memref.store %e, %a[%c0, %c0, %c0, %c0] : memref<?x?x?x64xf32>
  return
}

// CHECK-LABEL: func.func @order_again
// CHECK: %[[M:.*]] = memref.dim %arg1
// CHECK: %[[N:.*]] = memref.dim %arg0
// CHECK: %[[ONE:.*]] = arith.muli %{{.*}}, %[[M]]
// CHECK: arith.muli %[[ONE]], %[[N]]
func.func @order_again(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %e = arith.constant 0.0 : f32
  %m = memref.dim %y, %c0 : memref<?xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %a = memref.alloc(%n, %m) : memref<?x?x64xf32>
  memref.store %e, %a[%c0, %c0, %c0] : memref<?x?x64xf32>
  return
}
