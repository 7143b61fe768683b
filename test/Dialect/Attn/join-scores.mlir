// RUN: attn-opt %s -attn-raise -attn-fuse-attention=remarks -split-input-file 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t
//
// The sum of two scores becomes the score of the concatenated dims.

// Latent attention with two caches: the values are the first dims of the keys, whichever score comes first.
// REMARK: remark: fused into attn.attention: scale 0.125, two scores as one of concatenated dims, values in the keys
// CHECK-LABEL: func @latent(
// CHECK-DAG: [[K:%.*]] = tensor.concat dim(3) %arg2, %arg3
// CHECK-DAG: [[Q:%.*]] = tensor.concat dim(3) %arg0, %arg1
// CHECK: [[V:%.*]] = tensor.extract_slice [[K]][0, 0, 0, 0] [{{.*}}, 1, {{.*}}, 512] [1, 1, 1, 1]
// CHECK: attn.attention [[Q]], [[K]], [[V]] scale(1.250000e-01) :
func.func @latent(%q: tensor<?x16x?x512xf32>, %r: tensor<?x16x?x64xf32>, %c: tensor<?x1x?x512xf32>, %p: tensor<?x1x?x64xf32>) -> tensor<?x16x?x512xf32> {
  %first = attn.score %q, %c scale(0.125) : tensor<?x16x?x512xf32>, tensor<?x1x?x512xf32> -> tensor<?x16x?x?xf32>
  %second = attn.score %r, %p scale(0.125) : tensor<?x16x?x64xf32>, tensor<?x1x?x64xf32> -> tensor<?x16x?x?xf32>
  %sum = arith.addf %second, %first : tensor<?x16x?x?xf32>
  %prob = attn.softmax %sum : tensor<?x16x?x?xf32>
  %context = attn.context %prob, %c : tensor<?x16x?x?xf32>, tensor<?x1x?x512xf32> -> tensor<?x16x?x512xf32>
  return %context : tensor<?x16x?x512xf32>
}

// -----

// REMARK: remark: fused into attn.attention: scale 0.125, two scores as one of concatenated dims{{$}}
// CHECK-LABEL: func @other_values(
// CHECK: attn.attention {{%.*}}, {{%.*}}, %arg4 scale(1.250000e-01) :
func.func @other_values(%q: tensor<?x16x?x512xf32>, %r: tensor<?x16x?x64xf32>, %c: tensor<?x1x?x512xf32>, %p: tensor<?x1x?x64xf32>, %v: tensor<?x1x?x32xf32>) -> tensor<?x16x?x32xf32> {
  %first = attn.score %q, %c scale(0.125) : tensor<?x16x?x512xf32>, tensor<?x1x?x512xf32> -> tensor<?x16x?x?xf32>
  %second = attn.score %r, %p scale(0.125) : tensor<?x16x?x64xf32>, tensor<?x1x?x64xf32> -> tensor<?x16x?x?xf32>
  %sum = arith.addf %second, %first : tensor<?x16x?x?xf32>
  %prob = attn.softmax %sum : tensor<?x16x?x?xf32>
  %context = attn.context %prob, %v : tensor<?x16x?x?xf32>, tensor<?x1x?x32xf32> -> tensor<?x16x?x32xf32>
  return %context : tensor<?x16x?x32xf32>
}

// -----

// Scores of different scales, or of other key heads, stay apart: that of more heads, or more dims, is fused.
// REMARK: remark: fused into attn.attention: scale 0.125, score modification
// CHECK-LABEL: func @scales(
// CHECK: attn.score {{.*}} scale(2.500000e-01)
func.func @scales(%q: tensor<?x16x?x512xf32>, %r: tensor<?x16x?x64xf32>, %c: tensor<?x1x?x512xf32>, %p: tensor<?x1x?x64xf32>) -> tensor<?x16x?x512xf32> {
  %first = attn.score %q, %c scale(0.125) : tensor<?x16x?x512xf32>, tensor<?x1x?x512xf32> -> tensor<?x16x?x?xf32>
  %second = attn.score %r, %p scale(0.25) : tensor<?x16x?x64xf32>, tensor<?x1x?x64xf32> -> tensor<?x16x?x?xf32>
  %sum = arith.addf %second, %first : tensor<?x16x?x?xf32>
  %prob = attn.softmax %sum : tensor<?x16x?x?xf32>
  %context = attn.context %prob, %c : tensor<?x16x?x?xf32>, tensor<?x1x?x512xf32> -> tensor<?x16x?x512xf32>
  return %context : tensor<?x16x?x512xf32>
}

// -----

// REMARK: remark: fused into attn.attention: scale 0.125, score modification
// CHECK-LABEL: func @key_heads(
// CHECK: [[S:%.*]] = attn.score %arg1, %arg3
// CHECK: attn.attention %arg0, %arg2, %arg2
// CHECK: tensor.extract [[S]][%batch, %head, %q, %k]
func.func @key_heads(%q: tensor<?x16x?x48xf32>, %r: tensor<?x16x?x64xf32>, %c: tensor<?x16x?x48xf32>, %p: tensor<?x1x?x64xf32>) -> tensor<?x16x?x48xf32> {
  %first = attn.score %q, %c scale(0.125) : tensor<?x16x?x48xf32>, tensor<?x16x?x48xf32> -> tensor<?x16x?x?xf32>
  %second = attn.score %r, %p scale(0.125) : tensor<?x16x?x64xf32>, tensor<?x1x?x64xf32> -> tensor<?x16x?x?xf32>
  %sum = arith.addf %second, %first : tensor<?x16x?x?xf32>
  %prob = attn.softmax %sum : tensor<?x16x?x?xf32>
  %context = attn.context %prob, %c : tensor<?x16x?x?xf32>, tensor<?x16x?x48xf32> -> tensor<?x16x?x48xf32>
  return %context : tensor<?x16x?x48xf32>
}

// -----

// One row for each key: the copy of the keys would cost more than it saves.
// REMARK: remark: fused into attn.attention: scale 0.125, score modification
// CHECK-LABEL: func @one_row(
// CHECK: attn.score %arg1, %arg3
func.func @one_row(%q: tensor<1x16x1x512xf32>, %r: tensor<1x16x1x64xf32>, %c: tensor<1x16x?x512xf32>, %p: tensor<1x16x?x64xf32>) -> tensor<1x16x1x512xf32> {
  %first = attn.score %q, %c scale(0.125) : tensor<1x16x1x512xf32>, tensor<1x16x?x512xf32> -> tensor<1x16x1x?xf32>
  %second = attn.score %r, %p scale(0.125) : tensor<1x16x1x64xf32>, tensor<1x16x?x64xf32> -> tensor<1x16x1x?xf32>
  %sum = arith.addf %second, %first : tensor<1x16x1x?xf32>
  %prob = attn.softmax %sum : tensor<1x16x1x?xf32>
  %context = attn.context %prob, %c : tensor<1x16x1x?xf32>, tensor<1x16x?x512xf32> -> tensor<1x16x1x512xf32>
  return %context : tensor<1x16x1x512xf32>
}

// -----

// REMARK: remark: fused into attn.attention: scale 0.125, score modification
// CHECK-LABEL: func @difference(
// CHECK: attn.score
func.func @difference(%q: tensor<?x16x?x512xf32>, %r: tensor<?x16x?x64xf32>, %c: tensor<?x1x?x512xf32>, %p: tensor<?x1x?x64xf32>) -> tensor<?x16x?x512xf32> {
  %first = attn.score %q, %c scale(0.125) : tensor<?x16x?x512xf32>, tensor<?x1x?x512xf32> -> tensor<?x16x?x?xf32>
  %second = attn.score %r, %p scale(0.125) : tensor<?x16x?x64xf32>, tensor<?x1x?x64xf32> -> tensor<?x16x?x?xf32>
  %sum = arith.subf %second, %first : tensor<?x16x?x?xf32>
  %prob = attn.softmax %sum : tensor<?x16x?x?xf32>
  %context = attn.context %prob, %c : tensor<?x16x?x?xf32>, tensor<?x1x?x512xf32> -> tensor<?x16x?x512xf32>
  return %context : tensor<?x16x?x512xf32>
}

// -----

// Products that a graph adds are scores, too, through whatever moves them.
// REMARK: remark: fused into attn.attention: scale 1, two scores as one of concatenated dims, values in the keys
// CHECK-LABEL: func @products(
// CHECK-NOT: attn.matmul
func.func @products(%q: tensor<16x12x512xf32>, %r: tensor<16x12x64xf32>, %c: tensor<1x40x512xf32>, %p: tensor<1x40x64xf32>) -> tensor<1x192x512xf32> {
  %flat = tensor.collapse_shape %q [[0, 1], [2]] : tensor<16x12x512xf32> into tensor<192x512xf32>
  %rows = tensor.expand_shape %flat [[0, 1], [2]] output_shape [1, 192, 512] : tensor<192x512xf32> into tensor<1x192x512xf32>
  %flat_r = tensor.collapse_shape %r [[0, 1], [2]] : tensor<16x12x64xf32> into tensor<192x64xf32>
  %rows_r = tensor.expand_shape %flat_r [[0, 1], [2]] output_shape [1, 192, 64] : tensor<192x64xf32> into tensor<1x192x64xf32>
  %ct = attn.transpose %c [0, 2, 1] : tensor<1x40x512xf32> -> tensor<1x512x40xf32>
  %pt = attn.transpose %p [0, 2, 1] : tensor<1x40x64xf32> -> tensor<1x64x40xf32>
  %a = attn.matmul %rows, %ct : tensor<1x192x512xf32>, tensor<1x512x40xf32> -> tensor<1x192x40xf32>
  %b = attn.matmul %rows_r, %pt : tensor<1x192x64xf32>, tensor<1x64x40xf32> -> tensor<1x192x40xf32>
  %wide_a = tensor.expand_shape %a [[0], [1, 2], [3]] output_shape [1, 16, 12, 40] : tensor<1x192x40xf32> into tensor<1x16x12x40xf32>
  %wide_b = tensor.expand_shape %b [[0], [1, 2], [3]] output_shape [1, 16, 12, 40] : tensor<1x192x40xf32> into tensor<1x16x12x40xf32>
  %sum = arith.addf %wide_a, %wide_b : tensor<1x16x12x40xf32>
  %wide = attn.softmax %sum : tensor<1x16x12x40xf32>
  %prob = tensor.collapse_shape %wide [[0], [1, 2], [3]] : tensor<1x16x12x40xf32> into tensor<1x192x40xf32>
  %context = attn.matmul %prob, %c : tensor<1x192x40xf32>, tensor<1x40x512xf32> -> tensor<1x192x512xf32>
  return %context : tensor<1x192x512xf32>
}
