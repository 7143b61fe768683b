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

!cube = memref<4x4x4xi32>
!turned = memref<4x4x4xi32, strided<[4, 16, 1]>>
halide.pipeline @copy_cube {
  %in = halide.input "in" [4, 4, 4] : !halide.func<i32, 3>
  %f = halide.func "copy" [%x, %y, %z] : i32 {
    %v = halide.at %in[%x, %y, %z] : !halide.func<i32, 3>
    halide.yield %v : i32
  }
  halide.output %f [4, 4, 4] : !halide.func<i32, 3>
}

// What is written through a transposed view is the buffer.
// CHECK-LABEL: func.func @turned
// CHECK: %[[T:.*]] = memref.alloc
// CHECK: %[[VIEW:.*]] = memref.transpose %[[T]]
// CHECK: host.call @copy_cube(%arg1, %[[VIEW]])
// CHECK: host.call @copy_cube(%[[T]],
// CHECK: host.require
func.func @turned(%x: !cube, %out: !cube {attn.result}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %t = memref.alloc() : !cube
  %u = memref.alloc() : !cube
  %view = memref.transpose %t (i, j, k) -> (j, i, k) : !cube to !turned
  host.call @copy_cube(%x, %out) : !cube, !cube
  host.call @copy_cube(%out, %view) : !cube, !turned
  host.call @copy_cube(%t, %u) : !cube, !cube
  %found = host.load %u[%c0, %c0, %c0] : !cube
  %isZero = arith.cmpi eq, %found, %zero : i32
  host.require %isZero, "expected 0"
  return
}

halide.pipeline @is_small {
  %in = halide.input "in" [?] : !halide.func<i32, 1>
  %extent = halide.extent %in, 0 : !halide.func<i32, 1>
  %f = halide.func "is_small" [%x] : i32 {
    halide.yield %extent : i32
  }
  halide.output %f [1] : !halide.func<i32, 1>
}

// What asks a buffer for its sizes does not read what is written to it.
// CHECK-LABEL: func.func @sizes
// CHECK: host.call @is_small(%arg1,
// CHECK: host.require
// CHECK: host.call @copy(%arg0, %arg1)
func.func @sizes(%x: !row, %out: !row {attn.result}) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  host.call @copy(%x, %out) : !row, !row
  %t = memref.alloc() : memref<1xi32>
  host.call @is_small(%out, %t) : !row, memref<1xi32>
  %size = host.load %t[%c0] : memref<1xi32>
  %isOne = arith.cmpi eq, %size, %one : i32
  host.require %isOne, "expected 1"
  return
}
