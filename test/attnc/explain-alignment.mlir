// A decode step by causal(top_left) sees key 0 alone, which is rarely meant.
// RUN: attnc explain %s --function slip | FileCheck %s --check-prefix=SLIP
// RUN: attnc explain %s --function prefix | FileCheck %s --check-prefix=PREFIX

// SLIP: its only query row sees key 0 alone: for the last row, causal(bottom_right)
func.func @slip(%q: tensor<1x2x1x8xf32>, %k: tensor<1x2x?x8xf32>) -> tensor<1x2x1x8xf32> {
  %s = attn.score %q, %k : tensor<1x2x1x8xf32>, tensor<1x2x?x8xf32>
  %m = attn.mask %s causal(top_left) : tensor<1x2x1x?xf32>
  %p = attn.softmax %m : tensor<1x2x1x?xf32>
  %c = attn.context %p, %k : tensor<1x2x1x?xf32>, tensor<1x2x?x8xf32>
  return %c : tensor<1x2x1x8xf32>
}

// The row also sees its prefix.
// PREFIX: attn.attention at
// PREFIX-NOT: sees key 0 alone
func.func @prefix(%q: tensor<1x2x1x8xf32>, %k: tensor<1x2x?x8xf32>, %n: tensor<1xi32>) -> tensor<1x2x1x8xf32> {
  %s = attn.score %q, %k : tensor<1x2x1x8xf32>, tensor<1x2x?x8xf32>
  %m = attn.mask %s prefix(%n : tensor<1xi32>) : tensor<1x2x1x?xf32>
  %p = attn.softmax %m : tensor<1x2x1x?xf32>
  %c = attn.context %p, %k : tensor<1x2x1x?xf32>, tensor<1x2x?x8xf32>
  return %c : tensor<1x2x1x8xf32>
}
