// RUN: attn-opt %s --host-plan-workspace --convert-host-to-llvm=on-device | FileCheck %s
// RUN: attn-opt %s --host-plan-workspace --convert-host-to-llvm | FileCheck %s --check-prefix=CPU

// CHECK-DAG: llvm.func @attnc_device_call(!llvm.ptr, !llvm.ptr, !llvm.ptr, i32) -> i32
// CHECK-DAG: llvm.func @attnc_device_read(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
// CHECK-DAG: llvm.func @count_argv(!llvm.ptr) -> i32
// CPU-NOT: attnc_device
halide.pipeline @count {
  %in = halide.input "in" [?] : !halide.func<i32, 1>
  %f = halide.func "count" [%x] : i32 {
    %v = halide.at %in[%x] : !halide.func<i32, 1>
    halide.yield %v : i32
  }
  halide.output %f [1] : !halide.func<i32, 1>
}

// CHECK-LABEL: llvm.func internal @host(%arg0: !llvm.ptr
// CHECK: %[[BUFFERS:.*]] = llvm.alloca %{{.*}} x !llvm.ptr
// CHECK: %[[PIPELINE:.*]] = llvm.mlir.addressof @count_argv
// CHECK: %[[STATUS:.*]] = llvm.call @attnc_device_call(%arg0, %[[PIPELINE]], %[[BUFFERS]], %{{.*}})
// CHECK: llvm.icmp "eq" %[[STATUS]]
// CHECK: %[[BYTES:.*]] = llvm.mlir.constant(4 : i64)
// CHECK: %[[COPIED:.*]] = llvm.call @attnc_device_read(%arg0, %[[SLOT:.*]], %{{.*}}, %[[BYTES]])
// CHECK: llvm.icmp "eq" %[[COPIED]]
// CHECK: llvm.load %[[SLOT]] : !llvm.ptr -> i32
func.func @host(%x: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %count = memref.alloc() : memref<1xi32>
  host.call @count(%x, %count) : memref<?xi32>, memref<1xi32>
  %found = host.load %count[%c0] : memref<1xi32>
  %none = arith.cmpi eq, %found, %zero : i32
  host.require %none, "expected none"
  return
}

// A caller's tensor may be on the device, too.
// CHECK-LABEL: llvm.func internal @callers(%arg0: !llvm.ptr
// CHECK: llvm.getelementptr
// CHECK: %[[PLACE:.*]] = llvm.getelementptr
// CHECK: llvm.call @attnc_device_read(%arg0, %[[SLOT:.*]], %[[PLACE]],
// CHECK: llvm.load %[[SLOT]] : !llvm.ptr -> i64
func.func @callers(%x: memref<?xi64, strided<[1], offset: ?>>) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %size = host.load %x[%c1] : memref<?xi64, strided<[1], offset: ?>>
  %none = arith.cmpi eq, %size, %zero : i64
  host.require %none, "expected none"
  return
}
