// RUN: attn-opt %s --host-plan-workspace --split-input-file --verify-diagnostics

func.func @layout(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected a temporary without layout, found 'memref<4xf32, strided<[2]>>'}}
  %a = memref.alloc() : memref<4xf32, strided<[2]>>
  %e = memref.load %a[%c0] : memref<4xf32, strided<[2]>>
  memref.store %e, %x[%c0] : memref<4xf32>
  return
}

// -----

// expected-error@+1 {{expected a host function of one block}}
func.func @blocks(%x: memref<4xf32>) {
  llvm.br ^next
^next:
  return
}

// -----

func.func @elements(%x: memref<4xcomplex<f32>>) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected a temporary of integers or floats, found 'complex<f32>'}}
  %a = memref.alloc() : memref<4xcomplex<f32>>
  %e = memref.load %x[%c0] : memref<4xcomplex<f32>>
  memref.store %e, %a[%c0] : memref<4xcomplex<f32>>
  return
}
