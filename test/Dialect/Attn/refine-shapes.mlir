// RUN: attn-opt %s --attn-refine-shapes --split-input-file | FileCheck %s

// Sizes that operands tell; the function returns the type that it declares.
// CHECK-LABEL: func.func @layer(
// CHECK: attn.split_heads %{{.*}} num_heads(4) : tensor<2x3x8xf32> -> tensor<2x4x3x2xf32>
// CHECK: attn.softmax %{{.*}} : tensor<2x4x3x3xf32>
// CHECK: %[[C:.*]] = attn.context {{.*}} -> tensor<2x4x3x2xf32>
// CHECK: %[[CAST:.*]] = tensor.cast %[[C]] : tensor<2x4x3x2xf32> to tensor<?x?x?x?xf32>
// CHECK: return %[[CAST]]
func.func @layer(%x: tensor<2x3x8xf32>) -> tensor<?x?x?x?xf32> {
  %q = attn.split_heads %x num_heads(4) : tensor<2x3x8xf32> -> tensor<?x?x?x?xf32>
  %s = attn.score %q, %q : tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32> -> tensor<?x?x?x?xf32>
  %p = attn.softmax %s : tensor<?x?x?x?xf32>
  %c = attn.context %p, %q : tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32> -> tensor<?x?x?x?xf32>
  return %c : tensor<?x?x?x?xf32>
}

// -----

// A cast that says no less any more is folded; elementwise ops take the exact type.
// CHECK-LABEL: func.func @casts(
// CHECK-NOT: tensor.cast
// CHECK: %[[T:.*]] = math.tanh %{{.*}} : tensor<2x8xf32>
// CHECK-NOT: tensor.cast
// CHECK: return %[[T]] : tensor<2x8xf32>
func.func @casts(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %open = tensor.cast %x : tensor<2x8xf32> to tensor<?x8xf32>
  %t = math.tanh %open : tensor<?x8xf32>
  %known = tensor.cast %t : tensor<?x8xf32> to tensor<2x8xf32>
  return %known : tensor<2x8xf32>
}

// -----

// Views: the open part of a group follows from the others.
// CHECK-LABEL: func.func @views(
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2]] output_shape [2, 3, 8] : tensor<6x8xf32> into tensor<2x3x8xf32>
// CHECK: tensor.collapse_shape %{{.*}} : tensor<2x3x8xf32> into tensor<2x24xf32>
// CHECK: tensor.concat dim(0) {{.*}} -> tensor<4x24xf32>
func.func @views(%x: tensor<6x8xf32>, %n: index) -> tensor<?x?xf32> {
  %open = tensor.cast %x : tensor<6x8xf32> to tensor<?x8xf32>
  %e = tensor.expand_shape %open [[0, 1], [2]] output_shape [2, %n, 8] : tensor<?x8xf32> into tensor<2x?x8xf32>
  %c = tensor.collapse_shape %e [[0], [1, 2]] : tensor<2x?x8xf32> into tensor<2x?xf32>
  %cc = tensor.concat dim(0) %c, %c : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<4x?xf32>
  %all = tensor.cast %cc : tensor<4x?xf32> to tensor<?x?xf32>
  return %all : tensor<?x?xf32>
}

// -----

// What another operand leaves open stays open for an elementwise op, and a size of 0 for all.
// CHECK-LABEL: func.func @kept(
// CHECK: attn.transpose %{{.*}} : tensor<2x8xf32> -> tensor<8x2xf32>
// CHECK: %[[OPEN:.*]] = tensor.cast %{{.*}} : tensor<8x2xf32> to tensor<?x?xf32>
// CHECK: arith.addf %[[OPEN]], %{{.*}} : tensor<?x?xf32>
// CHECK: attn.transpose %{{.*}} : tensor<0x8xf32> -> tensor<8x?xf32>
func.func @kept(%x: tensor<2x8xf32>, %y: tensor<?x?xf32>, %none: tensor<0x8xf32>) -> (tensor<?x?xf32>, tensor<8x?xf32>) {
  %t = attn.transpose %x [1, 0] : tensor<2x8xf32> -> tensor<?x?xf32>
  %sum = arith.addf %t, %y : tensor<?x?xf32>
  %n = attn.transpose %none [1, 0] : tensor<0x8xf32> -> tensor<8x?xf32>
  return %sum, %n : tensor<?x?xf32>, tensor<8x?xf32>
}

// -----

// Sizes that contradict each other stay for the check of a call.
// CHECK-LABEL: func.func @contradiction(
// CHECK: %[[OPEN:.*]] = tensor.cast %{{.*}} : tensor<5x4xf32> to tensor<?x?xf32>
// CHECK: attn.matmul %{{.*}}, %[[OPEN]] : tensor<3x6xf32>, tensor<?x?xf32> -> tensor<3x?xf32>
func.func @contradiction(%x: tensor<3x6xf32>, %y: tensor<4x5xf32>) -> tensor<3x?xf32> {
  %t = attn.transpose %y [1, 0] : tensor<4x5xf32> -> tensor<5x?xf32>
  %open = tensor.cast %t : tensor<5x?xf32> to tensor<?x?xf32>
  %m = attn.matmul %x, %open : tensor<3x6xf32>, tensor<?x?xf32> -> tensor<3x?xf32>
  return %m : tensor<3x?xf32>
}
