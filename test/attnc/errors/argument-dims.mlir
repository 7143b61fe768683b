// RUN: %exits 1 attnc explain %s 2>&1 | FileCheck %s

// CHECK: argument-dims.mlir:[[#@LINE+2]]:35: error: argument 1: expected attn.dims with 2 entries, found 1
func.func @f(%a: tensor<4x?xf32> {attn.dims = [4, "len"]},
                                  %b: tensor<4x?xf32> {attn.dims = ["len"]}) -> tensor<4x?xf32> {
  return %a : tensor<4x?xf32>
}
