// RUN: %exits 1 attnc compile %s -o %t 2>&1 | FileCheck %s

// A function on buffers writes into one of them.
// CHECK: no-result-buffer.mlir:[[#@LINE+1]]:1: error: expected an argument with attn.result, found buffers without one
func.func @f(%a: memref<4xf32>) {
  return
}
