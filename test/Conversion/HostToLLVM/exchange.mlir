// RUN: attn-opt %s --host-plan-workspace --convert-host-to-llvm | FileCheck %s

// Loops become blocks; a failed message ends the call with its status.
// CHECK-LABEL: llvm.func internal @exchange(
// CHECK-SAME: %[[CONTEXT:[a-z0-9]*]]: !llvm.ptr
// CHECK: llvm.call @attnc_exchange_rank(%[[CONTEXT]], %{{.*}}) : (!llvm.ptr, !llvm.ptr) -> ()
// CHECK: %[[AGREED:.*]] = llvm.call @attnc_exchange_agree(%[[CONTEXT]], %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, i32) -> i32
// CHECK: %[[OK:.*]] = llvm.icmp "eq" %[[AGREED]]
// CHECK: llvm.cond_br %[[OK]], ^{{.*}}, ^[[LEAVE:.*]]
// CHECK: llvm.call @attnc_exchange_pass(%[[CONTEXT]], %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
// CHECK: %[[COMBINES:.*]] = llvm.call @attnc_exchange_trade(%[[CONTEXT]],
// CHECK: llvm.icmp "ne" %[[COMBINES]]
// CHECK: %[[STATUS:.*]] = llvm.call @attnc_exchange_wait(%[[CONTEXT]])
// CHECK: ^[[LEAVE]]:
// CHECK-NEXT: llvm.return %[[AGREED]] : i32
// CHECK: llvm.return %[[STATUS]] : i32
func.func @exchange(%a: memref<?xf32>, %b: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %at = memref.alloc() : memref<2xi32>
  host.rank %at : memref<2xi32>
  host.agree %n
  scf.for %round = %c0 to %n step %c1 {
    host.pass %a to %b : memref<?xf32>, memref<?xf32>
    %is = host.trade %round, %a to %b : memref<?xf32>, memref<?xf32>
    scf.if %is {
      host.wait
    }
  }
  return
}

// Sizes of temporaries that follow from the exchange: memory of the call.
// CHECK-LABEL: llvm.func internal @gather(
// CHECK-SAME: %[[CONTEXT:[a-z0-9]*]]: !llvm.ptr
// CHECK: llvm.call @attnc_exchange_rank(%[[CONTEXT]],
// CHECK: %[[MEMORY:.*]] = llvm.call @attnc_allocate(%[[CONTEXT]], %{{.*}}, %{{.*}}, %{{.*}}, %[[INTO:.*]]) : (!llvm.ptr, !llvm.ptr, i32, i64, !llvm.ptr) -> i32
// CHECK: llvm.icmp "eq" %[[MEMORY]]
// CHECK: %[[PLACES:.*]] = llvm.load %[[INTO]]
// CHECK: %[[PLACED:.*]] = llvm.call @attnc_exchange_places(%[[CONTEXT]], %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, i64, i32, !llvm.ptr) -> i32
// CHECK: llvm.icmp "eq" %[[PLACED]]
// CHECK: llvm.call @attnc_exchange_gather(%[[CONTEXT]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
func.func @gather(%a: memref<?xf32>, %b: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %at = memref.alloc() : memref<2xi32>
  host.rank %at : memref<2xi32>
  %ranks32 = host.load %at[%c1] : memref<2xi32>
  %ranks = arith.index_cast %ranks32 : i32 to index
  %places = memref.alloc(%ranks) : memref<?xi32>
  host.places %n layout 1 to %places : memref<?xi32>
  host.gather %a, %places to %b layout 1 along 0 : memref<?xf32>, memref<?xi32>, memref<?xf32>
  return
}
