// RUN: attn-opt %s --host-check-first | FileCheck %s

!row = memref<4xi32>
halide.pipeline @copy {
  %in = halide.input "in" [4] : !halide.func<i32, 1>
  %f = halide.func "copy" [%x] : i32 {
    %v = halide.at %in[%x] : !halide.func<i32, 1>
    halide.yield %v : i32
  }
  halide.output %f [4] : !halide.func<i32, 1>
}

// What a requirement reads moves with it, kernels of temporaries included.
// CHECK-LABEL: func.func @moved
// CHECK: memref.alloc
// CHECK: host.call @copy(%[[X:.*]], %[[T:.*]])
// CHECK: host.load %[[T]]
// CHECK: host.require
// CHECK: host.call @copy(%{{.*}}, %arg2)
// CHECK: host.call @copy(%{{.*}}, %{{.*}})
// CHECK-NEXT: return
func.func @moved(%x: !row, %y: !row, %out: !row {attn.result}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  host.call @copy(%y, %out) : !row, !row
  %unread = memref.alloc() : !row
  %t = memref.alloc() : !row
  host.call @copy(%x, %t) : !row, !row
  %found = host.load %t[%c0] : !row
  %isZero = arith.cmpi eq, %found, %zero : i32
  host.require %isZero, "expected 0"
  host.call @copy(%x, %unread) : !row, !row
  return
}

// What depends on a result stays behind the kernel that writes it, through views as well.
// CHECK-LABEL: func.func @stays
// CHECK: host.call @copy(%arg0, %arg1)
// CHECK: host.load %arg1
// CHECK: host.require {{.*}}"expected 0"
func.func @stays(%x: !row, %out: !row {attn.result}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  host.call @copy(%x, %out) : !row, !row
  %found = host.load %out[%c0] : !row
  %isZero = arith.cmpi eq, %found, %zero : i32
  host.require %isZero, "expected 0"
  return
}

// A temporary that a kernel that stays has read is not written before it.
// CHECK-LABEL: func.func @read_before
// CHECK: host.call @copy(%arg0, %[[T:.*]]) :
// CHECK: host.call @copy(%[[T]], %arg2)
// CHECK: host.call @copy(%arg1, %[[T]])
// CHECK: host.require
func.func @read_before(%x: !row, %y: !row, %out: !row {attn.result}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %t = memref.alloc() : !row
  host.call @copy(%x, %t) : !row, !row
  host.call @copy(%t, %out) : !row, !row
  host.call @copy(%y, %t) : !row, !row
  %found = host.load %t[%c0] : !row
  %isZero = arith.cmpi eq, %found, %zero : i32
  host.require %isZero, "expected 0"
  return
}
