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
