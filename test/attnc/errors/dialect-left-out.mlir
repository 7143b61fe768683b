// An op of the attn dialect without its name.
// RUN: %exits 1 attnc compile %s -o %t 2>&1 | FileCheck %s --implicit-check-not=dialects

func.func @mask(%s: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %m = attn.mask %s {
  ^bb0(%batch: index, %head: index, %q: index, %k: index):
    %seen = arith.cmpi sle, %k, %q : index
    // CHECK: dialect-left-out.mlir:[[#@LINE+1]]:5: error: custom op 'yield' is unknown; did you mean 'attn.yield'?
    yield %seen : i1
  } : tensor<2x3x4x4xf32>
  return %m : tensor<2x3x4x4xf32>
}
