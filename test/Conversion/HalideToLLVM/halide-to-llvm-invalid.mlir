// RUN: attn-opt %s --convert-halide-to-llvm --split-input-file --verify-diagnostics

func.func @alloc(%x: memref<4xf32>) {
  // expected-error@+1 {{expected temporaries in a workspace; run halide-plan-workspace first}}
  %a = memref.alloc() : memref<4xf32>
  return
}

// -----

// expected-error@+1 {{expected @plan_workspace beside it; run halide-plan-workspace first}}
func.func @plan(%x: memref<4xf32>) {
  return
}

// -----

// expected-error@+1 {{expected memrefs as arguments, found '(index, memref<?xi8>) -> ()'}}
func.func @scalar(%x: index, %workspace: memref<?xi8>) {
  return
}
func.func private @scalar_workspace(%x: index) -> index {
  return %x : index
}
