// RUN: attn-opt %s --host-plan-workspace --convert-host-to-llvm=on-device --split-input-file --verify-diagnostics

func.func @load(%x: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  // expected-error@+1 {{expected host.load alone to touch elements of buffers on a GPU}}
  %e = memref.load %x[%c0] : memref<4xi32>
  %none = arith.cmpi eq, %e, %zero : i32
  host.require %none, "expected none"
  return
}

// -----

func.func @store(%x: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  // expected-error@+1 {{expected host.load alone to touch elements of buffers on a GPU}}
  memref.store %zero, %x[%c0] : memref<4xi32>
  return
}
