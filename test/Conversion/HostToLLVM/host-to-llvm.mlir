// RUN: attn-opt %s --host-plan-workspace --convert-host-to-llvm | FileCheck %s

!any = memref<?x64xf32, strided<[?, 1], offset: ?>>

// CHECK-NOT: halide.pipeline
// CHECK: llvm.func @copy(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
halide.pipeline @copy {
  %in = halide.input "in" [64, ?] : !halide.func<f32, 2>
  %f = halide.func "copy" [%x, %y] : f32 {
    %v = halide.at %in[%x, %y] : !halide.func<f32, 2>
    halide.yield %v : f32
  }
  halide.output %f [64, ?] : !halide.func<f32, 2>
}

// CHECK-LABEL: llvm.func internal @host(%arg0: !llvm.ptr
// CHECK-SAME: -> i32
func.func @host(%x: !any {attn.name = "x"}, %y: !any {attn.name = "y", attn.result}) {
  // Slots of the frame are taken once, at its top.
  // CHECK: llvm.alloca %{{.*}} x !llvm.struct<(i64, ptr, ptr, i64, struct<(i8, i8, i16)>, i32, ptr, ptr)>
  // CHECK: llvm.alloca %{{.*}} x !llvm.struct<(i32, i32, i32, i32)>
  // CHECK: llvm.alloca %{{.*}} x !llvm.struct<(i64, ptr, ptr, i64, struct<(i8, i8, i16)>, i32, ptr, ptr)>
  // CHECK: %[[DIMS:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(i32, i32, i32, i32)>

  // The innermost dimension first.
  // CHECK: %[[EXTENT:.*]] = llvm.extractvalue %[[X:.*]][3, 1]
  // CHECK: %[[EXTENT32:.*]] = llvm.trunc %[[EXTENT]] : i64 to i32
  // CHECK: %[[STRIDE:.*]] = llvm.extractvalue %[[X]][4, 1]
  // CHECK: %[[STRIDE32:.*]] = llvm.trunc %[[STRIDE]] : i64 to i32
  // CHECK: llvm.getelementptr %[[DIMS]][0]
  // CHECK: llvm.insertvalue %[[EXTENT32]], %{{.*}}[1]
  // CHECK: llvm.insertvalue %[[STRIDE32]], %{{.*}}[2]
  // CHECK: llvm.extractvalue %[[X]][3, 0]
  // CHECK: llvm.getelementptr %[[DIMS]][1]

  // CHECK: %[[ALIGNED:.*]] = llvm.extractvalue %[[X]][1]
  // CHECK: %[[OFFSET:.*]] = llvm.extractvalue %[[X]][2]
  // CHECK: %[[DATA:.*]] = llvm.getelementptr %[[ALIGNED]][%[[OFFSET]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // Null is not an address of no elements for Halide.
  // CHECK: %[[FIRST:.*]] = llvm.select %{{.*}}, %[[OTHER:.*]], %[[DATA]] : i1, !llvm.ptr
  // CHECK: %[[USED:.*]] = llvm.select %{{.*}}, %[[OTHER]], %[[FIRST]] : i1, !llvm.ptr
  // CHECK: llvm.mlir.constant(2 : i8)
  // CHECK: llvm.mlir.constant(32 : i8)
  // CHECK: llvm.insertvalue %[[USED]], %{{.*}}[2]
  // CHECK: llvm.insertvalue %[[DIMS]], %{{.*}}[6]

  // CHECK: %[[STATUS:.*]] = llvm.call @copy(%arg0, %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  // CHECK: %[[OK:.*]] = llvm.icmp "eq" %[[STATUS]], %{{.*}} : i32
  // CHECK: llvm.cond_br %[[OK]], ^[[NEXT:.*]], ^[[FAILED:.*]]
  // CHECK: ^[[NEXT]]:
  // CHECK: llvm.return %{{.*}} : i32
  // What a message says of parameters is said of arguments.
  // CHECK: ^[[FAILED]]:
  // CHECK: %[[ARGUMENTS:.*]] = llvm.mlir.addressof @call_arguments
  // CHECK: %[[PARAMETERS:.*]] = llvm.mlir.addressof @copy.parameters
  // CHECK: llvm.call @attnc_name_tensors(%arg0, %[[PARAMETERS]], %[[ARGUMENTS]])
  // CHECK: llvm.return %[[STATUS]]
  host.call @copy(%x, %y) : !any, !any
  return
}

// CHECK-LABEL: llvm.func @host_host
// CHECK-SAME: (%[[CONTEXT:.*]]: !llvm.ptr, %[[DESCRIPTORS:.*]]: !llvm.ptr) -> i32
// CHECK: llvm.getelementptr %[[DESCRIPTORS]][0]
// CHECK: llvm.getelementptr %[[DESCRIPTORS]][1]
// CHECK: llvm.getelementptr %[[DESCRIPTORS]][2]
// CHECK: llvm.call @host(%[[CONTEXT]]
// CHECK-LABEL: llvm.func internal @host_workspace
// CHECK-LABEL: llvm.func @host_workspace_host
// CHECK-SAME: (%{{.*}}: !llvm.ptr) -> i64

// A requirement that fails tells Halide's error handler and ends the call with a status that no
// kernel has.
// CHECK-LABEL: llvm.func internal @refuses(
// CHECK: llvm.cond_br %{{.*}}, ^[[GO:.*]], ^[[STOP:.*]]
// CHECK: ^[[STOP]]:
// CHECK: llvm.call @halide_error(%arg0, %{{.*}})
// CHECK: %[[STATUS:.*]] = llvm.mlir.constant(1 : i32)
// CHECK: llvm.return %[[STATUS]]
func.func @refuses(%x: memref<?xf32, strided<[1], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %size = memref.dim %x, %c0 : memref<?xf32, strided<[1], offset: ?>>
  %four = arith.cmpi eq, %size, %c4 : index
  host.require %four, "expected 4 elements"
  return
}

// Numbers of a message are passed in an array.
// CHECK-LABEL: llvm.func internal @refuses_with_numbers(
// CHECK: %[[NUMBERS:.*]] = llvm.alloca
// CHECK: ^bb{{.*}}:
// CHECK: llvm.store %{{.*}}, %{{.*}} : i64, !llvm.ptr
// CHECK: llvm.store %{{.*}}, %{{.*}} : i64, !llvm.ptr
// CHECK: llvm.call @attnc_error_with_numbers(%arg0, %{{.*}}, %[[NUMBERS]])
// CHECK: llvm.return
func.func @refuses_with_numbers(%x: memref<?xf32, strided<[1], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %size = memref.dim %x, %c0 : memref<?xf32, strided<[1], offset: ?>>
  %four = arith.cmpi eq, %size, %c4 : index
  host.require %four, "expected {} elements, found {}"(%c4, %size)
  return
}

// A conditional call is a block of its own; where the output is empty it isn't reached.
// CHECK-LABEL: llvm.func internal @chosen
// CHECK: %[[SOME:.*]] = llvm.icmp "sgt"
// CHECK: %[[FILLED:.*]] = llvm.icmp "ne"
// CHECK: %[[BOTH:.*]] = llvm.and %[[SOME]], %[[FILLED]]
// CHECK: llvm.cond_br %[[BOTH]], ^[[CALL:.*]], ^[[AFTER:.*]]
// CHECK: ^[[CALL]]:
// CHECK: llvm.call @copy
// CHECK: llvm.cond_br %{{.*}}, ^[[AFTER]], ^[[FAILED:.*]]
// CHECK: ^[[AFTER]]:
// CHECK: llvm.return
func.func @chosen(%x: !any, %y: !any {attn.result}) {
  %c0 = arith.constant 0 : index
  %size = memref.dim %x, %c0 : !any
  %some = arith.cmpi sgt, %size, %c0 : index
  host.call @copy(%x, %y) if(%some) : !any, !any
  return
}
