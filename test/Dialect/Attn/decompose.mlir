// RUN: attn-opt %s --attn-decompose | FileCheck %s

// An attention that no fused kernel serves is computed stage by stage.
// CHECK-LABEL: @attention
// CHECK-NOT: attn.attention
// CHECK: %[[SCORE:.*]] = attn.score %arg0, %arg1 scale(5.000000e-01)
// CHECK: %[[MASKED:.*]] = attn.mask %[[SCORE]]
// CHECK: %[[PROB:.*]] = attn.softmax %[[MASKED]]
// CHECK: %[[CONTEXT:.*]] = attn.context %[[PROB]], %arg2
// CHECK: return %[[CONTEXT]]
func.func @attention(%q: tensor<1x2x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x8xf32>) -> tensor<1x2x3x8xf32> {
  %c = attn.attention %q, %k, %v scale(0.5) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %in = arith.cmpi sle, %j, %i : index
    attn.yield %in : i1
  } : tensor<1x2x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32> -> tensor<1x2x3x8xf32>
  return %c : tensor<1x2x3x8xf32>
}

// Strides are taken from offset 0 on, of a slice without any.
// CHECK-LABEL: @strided
// CHECK: %[[SPAN:.*]] = tensor.extract_slice %arg0[1, 0] [7, 4] [1, 1]
// CHECK: tensor.extract_slice %[[SPAN]][0, 0] [4, 4] [2, 1]
func.func @strided(%x: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %s = tensor.extract_slice %x[1, 0] [4, 4] [2, 1] : tensor<8x4xf32> to tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// A row alone is a matrix of one row.
// CHECK-LABEL: @row
// CHECK: tensor.expand_shape %arg0
// CHECK: attn.linear {{.*}} tensor<1x8xf32>
// CHECK: tensor.collapse_shape
func.func @row(%x: tensor<8xf32>, %w: tensor<4x8xf32>) -> tensor<4xf32> {
  %y = attn.linear %x, %w : tensor<8xf32>, tensor<4x8xf32> -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: @splat
// CHECK: tensor.generate
func.func @splat(%x: f32) -> tensor<4xf32> {
  %y = tensor.splat %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: @csr
// CHECK: attn.gather_pages %arg1[%arg2] offsets(%arg3 : tensor<4xi32>) layout(heads_first) : tensor<?x2x16x8xf64>, tensor<?xi32> -> tensor<3x2x?x8xf64>
func.func @csr(%q: tensor<3x4x3x8xf64>, %k: tensor<?x2x16x8xf64>, %t: tensor<?xi32>, %o: tensor<4xi32>) -> tensor<3x4x3x8xf64> {
  %c = attn.attention %q, %k, %k pages(%t : tensor<?xi32>) page_offsets(%o : tensor<4xi32>)
      : tensor<3x4x3x8xf64>, tensor<?x2x16x8xf64>, tensor<?x2x16x8xf64> -> tensor<3x4x3x8xf64>
  return %c : tensor<3x4x3x8xf64>
}

// Without a kernel, keys and values are gathered.
// CHECK-LABEL: @pages
// CHECK: %[[KEY:.*]] = attn.gather_pages %arg1[%arg3] lengths(%arg4 : tensor<?xi32>) layout(heads_first) : tensor<?x2x16x8xf64>, tensor<?x5xi32> -> tensor<?x2x80x8xf64>
// CHECK: %[[VALUE:.*]] = attn.gather_pages %arg2[%arg3]
// CHECK: attn.score %arg0, %[[KEY]]
// CHECK: attn.context %{{.*}}, %[[VALUE]]
func.func @pages(%q: tensor<?x4x3x8xf64>, %k: tensor<?x2x16x8xf64>, %v: tensor<?x2x16x8xf64>,
                 %t: tensor<?x5xi32>, %n: tensor<?xi32>) -> tensor<?x4x3x8xf64> {
  %c = attn.attention %q, %k, %v pages(%t : tensor<?x5xi32>) lengths(%n : tensor<?xi32>)
      : tensor<?x4x3x8xf64>, tensor<?x2x16x8xf64>, tensor<?x2x16x8xf64> -> tensor<?x4x3x8xf64>
  return %c : tensor<?x4x3x8xf64>
}

// Rows with several scales are split into their blocks.
// CHECK-LABEL: @quantized
// CHECK: %[[BLOCKS:.*]] = tensor.expand_shape %arg0 {{.*}} into tensor<?x2x?x4x32xf32>
// CHECK: %[[LARGEST:.*]] = attn.reduce max %{{.*}} axes [-1] : tensor<?x2x?x4x32xf32>
// CHECK: %[[SCALES:.*]] = attn.map %[[LARGEST]]
// CHECK: arith.divf
// CHECK: %[[ROUNDED:.*]] = attn.map %[[BLOCKS]], %{{.*}} {
// CHECK: math.roundeven
// CHECK: tensor.collapse_shape %[[ROUNDED]] {{.*}} into tensor<?x2x?x128xi8>
func.func @quantized(%x: tensor<?x2x?x128xf32>) -> (tensor<?x2x?x128xi8>, tensor<?x2x?x4xf16>) {
  %q, %s = attn.quantize %x : tensor<?x2x?x128xf32> -> tensor<?x2x?x128xi8>, tensor<?x2x?x4xf16>
  return %q, %s : tensor<?x2x?x128xi8>, tensor<?x2x?x4xf16>
}

// Without a kernel, keys and values are widened before the score.
// CHECK-LABEL: @dequantized
// CHECK: %[[KEY:.*]] = attn.map %arg1, %arg2 {
// CHECK: arith.sitofp
// CHECK: arith.mulf
// CHECK: %[[VALUE:.*]] = attn.map %arg3 {
// CHECK: attn.score %arg0, %[[KEY]]
// CHECK: attn.context %{{.*}}, %[[VALUE]]
func.func @dequantized(%q: tensor<2x4x3x8xf32>, %k: tensor<2x2x5x8xi8>, %s: tensor<2x2x5x1xf32>,
                       %v: tensor<2x2x5x8xf16>) -> tensor<2x4x3x8xf32> {
  %c = attn.attention %q, %k, %v key_scales(%s : tensor<2x2x5x1xf32>)
      : tensor<2x4x3x8xf32>, tensor<2x2x5x8xi8>, tensor<2x2x5x8xf16> -> tensor<2x4x3x8xf32>
  return %c : tensor<2x4x3x8xf32>
}

// Packed rows are unpacked, and the results packed.
// CHECK-LABEL: @packed_rows
// CHECK: %[[KEYS:.*]] = tensor.collapse_shape
// CHECK: %[[KEY:.*]] = attn.unpack_rows %[[KEYS]] offsets(%arg3) : tensor<?x2x8xf64>, tensor<3xi32> -> tensor<2x2x?x8xf64>
// CHECK: %[[QUERY:.*]] = attn.unpack_rows %{{.*}} offsets(%arg2) : tensor<9x4x8xf64>, tensor<3xi32> -> tensor<2x4x9x8xf64>
// CHECK: attn.score %[[QUERY]], %[[KEY]]
// CHECK: %[[CONTEXT:.*]] = attn.context
// CHECK: attn.pack_rows %[[CONTEXT]] offsets(%arg2) : tensor<2x4x9x8xf64>, tensor<3xi32> -> tensor<9x4x8xf64>
func.func @packed_rows(%q: tensor<1x4x9x8xf64>, %k: tensor<1x2x?x8xf64>, %o: tensor<3xi32>, %p: tensor<3xi32>) -> tensor<1x4x9x8xf64> {
  %c = attn.attention %q, %k, %k offsets(%o : tensor<3xi32>) kv_offsets(%p : tensor<3xi32>)
      : tensor<1x4x9x8xf64>, tensor<1x2x?x8xf64>, tensor<1x2x?x8xf64> -> tensor<1x4x9x8xf64>
  return %c : tensor<1x4x9x8xf64>
}

// Of the largest element of several dims, rows come first: their lanes are compared at once. Short rows don't.
// CHECK-LABEL: func @extremes(
// CHECK: %[[ROWS:.*]] = attn.reduce max %arg0 axes [2] : tensor<?x8x64xf32> -> tensor<?x8xf32>
// CHECK: attn.reduce max %[[ROWS]] axes [0] : tensor<?x8xf32> -> tensor<8xf32>
// CHECK: attn.reduce min %arg1 axes [0, 1] : tensor<?x8xf32> -> tensor<f32>
// CHECK: attn.reduce sum %arg0 axes [0, 2] : tensor<?x8x64xf32> -> tensor<8xf32>
func.func @extremes(%x: tensor<?x8x64xf32>, %y: tensor<?x8xf32>) -> (tensor<8xf32>, tensor<f32>, tensor<8xf32>) {
  %a = attn.reduce max %x axes [0, -1] : tensor<?x8x64xf32> -> tensor<8xf32>
  %b = attn.reduce min %y axes [0, 1] : tensor<?x8xf32> -> tensor<f32>
  %c = attn.reduce sum %x axes [0, 2] : tensor<?x8x64xf32> -> tensor<8xf32>
  return %a, %b, %c : tensor<8xf32>, tensor<f32>, tensor<8xf32>
}
