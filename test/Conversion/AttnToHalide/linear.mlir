// RUN: attn-opt %s --attn-decompose --convert-attn-to-halide=target=x86-64-linux-avx2-fma | FileCheck %s
// RUN: attn-opt %s --attn-decompose --convert-attn-to-halide=target=x86-64-linux-opencl | FileCheck %s --check-prefix=GPU

// A constant weight is laid out while compiling: panels of 16 features, here one and a half,
// with zeros behind the last, the same for one row and for many. The weight as it was is not
// kept.
// CHECK-LABEL: halide.pipeline @packed_linear_0
// CHECK: halide.input "panels" [16, 2, 2]
// CHECK-NOT: halide.func "panels"
// CHECK: halide.bound_extent %sum, 2 extent 1 :
// CHECK: memref.global "private" constant @packed_constant_0 : memref<2x2x16xf32> = dense_resource<panels>
// CHECK-LABEL: halide.pipeline @packed_linear_1
// CHECK: halide.bound_extent %sum, 2 extent 6 :
// CHECK-NOT: memref.global
// Many rows are tiles of a GPU's blocks.
// GPU-LABEL: halide.pipeline @packed_linear_1
// GPU: halide.gpu_block
// GPU: halide.store_in %sum, register
// GPU: halide.store_in %input_tile, gpu_shared
// GPU: halide.store_in %weight_tile, gpu_shared
// CHECK-LABEL: func.func @packed(
// CHECK: %[[PANELS:.*]] = memref.get_global @packed_constant_0
// CHECK: host.call @packed_linear_0(%arg0, %[[PANELS]], %arg1) if(%{{.*}})
// CHECK: host.call @packed_linear_1(%arg0, %[[PANELS]], %arg1) if(%{{.*}})
func.func @packed(%x: tensor<?x2xf32>) -> tensor<?x17xf32> {
  %w = arith.constant dense<[[ 0.0, 100.0], [ 1.0, 101.0], [ 2.0, 102.0], [ 3.0, 103.0],
                             [ 4.0, 104.0], [ 5.0, 105.0], [ 6.0, 106.0], [ 7.0, 107.0],
                             [ 8.0, 108.0], [ 9.0, 109.0], [10.0, 110.0], [11.0, 111.0],
                             [12.0, 112.0], [13.0, 113.0], [14.0, 114.0], [15.0, 115.0],
                             [16.0, 116.0]]> : tensor<17x2xf32>
  %y = attn.linear %x, %w : tensor<?x2xf32>, tensor<17x2xf32> -> tensor<?x17xf32>
  return %y : tensor<?x17xf32>
}

// A weight that is an argument is laid out in every call.
// CHECK-LABEL: halide.pipeline @unpacked_linear_0
// CHECK: halide.input "weight" [2, 17]
// CHECK: halide.func "panels"
func.func @unpacked(%x: tensor<?x2xf32>, %w: tensor<17x2xf32>) -> tensor<?x17xf32> {
  %y = attn.linear %x, %w : tensor<?x2xf32>, tensor<17x2xf32> -> tensor<?x17xf32>
  return %y : tensor<?x17xf32>
}

// A few rows read it in place.
// CHECK-LABEL: halide.pipeline @in_place_linear_0
// CHECK: %[[WEIGHT:.*]] = halide.input "weight" [16, 17]
// CHECK-NOT: halide.func "panels"
// CHECK: halide.rfactor
// CHECK-LABEL: halide.pipeline @in_place_linear_1
// CHECK: halide.func "panels"
func.func @in_place(%x: tensor<?x16xf32>, %w: tensor<17x16xf32>) -> tensor<?x17xf32> {
  %y = attn.linear %x, %w : tensor<?x16xf32>, tensor<17x16xf32> -> tensor<?x17xf32>
  return %y : tensor<?x17xf32>
}

// Layers of one shape share their pipeline, each with its own weight. Rows known while
// compiling leave nothing to choose.
// CHECK-LABEL: halide.pipeline @layers_linear_0
// CHECK-NOT: halide.pipeline
// CHECK-LABEL: func.func @layers(
// CHECK: host.call @layers_linear_0(%arg0, %[[FIRST:.*]], %[[HIDDEN:.*]]) :
// CHECK: host.call @layers_linear_0(%[[HIDDEN]], %[[SECOND:.*]], %arg1) :
func.func @layers(%x: tensor<9x2xf32>) -> tensor<9x2xf32> {
  %w0 = arith.constant dense<1.0> : tensor<2x2xf32>
  %w1 = arith.constant dense<2.0> : tensor<2x2xf32>
  %h = attn.linear %x, %w0 : tensor<9x2xf32>, tensor<2x2xf32> -> tensor<9x2xf32>
  %y = attn.linear %h, %w1 : tensor<9x2xf32>, tensor<2x2xf32> -> tensor<9x2xf32>
  return %y : tensor<9x2xf32>
}

// Heads that alone read a product, and that are no narrower than a panel, are stored as such; others are a view.
// CHECK-LABEL: halide.pipeline @heads_linear_0
// CHECK: halide.output %result [64, ?, 2, ?]
// CHECK-LABEL: func.func @heads(
// CHECK: host.call @heads_linear_0(%arg0, %{{.*}}, %arg1) if(
// CHECK-LABEL: halide.pipeline @narrow_heads_linear_0
// CHECK: halide.output %result [24, ?, ?]
// CHECK-LABEL: func.func @narrow_heads(
// CHECK: memref.transpose
func.func @heads(%x: tensor<?x?x20xf32>) -> tensor<?x2x?x64xf32> {
  %w = arith.constant dense<1.0> : tensor<128x20xf32>
  %y = attn.linear %x, %w schedule([#attn.linear<row_tile = 6, vectors = 2, vector_width = 8, row_block = 96>])
      : tensor<?x?x20xf32>, tensor<128x20xf32> -> tensor<?x?x128xf32>
  %h = attn.split_heads %y num_heads(2) : tensor<?x?x128xf32> -> tensor<?x2x?x64xf32>
  return %h : tensor<?x2x?x64xf32>
}
func.func @narrow_heads(%x: tensor<?x?x20xf32>) -> tensor<?x2x?x12xf32> {
  %w = arith.constant dense<1.0> : tensor<24x20xf32>
  %y = attn.linear %x, %w schedule([#attn.linear<row_tile = 6, vectors = 2, vector_width = 8, row_block = 96>])
      : tensor<?x?x20xf32>, tensor<24x20xf32> -> tensor<?x?x24xf32>
  %h = attn.split_heads %y num_heads(2) : tensor<?x?x24xf32> -> tensor<?x2x?x12xf32>
  return %h : tensor<?x2x?x12xf32>
}

// Maps that alone read a product are part of its pipeline, which is called where they end.
// CHECK-LABEL: halide.pipeline @epilogue_linear_0
// CHECK: halide.input "bias" [3]
// CHECK: %[[OPERAND:.*]] = halide.input "operand{{.*}}" [3, ?]
// CHECK: %result = halide.func "result"
// CHECK: math.tanh
// CHECK: halide.at %[[OPERAND]]
// CHECK: arith.mulf
// CHECK-LABEL: func.func @epilogue(
// CHECK-COUNT-1: host.call
// CHECK-NOT: host.call
func.func @epilogue(%x: tensor<?x2xf32>, %w: tensor<3x2xf32>, %b: tensor<3xf32>,
                    %y: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %h = attn.linear %x, %w, %b : tensor<?x2xf32>, tensor<3x2xf32>, tensor<3xf32> -> tensor<?x3xf32>
  %t = attn.map %h {
  ^bb0(%a: f32):
    %r = math.tanh %a : f32
    attn.yield %r : f32
  } : tensor<?x3xf32> -> tensor<?x3xf32>
  %p = attn.map %y, %t {
  ^bb0(%a: f32, %c: f32):
    %r = arith.mulf %a, %c : f32
    attn.yield %r : f32
  } : tensor<?x3xf32>, tensor<?x3xf32> -> tensor<?x3xf32>
  return %p : tensor<?x3xf32>
}

// What something else reads as well, or a map repeats, is computed by itself.
// CHECK-LABEL: func.func @read_twice(
// CHECK: host.call @read_twice_linear_0
// CHECK: host.call @read_twice_map_1
// CHECK-LABEL: func.func @repeated(
// CHECK: host.call @repeated_linear_0
// CHECK: host.call @repeated_map_1
func.func @read_twice(%x: tensor<2x2xf32>, %w: tensor<3x2xf32>)
    -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %h = attn.linear %x, %w : tensor<2x2xf32>, tensor<3x2xf32> -> tensor<2x3xf32>
  %t = attn.map %h {
  ^bb0(%a: f32):
    %r = math.tanh %a : f32
    attn.yield %r : f32
  } : tensor<2x3xf32> -> tensor<2x3xf32>
  return %h, %t : tensor<2x3xf32>, tensor<2x3xf32>
}
func.func @repeated(%x: tensor<1x2xf32>, %w: tensor<3x2xf32>, %y: tensor<4x3xf32>)
    -> tensor<4x3xf32> {
  %h = attn.linear %x, %w : tensor<1x2xf32>, tensor<3x2xf32> -> tensor<1x3xf32>
  %t = attn.map %h, %y {
  ^bb0(%a: f32, %c: f32):
    %r = arith.mulf %a, %c : f32
    attn.yield %r : f32
  } : tensor<1x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
  return %t : tensor<4x3xf32>
}

// A map of two products is computed with one of them, once the other one is there.
// CHECK-LABEL: func.func @joined(
// CHECK: host.call @joined_linear_0
// CHECK: host.call @joined_linear_1
// CHECK-NOT: host.call
func.func @joined(%x: tensor<2x2xf32>, %w: tensor<3x2xf32>, %v: tensor<3x2xf32>)
    -> tensor<2x3xf32> {
  %h = attn.linear %x, %w : tensor<2x2xf32>, tensor<3x2xf32> -> tensor<2x3xf32>
  %g = attn.linear %x, %v : tensor<2x2xf32>, tensor<3x2xf32> -> tensor<2x3xf32>
  %t = attn.map %h, %g {
  ^bb0(%a: f32, %c: f32):
    %r = arith.addf %a, %c : f32
    attn.yield %r : f32
  } : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  return %t : tensor<2x3xf32>
}

// Each row of a panel is one k: features side by side. 0x3F80 is 1, 0x42C8 is 100.
// CHECK: panels: "0x04000000000000000000803F00000040{{[0-9A-F]+}}000070410000C8420000CA42
// CHECK-SAME: 0000E6420000804100000000
