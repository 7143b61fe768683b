// Parts without elements, where nothing is left to stand, and a whole of them.

// RUN: attnc verify %s --function last | FileCheck %s
// RUN: attnc verify %s --function all | FileCheck %s
// RUN: attnc verify %s --function two_contexts | FileCheck %s
// RUN: attnc verify %s --function cache --size room=5,new=0 | FileCheck %s
// RUN: attnc verify %s --function grown --size rows=0 | FileCheck %s
// RUN: attnc verify %s --function grown --size rows=5 | FileCheck %s
// RUN: attnc verify %s --function no_head_dim | FileCheck %s
// RUN: attnc verify %s --function no_value_dim | FileCheck %s
// RUN: attnc verify %s --function keys_first --size kv_len=5 | FileCheck %s
// RUN: attnc explain %s --function keys_first | FileCheck %s --check-prefix=NOT-FUSED
// RUN: attnc verify %s --function no_axes | FileCheck %s
// CHECK: cases, all within the allowed error

func.func @last(%x: tensor<?x4xf32>, %none: tensor<?x0xf32>) -> tensor<?x4xf32> {
  %y = tensor.concat dim(1) %none, %x, %none : (tensor<?x0xf32>, tensor<?x4xf32>, tensor<?x0xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

func.func @all(%x: tensor<?x0xf32>, %y: tensor<?x0xf32>) -> tensor<?x0xf32> {
  %z = tensor.concat dim(0) %x, %y : (tensor<?x0xf32>, tensor<?x0xf32>) -> tensor<?x0xf32>
  return %z : tensor<?x0xf32>
}

// One context of a prob and its parts, were there any.
func.func @two_contexts(%score: tensor<?x3x0x20xf32>, %v: tensor<?x3x20x8xf32>, %w: tensor<?x3x20x16xf32>)
    -> (tensor<?x3x0x8xf32>, tensor<?x3x0x16xf32>) {
  %p = attn.softmax %score : tensor<?x3x0x20xf32>
  %a = attn.context %p, %v : tensor<?x3x0x20xf32>, tensor<?x3x20x8xf32> -> tensor<?x3x0x8xf32>
  %b = attn.context %p, %w : tensor<?x3x0x20xf32>, tensor<?x3x20x16xf32> -> tensor<?x3x0x16xf32>
  return %a, %b : tensor<?x3x0x8xf32>, tensor<?x3x0x16xf32>
}

// No rows leave a cache as it is.
func.func @cache(%cache: tensor<?x2x?x8xf32> {attn.dims = ["batch", 2, "room", 8]},
                 %rows: tensor<?x2x?x8xf32> {attn.dims = ["batch", 2, "new", 8]},
                 %length: tensor<?xi32> {attn.dims = ["batch"]}) -> tensor<?x2x?x8xf32> {
  %longer = attn.append_cache %cache, %rows, %length
      : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?xi32>
  return %longer : tensor<?x2x?x8xf32>
}

// Three rows of zeros behind what there is.
func.func @grown(%x: tensor<?x8xf32> {attn.dims = ["rows", 8]}) -> tensor<?x8xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %rows = tensor.dim %x, %c0 : tensor<?x8xf32>
  %size = arith.addi %rows, %c3 : index
  %y = tensor.generate %size {
  ^bb0(%i: index, %j: index):
    %end = arith.subi %rows, %c1 : index
    %low = arith.minsi %i, %end : index
    %place = arith.maxsi %low, %c0 : index
    %old = tensor.extract %x[%place, %j] : tensor<?x8xf32>
    %is_old = arith.cmpi slt, %i, %rows : index
    %element = arith.select %is_old, %old, %zero : f32
    tensor.yield %element : f32
  } : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// Scores of 0, and contexts without columns.
func.func @no_head_dim(%q: tensor<1x2x?x0xf32>, %k: tensor<1x2x?x0xf32>, %v: tensor<1x2x?x16xf32>) -> tensor<1x2x?x16xf32> {
  %score = attn.score %q, %k : tensor<1x2x?x0xf32>, tensor<1x2x?x0xf32>
  %prob = attn.softmax %score : tensor<1x2x?x?xf32>
  %context = attn.context %prob, %v : tensor<1x2x?x?xf32>, tensor<1x2x?x16xf32>
  return %context : tensor<1x2x?x16xf32>
}

func.func @no_value_dim(%q: tensor<1x2x?x16xf32>, %k: tensor<1x2x?x16xf32>, %v: tensor<1x2x?x0xf32>) -> tensor<1x2x?x0xf32> {
  %score = attn.score %q, %k : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>
  %prob = attn.softmax %score : tensor<1x2x?x?xf32>
  %context = attn.context %prob, %v : tensor<1x2x?x?xf32>, tensor<1x2x?x0xf32>
  return %context : tensor<1x2x?x0xf32>
}

// NOT-FUSED: head_dim or value_dim is 0
func.func @keys_first(%q: tensor<1x3x1x0xf32>, %keys: tensor<1x?x3x0xf32> {attn.dims = [1, "kv_len", 3, 0]},
                      %values: tensor<1x?x3x8xf32> {attn.dims = [1, "kv_len", 3, 8]}) -> tensor<1x3x1x8xf32> {
  %k = attn.transpose %keys [0, 2, 1, 3] : tensor<1x?x3x0xf32> -> tensor<1x3x?x0xf32>
  %v = attn.transpose %values [0, 2, 1, 3] : tensor<1x?x3x8xf32> -> tensor<1x3x?x8xf32>
  %c = attn.attention %q, %k, %v : tensor<1x3x1x0xf32>, tensor<1x3x?x0xf32>, tensor<1x3x?x8xf32> -> tensor<1x3x1x8xf32>
  return %c : tensor<1x3x1x8xf32>
}

func.func @no_axes(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %largest = attn.reduce max %x axes [] : tensor<f32> -> tensor<f32>
  %sum = attn.reduce sum %x axes [] : tensor<f32> -> tensor<f32>
  return %largest, %sum : tensor<f32>, tensor<f32>
}
