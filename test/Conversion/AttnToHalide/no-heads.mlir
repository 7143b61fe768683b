// A merge of no heads leaves nothing to compute.
// RUN: attn-opt %s --attn-pipeline | FileCheck %s

// CHECK-LABEL: func.func @merge
// CHECK-NOT: host.call
// CHECK: return
func.func @merge(%a: tensor<2x0x3x8xf32>) -> tensor<2x3x0xf32> {
  %r = attn.merge_heads %a : tensor<2x0x3x8xf32> -> tensor<2x3x0xf32>
  return %r : tensor<2x3x0xf32>
}
