// RUN: attn-opt %s --attn-raise --canonicalize --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-raise --canonicalize --attn-fuse-attention --split-input-file | FileCheck %s --check-prefix=FUSED

// Scale, bias and softmax between two products of four dimensions.
// CHECK-LABEL: @plain
// CHECK:         %[[SCORE:.*]] = attn.score %arg0, %arg1 : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
// CHECK:         %[[MODIFIED:.*]] = attn.modify_score %[[SCORE]]
// CHECK:           tensor.extract %arg3[%head, %q, %k] {attn.same_size}
// CHECK:           arith.mulf %score
// CHECK:         %[[PROB:.*]] = attn.softmax %[[MODIFIED]]
// CHECK:         attn.context %[[PROB]], %arg2
// FUSED-LABEL: @plain
// FUSED:         attn.attention %arg0, %arg1, %arg2 scale(1.250000e-01) score_mod
func.func @plain(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>, %bias: tensor<8x?x?xf32>) -> tensor<?x8x?x64xf32> {
  %kt = attn.transpose %k [0, 1, 3, 2] : tensor<?x8x?x64xf32> -> tensor<?x8x64x?xf32>
  %s = attn.matmul %q, %kt : tensor<?x8x?x64xf32>, tensor<?x8x64x?xf32> -> tensor<?x8x?x?xf32>
  %b = attn.map %s, %bias {
  ^bb0(%x: f32, %y: f32):
    %scale = arith.constant 0.125 : f32
    %scaled = arith.mulf %x, %scale : f32
    %r = arith.addf %scaled, %y : f32
    attn.yield %r : f32
  } : tensor<?x8x?x?xf32>, tensor<8x?x?xf32> -> tensor<?x8x?x?xf32>
  %p = attn.softmax %b : tensor<?x8x?x?xf32>
  %c = attn.matmul %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %c : tensor<?x8x?x64xf32>
}

// -----

// A softmax written out, over scores that an additive mask of a map hides.
// CHECK-LABEL: @written_out
// CHECK-NOT:     attn.reduce
// CHECK-NOT:     math.exp
// CHECK:         %[[SCORE:.*]] = attn.score %arg0, %arg1
// CHECK:         %[[MODIFIED:.*]] = attn.modify_score %[[SCORE]]
// CHECK:           tensor.extract %arg3[%batch, %k]
// CHECK:           arith.uitofp
// CHECK:         attn.softmax %[[MODIFIED]]
// CHECK:         attn.context
// FUSED-LABEL: @written_out
// FUSED:         attn.attention
func.func @written_out(%q: tensor<2x4x5x8xf32>, %k: tensor<2x4x7x8xf32>, %v: tensor<2x4x7x3xf32>, %seen: tensor<2x7xi1>) -> tensor<2x4x5x3xf32> {
  %kt = attn.transpose %k [0, 1, 3, 2] : tensor<2x4x7x8xf32> -> tensor<2x4x8x7xf32>
  %s = attn.matmul %q, %kt : tensor<2x4x5x8xf32>, tensor<2x4x8x7xf32> -> tensor<2x4x5x7xf32>
  %wide = tensor.expand_shape %seen [[0, 1, 2], [3]] output_shape [2, 1, 1, 7] : tensor<2x7xi1> into tensor<2x1x1x7xi1>
  %mask = attn.map %wide {
  ^bb0(%x: i1):
    %low = arith.constant -1.0e9 : f32
    %one = arith.constant 1.0 : f32
    %seen1 = arith.uitofp %x : i1 to f32
    %hidden = arith.subf %one, %seen1 : f32
    %r = arith.mulf %hidden, %low : f32
    attn.yield %r : f32
  } : tensor<2x1x1x7xi1> -> tensor<2x1x1x7xf32>
  %m = attn.map %s, %mask {
  ^bb0(%x: f32, %y: f32):
    %r = arith.addf %x, %y : f32
    attn.yield %r : f32
  } : tensor<2x4x5x7xf32>, tensor<2x1x1x7xf32> -> tensor<2x4x5x7xf32>
  %most = attn.reduce max %m axes [-1] keep_dims : tensor<2x4x5x7xf32> -> tensor<2x4x5x1xf32>
  %e = attn.map %m, %most {
  ^bb0(%x: f32, %y: f32):
    %d = arith.subf %x, %y : f32
    %r = math.exp %d : f32
    attn.yield %r : f32
  } : tensor<2x4x5x7xf32>, tensor<2x4x5x1xf32> -> tensor<2x4x5x7xf32>
  %sum = attn.reduce sum %e axes [-1] keep_dims : tensor<2x4x5x7xf32> -> tensor<2x4x5x1xf32>
  %p = attn.map %e, %sum {
  ^bb0(%x: f32, %y: f32):
    %r = arith.divf %x, %y : f32
    attn.yield %r : f32
  } : tensor<2x4x5x7xf32>, tensor<2x4x5x1xf32> -> tensor<2x4x5x7xf32>
  %c = attn.matmul %p, %v : tensor<2x4x5x7xf32>, tensor<2x4x7x3xf32> -> tensor<2x4x5x3xf32>
  return %c : tensor<2x4x5x3xf32>
}

// -----

// Divided after the product, and nothing taken off before.
// CHECK-LABEL: @divided_after
// CHECK:         %[[SCORE:.*]] = attn.score %arg0, %arg1
// CHECK-NEXT:    %[[PROB:.*]] = attn.softmax %[[SCORE]]
// CHECK-NEXT:    attn.context %[[PROB]], %arg2
// CHECK-NEXT:    return
func.func @divided_after(%q: tensor<2x4x5x8xf32>, %k: tensor<2x4x7x8xf32>, %v: tensor<2x4x7x3xf32>) -> tensor<2x4x5x3xf32> {
  %kt = attn.transpose %k [0, 1, 3, 2] : tensor<2x4x7x8xf32> -> tensor<2x4x8x7xf32>
  %s = attn.matmul %q, %kt : tensor<2x4x5x8xf32>, tensor<2x4x8x7xf32> -> tensor<2x4x5x7xf32>
  %e = math.exp %s : tensor<2x4x5x7xf32>
  %sum = attn.reduce sum %e axes [3] : tensor<2x4x5x7xf32> -> tensor<2x4x5xf32>
  %kept = tensor.expand_shape %sum [[0], [1], [2, 3]] output_shape [2, 4, 5, 1] : tensor<2x4x5xf32> into tensor<2x4x5x1xf32>
  %w = attn.matmul %e, %v : tensor<2x4x5x7xf32>, tensor<2x4x7x3xf32> -> tensor<2x4x5x3xf32>
  %c = attn.map %w, %kept {
  ^bb0(%x: f32, %y: f32):
    %r = arith.divf %x, %y : f32
    attn.yield %r : f32
  } : tensor<2x4x5x3xf32>, tensor<2x4x5x1xf32> -> tensor<2x4x5x3xf32>
  return %c : tensor<2x4x5x3xf32>
}

// -----

// What was taken off along another dimension than the sum matters: no softmax.
// CHECK-LABEL: @shifted_across
// CHECK:         attn.reduce max
// CHECK-NOT:     attn.softmax
// CHECK:         return
func.func @shifted_across(%x: tensor<4x5xf32>, %w: tensor<5x4xf32>) -> tensor<4x4xf32> {
  %s = attn.matmul %x, %w : tensor<4x5xf32>, tensor<5x4xf32> -> tensor<4x4xf32>
  %most = attn.reduce max %s axes [0] keep_dims : tensor<4x4xf32> -> tensor<1x4xf32>
  %e = attn.map %s, %most {
  ^bb0(%a: f32, %b: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp %d : f32
    attn.yield %r : f32
  } : tensor<4x4xf32>, tensor<1x4xf32> -> tensor<4x4xf32>
  %sum = attn.reduce sum %e axes [1] keep_dims : tensor<4x4xf32> -> tensor<4x1xf32>
  %p = attn.map %e, %sum {
  ^bb0(%a: f32, %b: f32):
    %r = arith.divf %a, %b : f32
    attn.yield %r : f32
  } : tensor<4x4xf32>, tensor<4x1xf32> -> tensor<4x4xf32>
  return %p : tensor<4x4xf32>
}

// -----

// A module: heads split off projections, batch and heads one dimension for the products, a
// mask over both apart, and heads merged. The layers' weights are transposed here.
// CHECK-LABEL: @module
// CHECK-DAG:     %[[WEIGHT:.*]] = arith.constant dense<{{\[\[}}0.000000e+00, 4.000000e+00
// CHECK-DAG:     %[[BIAS:.*]] = arith.constant dense<5.000000e-01> : tensor<4xf32>
// CHECK:         %[[LAYER:.*]] = attn.linear %arg0, %[[WEIGHT]], %[[BIAS]]
// CHECK:         %[[HEADS:.*]] = attn.split_heads %[[LAYER]] num_heads(2) : tensor<?x?x4xf32> -> tensor<?x2x?x2xf32>
// CHECK:         %[[SCORE:.*]] = attn.score %[[HEADS]], %[[HEADS]]
// CHECK:         attn.modify_score %[[SCORE]]
// CHECK-NOT:       arith.remui
// CHECK:           tensor.extract %arg1[%batch, %k]
// CHECK:         attn.softmax
// CHECK:         %[[CONTEXT:.*]] = attn.context
// CHECK:         attn.merge_heads %[[CONTEXT]] : tensor<?x2x?x2xf32> -> tensor<?x?x4xf32>
// FUSED-LABEL: @module
// FUSED:         attn.attention
func.func @module(%x: tensor<?x?x4xf32>, %bias: tensor<?x?xf32>) -> tensor<?x?x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %x, %c0 : tensor<?x?x4xf32>
  %len = tensor.dim %x, %c1 : tensor<?x?x4xf32>
  %w = arith.constant dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0], [12.0, 13.0, 14.0, 15.0]]> : tensor<4x4xf32>
  %row = arith.constant dense<0.5> : tensor<4xf32>
  %product = attn.matmul %x, %w : tensor<?x?x4xf32>, tensor<4x4xf32> -> tensor<?x?x4xf32>
  %y = attn.map %product, %row {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    attn.yield %r : f32
  } : tensor<?x?x4xf32>, tensor<4xf32> -> tensor<?x?x4xf32>
  %apart = tensor.expand_shape %y [[0], [1], [2, 3]] output_shape [%batch, %len, 2, 2] : tensor<?x?x4xf32> into tensor<?x?x2x2xf32>
  %h = attn.transpose %apart [0, 2, 1, 3] : tensor<?x?x2x2xf32> -> tensor<?x2x?x2xf32>
  %flat = tensor.collapse_shape %h [[0, 1], [2], [3]] : tensor<?x2x?x2xf32> into tensor<?x?x2xf32>
  %kt = attn.transpose %flat [0, 2, 1] : tensor<?x?x2xf32> -> tensor<?x2x?xf32>
  %s = attn.matmul %flat, %kt : tensor<?x?x2xf32>, tensor<?x2x?xf32> -> tensor<?x?x?xf32>
  %s4 = tensor.expand_shape %s [[0, 1], [2], [3]] output_shape [%batch, 2, %len, %len] : tensor<?x?x?xf32> into tensor<?x2x?x?xf32>
  %bias4 = tensor.expand_shape %bias [[0, 1, 2], [3]] output_shape [%batch, 1, 1, %len] : tensor<?x?xf32> into tensor<?x1x1x?xf32>
  %m = attn.map %s4, %bias4 {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    attn.yield %r : f32
  } : tensor<?x2x?x?xf32>, tensor<?x1x1x?xf32> -> tensor<?x2x?x?xf32>
  %s3 = tensor.collapse_shape %m [[0, 1], [2], [3]] : tensor<?x2x?x?xf32> into tensor<?x?x?xf32>
  %p = attn.softmax %s3 : tensor<?x?x?xf32>
  %c = attn.matmul %p, %flat : tensor<?x?x?xf32>, tensor<?x?x2xf32> -> tensor<?x?x2xf32>
  %c4 = tensor.expand_shape %c [[0, 1], [2], [3]] output_shape [%batch, 2, %len, 2] : tensor<?x?x2xf32> into tensor<?x2x?x2xf32>
  %back = attn.transpose %c4 [0, 2, 1, 3] : tensor<?x2x?x2xf32> -> tensor<?x?x2x2xf32>
  %out = tensor.collapse_shape %back [[0], [1], [2, 3]] : tensor<?x?x2x2xf32> into tensor<?x?x4xf32>
  return %out : tensor<?x?x4xf32>
}

// -----

// One batch and one head, the probs scaled on their way.
// CHECK-LABEL: @matrices
// CHECK:         attn.score %{{.*}}, %{{.*}} : tensor<1x1x5x8xf32>, tensor<1x1x7x8xf32> -> tensor<1x1x5x7xf32>
// CHECK:         attn.softmax
// CHECK:         attn.modify_prob
// CHECK:         attn.context
// FUSED-LABEL: @matrices
// FUSED:         attn.attention
func.func @matrices(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x3xf32>) -> tensor<5x3xf32> {
  %kt = attn.transpose %k [1, 0] : tensor<7x8xf32> -> tensor<8x7xf32>
  %s = attn.matmul %q, %kt : tensor<5x8xf32>, tensor<8x7xf32> -> tensor<5x7xf32>
  %p = attn.softmax %s : tensor<5x7xf32>
  %half = arith.constant dense<0.5> : tensor<5x7xf32>
  %d = arith.mulf %p, %half : tensor<5x7xf32>
  %c = attn.matmul %d, %v : tensor<5x7xf32>, tensor<7x3xf32> -> tensor<5x3xf32>
  return %c : tensor<5x3xf32>
}

// -----

// Groups of query heads share a head of key and value, as a dimension of their own.
// CHECK-LABEL: @groups
// CHECK:         attn.score %{{.*}}, %{{.*}} : tensor<2x6x5x8xf32>, tensor<2x2x7x8xf32> -> tensor<2x6x5x7xf32>
// CHECK:         attn.context %{{.*}}, %{{.*}} : tensor<2x6x5x7xf32>, tensor<2x2x7x8xf32> -> tensor<2x6x5x8xf32>
// FUSED-LABEL: @groups
// FUSED:         attn.attention
func.func @groups(%q: tensor<2x2x3x5x8xf32>, %k: tensor<2x2x1x7x8xf32>) -> tensor<2x2x3x5x8xf32> {
  %kt = attn.transpose %k [0, 1, 2, 4, 3] : tensor<2x2x1x7x8xf32> -> tensor<2x2x1x8x7xf32>
  %s = attn.matmul %q, %kt : tensor<2x2x3x5x8xf32>, tensor<2x2x1x8x7xf32> -> tensor<2x2x3x5x7xf32>
  %p = attn.softmax %s : tensor<2x2x3x5x7xf32>
  %c = attn.matmul %p, %k : tensor<2x2x3x5x7xf32>, tensor<2x2x1x7x8xf32> -> tensor<2x2x3x5x8xf32>
  return %c : tensor<2x2x3x5x8xf32>
}

// -----

// Keys in the rows: the right side is the query.
// CHECK-LABEL: @keys_in_rows
// CHECK:         %[[SCORE:.*]] = attn.score %arg0, %arg1 : tensor<2x4x5x8xf32>, tensor<2x4x7x8xf32> -> tensor<2x4x5x7xf32>
// CHECK-NEXT:    %[[PROB:.*]] = attn.softmax %[[SCORE]]
// CHECK-NEXT:    attn.context %[[PROB]], %arg1
func.func @keys_in_rows(%q: tensor<2x4x5x8xf32>, %k: tensor<2x4x7x8xf32>) -> tensor<2x4x5x8xf32> {
  %qt = attn.transpose %q [0, 1, 3, 2] : tensor<2x4x5x8xf32> -> tensor<2x4x8x5xf32>
  %s = attn.matmul %k, %qt : tensor<2x4x7x8xf32>, tensor<2x4x8x5xf32> -> tensor<2x4x7x5xf32>
  %p = attn.softmax %s axis(2) : tensor<2x4x7x5xf32>
  %pt = attn.transpose %p [0, 1, 3, 2] : tensor<2x4x7x5xf32> -> tensor<2x4x5x7xf32>
  %c = attn.matmul %pt, %k : tensor<2x4x5x7xf32>, tensor<2x4x7x8xf32> -> tensor<2x4x5x8xf32>
  return %c : tensor<2x4x5x8xf32>
}

// -----

// Classes of a layer are no keys, whether its weight is a constant or bound later.
// CHECK-LABEL: @classes
// CHECK-COUNT-2: attn.linear
// CHECK-NOT:     attn.score
func.func @classes(%x: tensor<5x2xf32>, %w: tensor<2x3xf32> {attn.weight = "w"}) -> (tensor<5x3xf32>, tensor<5x3xf32>) {
  %s = attn.matmul %x, %w : tensor<5x2xf32>, tensor<2x3xf32> -> tensor<5x3xf32>
  %p = attn.softmax %s : tensor<5x3xf32>
  %c = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %t = attn.matmul %x, %c : tensor<5x2xf32>, tensor<2x3xf32> -> tensor<5x3xf32>
  %u = attn.softmax %t : tensor<5x3xf32>
  return %p, %u : tensor<5x3xf32>, tensor<5x3xf32>
}

// -----

// A product of neither stays one.
// CHECK-LABEL: @product
// CHECK:         attn.matmul
func.func @product(%a: tensor<2x4x5x8xf32>, %b: tensor<4x8x3xf32>) -> tensor<2x4x5x3xf32> {
  %c = attn.matmul %a, %b : tensor<2x4x5x8xf32>, tensor<4x8x3xf32> -> tensor<2x4x5x3xf32>
  return %c : tensor<2x4x5x3xf32>
}

// -----

// A column beside the scores, taken off by its maximum, whose probs nobody takes: a sink.
// CHECK-LABEL: @sink
// CHECK:         %[[SCORE:.*]] = attn.score %arg0, %arg1
// CHECK:         %[[SINK:.*]] = tensor.collapse_shape %arg2 {{\[\[}}0], [1], [2, 3]] : tensor<1x2x1x1xf32> into tensor<1x2x1xf32>
// CHECK:         %[[PROB:.*]] = attn.softmax %[[SCORE]] sink(%[[SINK]] : tensor<1x2x1xf32>)
// CHECK-NEXT:    attn.context %[[PROB]], %arg1
// FUSED-LABEL: @sink
// FUSED:         attn.attention
func.func @sink(%q: tensor<1x2x3x8xf32>, %k: tensor<1x2x5x8xf32>, %sink: tensor<1x2x1x1xf32>) -> tensor<1x2x3x8xf32> {
  %c0 = arith.constant 0 : index
  %kt = attn.transpose %k [0, 1, 3, 2] : tensor<1x2x5x8xf32> -> tensor<1x2x8x5xf32>
  %s = attn.matmul %q, %kt : tensor<1x2x3x8xf32>, tensor<1x2x8x5xf32> -> tensor<1x2x3x5xf32>
  %column = tensor.generate {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = tensor.extract %sink[%c0, %h, %c0, %c0] : tensor<1x2x1x1xf32>
    tensor.yield %x : f32
  } : tensor<1x2x3x1xf32>
  %both = tensor.concat dim(3) %s, %column : (tensor<1x2x3x5xf32>, tensor<1x2x3x1xf32>) -> tensor<1x2x3x6xf32>
  %most = attn.reduce max %both axes [3] keep_dims : tensor<1x2x3x6xf32> -> tensor<1x2x3x1xf32>
  %shifted = attn.map %both, %most {
  ^bb0(%x: f32, %y: f32):
    %d = arith.subf %x, %y : f32
    attn.yield %d : f32
  } : tensor<1x2x3x6xf32>, tensor<1x2x3x1xf32> -> tensor<1x2x3x6xf32>
  %p = attn.softmax %shifted : tensor<1x2x3x6xf32>
  %own = tensor.extract_slice %p[0, 0, 0, 0] [1, 2, 3, 5] [1, 1, 1, 1] : tensor<1x2x3x6xf32> to tensor<1x2x3x5xf32>
  %c = attn.matmul %own, %k : tensor<1x2x3x5xf32>, tensor<1x2x5x8xf32> -> tensor<1x2x3x8xf32>
  return %c : tensor<1x2x3x8xf32>
}

// -----

// Heads of keys repeated for the query's: the score and the context share them.
// CHECK-LABEL: @repeated_heads
// CHECK:         attn.score %arg0, %arg1 : tensor<?x6x?x8xf32>, tensor<?x2x?x8xf32> -> tensor<?x6x?x?xf32>
// CHECK:         attn.context %{{.*}}, %arg1
// FUSED-LABEL: @repeated_heads
// FUSED:         attn.attention
func.func @repeated_heads(%q: tensor<?x6x?x8xf32>, %k: tensor<?x2x?x8xf32>) -> tensor<?x6x?x8xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %k, %c0 : tensor<?x2x?x8xf32>
  %len = tensor.dim %k, %c2 : tensor<?x2x?x8xf32>
  %wide = tensor.generate %batch, %len {
  ^bb0(%b: index, %h: index, %g: index, %j: index, %d: index):
    %x = tensor.extract %k[%b, %h, %j, %d] : tensor<?x2x?x8xf32>
    tensor.yield %x : f32
  } : tensor<?x2x3x?x8xf32>
  %r = tensor.collapse_shape %wide [[0], [1, 2], [3], [4]] : tensor<?x2x3x?x8xf32> into tensor<?x6x?x8xf32>
  %kt = attn.transpose %r [0, 1, 3, 2] : tensor<?x6x?x8xf32> -> tensor<?x6x8x?xf32>
  %s = attn.matmul %q, %kt : tensor<?x6x?x8xf32>, tensor<?x6x8x?xf32> -> tensor<?x6x?x?xf32>
  %p = attn.softmax %s : tensor<?x6x?x?xf32>
  %c = attn.matmul %p, %r : tensor<?x6x?x?xf32>, tensor<?x6x?x8xf32> -> tensor<?x6x?x8xf32>
  return %c : tensor<?x6x?x8xf32>
}

// -----

// Heads that are not read whole are others.
// CHECK-LABEL: @other_heads
// CHECK:         attn.score %arg0, %{{.*}} : tensor<?x6x?x8xf32>, tensor<?x6x?x8xf32> -> tensor<?x6x?x?xf32>
func.func @other_heads(%q: tensor<?x6x?x8xf32>, %k: tensor<?x2x?x8xf32>, %len: tensor<1xi64>) -> tensor<?x6x?x?xf32> {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %k, %c0 : tensor<?x2x?x8xf32>
  %own = tensor.extract %len[%c0] : tensor<1xi64>
  %size = arith.index_cast %own : i64 to index
  %wide = tensor.generate %batch, %size {
  ^bb0(%b: index, %h: index, %g: index, %j: index, %d: index):
    %x = tensor.extract %k[%b, %h, %j, %d] : tensor<?x2x?x8xf32>
    tensor.yield %x : f32
  } : tensor<?x2x3x?x8xf32>
  %r = tensor.collapse_shape %wide [[0], [1, 2], [3], [4]] : tensor<?x2x3x?x8xf32> into tensor<?x6x?x8xf32>
  %kt = attn.transpose %r [0, 1, 3, 2] : tensor<?x6x?x8xf32> -> tensor<?x6x8x?xf32>
  %s = attn.matmul %q, %kt : tensor<?x6x?x8xf32>, tensor<?x6x8x?xf32> -> tensor<?x6x?x?xf32>
  %p = attn.softmax %s : tensor<?x6x?x?xf32>
  return %p : tensor<?x6x?x?xf32>
}

// -----

// A causal mask as a formula of places, and scores that a formula reads at its own.
// CHECK-LABEL: @formulas
// CHECK-NOT:     tensor.generate
// CHECK:         attn.modify_score
// CHECK:           arith.cmpi sle, %k, %q
// CHECK:         attn.modify_score
// CHECK:         attn.softmax
// FUSED-LABEL: @formulas
// FUSED:         attn.attention {{.*}} score_mod
// FUSED:         mask
func.func @formulas(%q: tensor<?x4x?x8xf32>, %k: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %low = arith.constant 0xFF800000 : f32
  %batch = tensor.dim %q, %c0 : tensor<?x4x?x8xf32>
  %q_len = tensor.dim %q, %c2 : tensor<?x4x?x8xf32>
  %kv_len = tensor.dim %k, %c2 : tensor<?x4x?x8xf32>
  %seen = tensor.generate %q_len, %kv_len {
  ^bb0(%i: index, %j: index):
    %x = arith.cmpi sle, %j, %i : index
    tensor.yield %x : i1
  } : tensor<?x?xi1>
  %kt = attn.transpose %k [0, 1, 3, 2] : tensor<?x4x?x8xf32> -> tensor<?x4x8x?xf32>
  %s = attn.matmul %q, %kt : tensor<?x4x?x8xf32>, tensor<?x4x8x?xf32> -> tensor<?x4x?x?xf32>
  %m = attn.map %seen, %s {
  ^bb0(%x: i1, %y: f32):
    %r = arith.select %x, %y, %low : f32
    attn.yield %r : f32
  } : tensor<?x?xi1>, tensor<?x4x?x?xf32> -> tensor<?x4x?x?xf32>
  %t = tensor.generate %batch, %q_len, %kv_len {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = tensor.extract %m[%b, %h, %i, %j] : tensor<?x4x?x?xf32>
    %d = arith.subi %j, %i : index
    %n = arith.index_cast %d : index to i32
    %f = arith.sitofp %n : i32 to f32
    %r = arith.addf %x, %f : f32
    tensor.yield %r : f32
  } : tensor<?x4x?x?xf32>
  %p = attn.softmax %t : tensor<?x4x?x?xf32>
  %c = attn.matmul %p, %k : tensor<?x4x?x?xf32>, tensor<?x4x?x8xf32> -> tensor<?x4x?x8xf32>
  return %c : tensor<?x4x?x8xf32>
}

// -----

// The exponential of a softmax's logarithm.
// CHECK-LABEL: @log_softmax
// CHECK:         %[[PROB:.*]] = attn.softmax %{{.*}} : tensor<4x5xf32>
// CHECK-NEXT:    return %[[PROB]]
func.func @log_softmax(%a: tensor<4x3xf32>, %b: tensor<3x5xf32>) -> tensor<4x5xf32> {
  %zero = arith.constant 0.0 : f32
  %inf = arith.constant 0x7F800000 : f32
  %w = attn.transpose %b [1, 0] : tensor<3x5xf32> -> tensor<5x3xf32>
  %x = attn.linear %a, %w : tensor<4x3xf32>, tensor<5x3xf32> -> tensor<4x5xf32>
  %product = attn.matmul %a, %b : tensor<4x3xf32>, tensor<3x5xf32> -> tensor<4x5xf32>
  %most = attn.reduce max %x axes [1] keep_dims : tensor<4x5xf32> -> tensor<4x1xf32>
  %e = attn.map %x, %most {
  ^bb0(%y: f32, %m: f32):
    %abs = math.absf %m : f32
    %finite = arith.cmpf olt, %abs, %inf : f32
    %shift = arith.select %finite, %m, %zero : f32
    %d = arith.subf %y, %shift : f32
    %r = math.exp %d : f32
    attn.yield %r : f32
  } : tensor<4x5xf32>, tensor<4x1xf32> -> tensor<4x5xf32>
  %sum = attn.reduce sum %e axes [1] keep_dims : tensor<4x5xf32> -> tensor<4x1xf32>
  %p = attn.map %x, %most, %sum {
  ^bb0(%y: f32, %m: f32, %n: f32):
    %abs = math.absf %m : f32
    %finite = arith.cmpf olt, %abs, %inf : f32
    %shift = arith.select %finite, %m, %zero : f32
    %d = arith.subf %y, %shift : f32
    %l = math.log %n : f32
    %f = arith.subf %d, %l : f32
    %r = math.exp %f : f32
    attn.yield %r : f32
  } : tensor<4x5xf32>, tensor<4x1xf32>, tensor<4x1xf32> -> tensor<4x5xf32>
  return %p : tensor<4x5xf32>
}

// -----

// Heads that are known on one side alone can't be taken apart on the other.
// CHECK-LABEL: @half_known
// CHECK:         attn.matmul
// CHECK:         attn.softmax
// FUSED-LABEL: @half_known
// FUSED:         attn.matmul
func.func @half_known(%q: tensor<4x5x8xf32>, %k: tensor<?x8x7xf32>) -> tensor<4x5x7xf32> {
  %s = attn.matmul %q, %k : tensor<4x5x8xf32>, tensor<?x8x7xf32> -> tensor<4x5x7xf32>
  %p = attn.softmax %s : tensor<4x5x7xf32>
  return %p : tensor<4x5x7xf32>
}

// -----

// One batch, whose index a map does not read: the mask is the score's all the same.
// CHECK-LABEL: @one_batch
// CHECK:         attn.modify_score
// CHECK-NEXT:    ^bb0(%[[SCORE:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %[[Q:.*]]: index, %[[K:.*]]: index):
// CHECK-NEXT:      %[[BIAS:.*]] = tensor.extract %arg2[%[[Q]], %[[K]]]
// CHECK-NEXT:      arith.addf %[[SCORE]], %[[BIAS]]
// FUSED-LABEL: @one_batch
// FUSED:         attn.attention
func.func @one_batch(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x7x8xf32>, %bias: tensor<5x7xf32>) -> tensor<1x2x5x8xf32> {
  %s = attn.score %q, %k : tensor<1x2x5x8xf32>, tensor<1x2x7x8xf32> -> tensor<1x2x5x7xf32>
  %m = attn.map %s, %bias {
  ^bb0(%x: f32, %y: f32):
    %r = arith.addf %x, %y : f32
    attn.yield %r : f32
  } : tensor<1x2x5x7xf32>, tensor<5x7xf32> -> tensor<1x2x5x7xf32>
  %p = attn.softmax %m : tensor<1x2x5x7xf32>
  %c = attn.context %p, %k : tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32> -> tensor<1x2x5x8xf32>
  return %c : tensor<1x2x5x8xf32>
}

// -----

// A row's heads are heads, though a size of 1 stands between them later, and there is no product.
// CHECK-LABEL: @split_rows
// CHECK:         %[[HEADS:.*]] = attn.split_heads %arg0 num_heads(3) : tensor<2x?x24xf32> -> tensor<2x3x?x8xf32>
// CHECK:         tensor.expand_shape %[[HEADS]] {{\[}}[0], [1, 2], [3], [4]]
func.func @split_rows(%x: tensor<2x?x24xf32>) -> tensor<2x3x1x?x8xf32> {
  %c1 = arith.constant 1 : index
  %l = tensor.dim %x, %c1 : tensor<2x?x24xf32>
  %rows = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [2, %l, 3, 8] : tensor<2x?x24xf32> into tensor<2x?x3x8xf32>
  %heads = attn.transpose %rows [0, 2, 1, 3] : tensor<2x?x3x8xf32> -> tensor<2x3x?x8xf32>
  %wide = tensor.expand_shape %heads [[0], [1, 2], [3], [4]] output_shape [2, 3, 1, %l, 8] : tensor<2x3x?x8xf32> into tensor<2x3x1x?x8xf32>
  return %wide : tensor<2x3x1x?x8xf32>
}

// -----

// A transpose that moves nothing but a size of 1 moves nothing.
// CHECK-LABEL: @units
// CHECK-NOT:     attn.transpose
// CHECK:         %[[FLAT:.*]] = tensor.collapse_shape %arg0 {{\[}}[0, 1], [2]] : tensor<?x1x8xf32> into tensor<?x8xf32>
// CHECK:         tensor.expand_shape %[[FLAT]] {{\[}}[0, 1], [2]] output_shape [1, %{{.*}}, 8] : tensor<?x8xf32> into tensor<1x?x8xf32>
func.func @units(%x: tensor<?x1x8xf32>) -> tensor<1x?x8xf32> {
  %r = attn.transpose %x [1, 0, 2] : tensor<?x1x8xf32> -> tensor<1x?x8xf32>
  return %r : tensor<1x?x8xf32>
}

// -----

// What reads single elements reads them where they were.
// CHECK-LABEL: @elements
// CHECK-NOT:     attn.transpose
// CHECK:         ^bb0(%[[I:.*]]: index):
// CHECK:           tensor.extract %arg0[%[[I]], %{{.*}}] : tensor<5x3xf32>
func.func @elements(%x: tensor<5x3xf32>) -> tensor<5xf32> {
  %turned = attn.transpose %x [1, 0] : tensor<5x3xf32> -> tensor<3x5xf32>
  %r = tensor.generate {
  ^bb0(%i: index):
    %c2 = arith.constant 2 : index
    %e = tensor.extract %turned[%c2, %i] : tensor<3x5xf32>
    tensor.yield %e : f32
  } : tensor<5xf32>
  return %r : tensor<5xf32>
}

// -----

// A prob is scaled before an attn.context as before a product, and behind its dropout.
// CHECK-LABEL: @dropped
// CHECK:         %[[PROB:.*]] = attn.softmax
// CHECK:         %[[DROPPED:.*]] = attn.dropout %[[PROB]]
// CHECK:         %[[SCALED:.*]] = attn.modify_prob %[[DROPPED]]
// CHECK:         attn.context %[[SCALED]], %arg2
// FUSED-LABEL: @dropped
// FUSED:         attn.attention %arg0, %arg1, %arg2 prob_mod
func.func @dropped(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x7x8xf32>, %v: tensor<1x2x7x8xf32>, %seed: tensor<i64>) -> tensor<1x2x5x8xf32> {
  %half = arith.constant dense<0.5> : tensor<1x2x5x7xf32>
  %s = attn.score %q, %k : tensor<1x2x5x8xf32>, tensor<1x2x7x8xf32> -> tensor<1x2x5x7xf32>
  %p = attn.softmax %s : tensor<1x2x5x7xf32>
  %d = attn.dropout %p rate(0.25) seed(%seed : tensor<i64>) : tensor<1x2x5x7xf32>
  %scaled = arith.mulf %d, %half : tensor<1x2x5x7xf32>
  %c = attn.context %scaled, %v : tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32> -> tensor<1x2x5x8xf32>
  return %c : tensor<1x2x5x8xf32>
}

// -----

// Probs of scores that were widened alone and are rounded again are those of the scores.
// CHECK-LABEL: @between_casts
// CHECK-NOT:     f32
// CHECK:         %[[SCORE:.*]] = attn.score %arg0, %arg1 : tensor<2x3x5x8xbf16>
// CHECK:         %[[STEP:.*]] = attn.modify_score %[[SCORE]]
// CHECK:         %[[PROB:.*]] = attn.softmax %[[STEP]] : tensor<2x3x5x7xbf16>
// CHECK:         %[[TWICE:.*]] = attn.modify_prob %[[PROB]]
// CHECK:         attn.context %[[TWICE]], %arg2
// CHECK:         return
// FUSED-LABEL: @between_casts
// FUSED:         attn.attention %arg0, %arg1, %arg2 score_mod
func.func @between_casts(%q: tensor<2x3x5x8xbf16>, %k: tensor<2x3x7x8xbf16>, %v: tensor<2x3x7x8xbf16>, %bias: tensor<5x7xbf16>) -> tensor<2x3x5x8xbf16> {
  %kt = attn.transpose %k [0, 1, 3, 2] : tensor<2x3x7x8xbf16> -> tensor<2x3x8x7xbf16>
  %s = attn.matmul %q, %kt : tensor<2x3x5x8xbf16>, tensor<2x3x8x7xbf16> -> tensor<2x3x5x7xbf16>
  %wide = attn.map %s, %bias {
  ^bb0(%x: bf16, %y: bf16):
    %sum = arith.addf %x, %y : bf16
    %w = arith.extf %sum : bf16 to f32
    attn.yield %w : f32
  } : tensor<2x3x5x7xbf16>, tensor<5x7xbf16> -> tensor<2x3x5x7xf32>
  %p = attn.softmax %wide : tensor<2x3x5x7xf32>
  %half = attn.map %p {
  ^bb0(%x: f32):
    %t = arith.truncf %x : f32 to bf16
    %d = arith.addf %t, %t : bf16
    attn.yield %d : bf16
  } : tensor<2x3x5x7xf32> -> tensor<2x3x5x7xbf16>
  %c = attn.matmul %half, %v : tensor<2x3x5x7xbf16>, tensor<2x3x7x8xbf16> -> tensor<2x3x5x8xbf16>
  return %c : tensor<2x3x5x8xbf16>
}

// -----

// Another use of the probs keeps the softmax, and so does a type other than the scores'.
// CHECK-LABEL: @prob_in_f32
// CHECK:         attn.softmax {{.*}} : tensor<2x3x5x7xf32>
// CHECK:         attn.softmax {{.*}} : tensor<2x3x5x7xf32>
func.func @prob_in_f32(%s: tensor<2x3x5x7xbf16>) -> (tensor<2x3x5x7xf32>, tensor<2x3x5x7xbf16>, tensor<2x3x5x7xf16>) {
  %wide = arith.extf %s : tensor<2x3x5x7xbf16> to tensor<2x3x5x7xf32>
  %p = attn.softmax %wide : tensor<2x3x5x7xf32>
  %half = arith.truncf %p : tensor<2x3x5x7xf32> to tensor<2x3x5x7xbf16>
  %again = arith.extf %s : tensor<2x3x5x7xbf16> to tensor<2x3x5x7xf32>
  %r = attn.softmax %again axis(2) : tensor<2x3x5x7xf32>
  %other = arith.truncf %r : tensor<2x3x5x7xf32> to tensor<2x3x5x7xf16>
  return %p, %half, %other : tensor<2x3x5x7xf32>, tensor<2x3x5x7xbf16>, tensor<2x3x5x7xf16>
}

// -----

// Relative positions of rows and columns of an image, added to scores viewed in five dimensions.
// CHECK-LABEL: @relative_rows_and_columns
// CHECK:         %[[SCORE:.*]] = attn.score %{{.*}}, %{{.*}} : tensor<1x?x35x8xf32>
// CHECK:         %[[MODIFIED:.*]] = attn.modify_score %[[SCORE]]
// CHECK:           tensor.extract %arg3
// CHECK:           tensor.extract %arg4
// CHECK:         attn.softmax %[[MODIFIED]]
// CHECK:         attn.context
// FUSED-LABEL: @relative_rows_and_columns
// FUSED:         attn.attention {{.*}} score_mod
func.func @relative_rows_and_columns(%q: tensor<?x35x8xf32>, %k: tensor<?x35x8xf32>, %v: tensor<?x35x8xf32>, %rows: tensor<?x5x7x5x1xf32>, %columns: tensor<?x5x7x1x7xf32>) -> tensor<?x35x8xf32> {
  %kt = attn.transpose %k [0, 2, 1] : tensor<?x35x8xf32> -> tensor<?x8x35xf32>
  %s = attn.matmul %q, %kt : tensor<?x35x8xf32>, tensor<?x8x35xf32> -> tensor<?x35x35xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %s, %c0 : tensor<?x35x35xf32>
  %wide = tensor.expand_shape %s [[0], [1, 2], [3, 4]] output_shape [%n, 5, 7, 5, 7] : tensor<?x35x35xf32> into tensor<?x5x7x5x7xf32>
  %m = attn.map %wide, %rows, %columns {
  ^bb0(%x: f32, %row: f32, %column: f32):
    %0 = arith.addf %x, %row : f32
    %1 = arith.addf %0, %column : f32
    attn.yield %1 : f32
  } : tensor<?x5x7x5x7xf32>, tensor<?x5x7x5x1xf32>, tensor<?x5x7x1x7xf32> -> tensor<?x5x7x5x7xf32>
  %back = tensor.collapse_shape %m [[0], [1, 2], [3, 4]] : tensor<?x5x7x5x7xf32> into tensor<?x35x35xf32>
  %p = attn.softmax %back : tensor<?x35x35xf32>
  %c = attn.matmul %p, %v : tensor<?x35x35xf32>, tensor<?x35x8xf32> -> tensor<?x35x8xf32>
  return %c : tensor<?x35x8xf32>
}

// -----

// Scores of f16 widened for mask and softmax, viewed in five dimensions between, and probs rounded
// for the product: one attention in f32.
// CHECK-LABEL: @widened_scores
// CHECK-DAG:     %[[QUERY:.*]] = arith.extf %arg0 {{.*}} : tensor<2x3x5x8xf16> to tensor<2x3x5x8xf32>
// CHECK-DAG:     %[[KEY:.*]] = arith.extf %arg1 {{.*}} : tensor<2x3x7x8xf16> to tensor<2x3x7x8xf32>
// CHECK:         %[[SCORE:.*]] = attn.score %[[QUERY]], %[[KEY]]
// CHECK:         %[[MODIFIED:.*]] = attn.modify_score %[[SCORE]]
// CHECK-NEXT:      ^bb0(%score: f32,
// CHECK:           arith.addf %score, %{{.*}} : f32
// CHECK:         %[[PROB:.*]] = attn.softmax %[[MODIFIED]]
// CHECK:         %[[VALUE:.*]] = arith.extf %arg1 {{.*}} : tensor<2x3x7x8xf16> to tensor<2x3x7x8xf32>
// CHECK:         %[[CONTEXT:.*]] = attn.context %[[PROB]], %[[VALUE]]
// CHECK:         arith.truncf %[[CONTEXT]] {{.*}} : tensor<2x3x5x8xf32> to tensor<2x3x5x8xf16>
// FUSED-LABEL: @widened_scores
// FUSED:         attn.attention %{{.*}}, %arg1, %arg1 score_mod
// FUSED:         tensor<2x3x5x8xf32>, tensor<2x3x7x8xf16>, tensor<2x3x7x8xf16> -> tensor<2x3x5x8xf32>
func.func @widened_scores(%q: tensor<2x3x5x8xf16>, %k: tensor<2x3x7x8xf16>, %bias: tensor<5x7xf32>) -> tensor<2x3x5x8xf16> {
  %kt = attn.transpose %k [0, 1, 3, 2] : tensor<2x3x7x8xf16> -> tensor<2x3x8x7xf16>
  %s = attn.matmul %q, %kt : tensor<2x3x5x8xf16>, tensor<2x3x8x7xf16> -> tensor<2x3x5x7xf16>
  %five = tensor.expand_shape %s [[0], [1, 2], [3], [4]] output_shape [2, 3, 1, 5, 7] : tensor<2x3x5x7xf16> into tensor<2x3x1x5x7xf16>
  %wide = arith.extf %five : tensor<2x3x1x5x7xf16> to tensor<2x3x1x5x7xf32>
  %m = attn.map %wide, %bias {
  ^bb0(%x: f32, %y: f32):
    %r = arith.addf %x, %y : f32
    attn.yield %r : f32
  } : tensor<2x3x1x5x7xf32>, tensor<5x7xf32> -> tensor<2x3x1x5x7xf32>
  %four = tensor.collapse_shape %m [[0], [1, 2], [3], [4]] : tensor<2x3x1x5x7xf32> into tensor<2x3x5x7xf32>
  %p = attn.softmax %four : tensor<2x3x5x7xf32>
  %rounded = arith.truncf %p : tensor<2x3x5x7xf32> to tensor<2x3x5x7xf16>
  %c = attn.matmul %rounded, %k : tensor<2x3x5x7xf16>, tensor<2x3x7x8xf16> -> tensor<2x3x5x8xf16>
  return %c : tensor<2x3x5x8xf16>
}

// -----

// The same in ops of attention, and probs that are scaled after they are rounded.
// CHECK-LABEL: @widened_score
// CHECK:         %[[SCORE:.*]] = attn.score {{.*}} scale(5.000000e-01) : tensor<2x3x5x8xf32>
// CHECK:         attn.modify_score %[[SCORE]]
// CHECK:         attn.modify_prob
// CHECK:           arith.mulf
// CHECK:         attn.context {{.*}} -> tensor<2x3x5x8xf32>
// FUSED-LABEL: @widened_score
// FUSED:         attn.attention %{{.*}}, %arg1, %arg1 scale(5.000000e-01) score_mod
func.func @widened_score(%q: tensor<2x3x5x8xbf16>, %k: tensor<2x3x7x8xbf16>, %bias: tensor<2x3x5x7xf32>) -> tensor<2x3x5x8xbf16> {
  %s = attn.score %q, %k scale(0.5) : tensor<2x3x5x8xbf16>, tensor<2x3x7x8xbf16> -> tensor<2x3x5x7xbf16>
  %wide = arith.extf %s : tensor<2x3x5x7xbf16> to tensor<2x3x5x7xf32>
  %m = arith.addf %wide, %bias : tensor<2x3x5x7xf32>
  %p = attn.softmax %m : tensor<2x3x5x7xf32>
  %scaled = attn.map %p {
  ^bb0(%x: f32):
    %two = arith.constant 2.0 : bf16
    %r = arith.truncf %x : f32 to bf16
    %scaled = arith.mulf %r, %two : bf16
    attn.yield %scaled : bf16
  } : tensor<2x3x5x7xf32> -> tensor<2x3x5x7xbf16>
  %c = attn.context %scaled, %k : tensor<2x3x5x7xbf16>, tensor<2x3x7x8xbf16> -> tensor<2x3x5x8xbf16>
  return %c : tensor<2x3x5x8xbf16>
}

// -----

// A softmax in f64 takes no wider products.
// CHECK-LABEL: @doubles
// CHECK-NOT:     attn.score
// CHECK:         attn.matmul
func.func @doubles(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>) -> tensor<2x3x5x7xf64> {
  %kt = attn.transpose %k [0, 1, 3, 2] : tensor<2x3x7x8xf32> -> tensor<2x3x8x7xf32>
  %s = attn.matmul %q, %kt : tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32> -> tensor<2x3x5x7xf32>
  %wide = arith.extf %s : tensor<2x3x5x7xf32> to tensor<2x3x5x7xf64>
  %p = attn.softmax %wide : tensor<2x3x5x7xf64>
  return %p : tensor<2x3x5x7xf64>
}

// -----

// A transpose's type may say less than its operand's.
// CHECK-LABEL: func.func @unit_of_unknown_size(
// CHECK-SAME: %[[A:.*]]: tensor<1x16x1xf32>
// CHECK-NOT: attn.transpose
// CHECK: return %{{.*}} : tensor<?x16xf32>
func.func @unit_of_unknown_size(%a: tensor<1x16x1xf32>) -> tensor<?x16xf32> {
  %t = attn.transpose %a [0, 2, 1] : tensor<1x16x1xf32> -> tensor<1x?x16xf32>
  %c = tensor.collapse_shape %t [[0, 1], [2]] : tensor<1x?x16xf32> into tensor<?x16xf32>
  return %c : tensor<?x16xf32>
}
