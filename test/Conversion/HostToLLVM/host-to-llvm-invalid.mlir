// RUN: attn-opt %s --convert-host-to-llvm --split-input-file --verify-diagnostics

func.func @alloc(%x: memref<4xf32>) {
  // expected-error@+1 {{expected temporaries in a workspace; run host-plan-workspace first}}
  %a = memref.alloc() : memref<4xf32>
  return
}

// -----

// expected-error@+1 {{expected @plan_workspace beside it; run host-plan-workspace first}}
func.func @plan(%x: memref<4xf32>) {
  return
}

// -----

// expected-error@+1 {{expected a host function, on memrefs alone and without results, found '(index, memref<?xi8>) -> ()'}}
func.func @scalar(%x: index, %workspace: memref<?xi8>) {
  return
}

// -----

// expected-error@+1 {{expected a host function, on memrefs alone and without results, found '() -> ()'}}
func.func @nothing() {
  return
}

// -----

// expected-error@+1 {{expected a host function, on memrefs alone and without results, found '(memref<4xf32>) -> index'}}
func.func @result(%x: memref<4xf32>) -> index {
  %c0 = arith.constant 0 : index
  return %c0 : index
}

// -----

// expected-error@+1 {{expected strided memrefs as arguments, found 'memref<?xf32, affine_map<(d0) -> (d0 mod 4)>>'}}
func.func @layout(%x: memref<?xf32, affine_map<(d0) -> (d0 mod 4)>>, %workspace: memref<?xi8>) {
  return
}
func.func private @layout_workspace(%x: memref<?xf32, affine_map<(d0) -> (d0 mod 4)>>) -> index {
  %c0 = arith.constant 0 : index
  return %c0 : index
}
