// RUN: attn-opt %s | FileCheck %s
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s
// RUN: attn-opt %s -emit-bytecode | attn-opt --allow-bytecode | FileCheck %s

// CHECK-LABEL: func @unfused
// CHECK-SAME: %[[Q:.*]]: tensor<?x8x?x64xf32> {attn.dims = ["batch", 8, "q_len", 64], attn.name = "query"}
// CHECK-SAME: -> (tensor<?x8x?x32xf32> {attn.name = "context"})
func.func @unfused(%q: tensor<?x8x?x64xf32> {attn.name = "query", attn.dims = ["batch", 8, "q_len", 64]},
                   %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x32xf32>, %bias: tensor<8x?x?xf32>)
    -> (tensor<?x8x?x32xf32> {attn.name = "context"}) {
  // CHECK: %[[S:.*]] = attn.score %[[Q]], %{{.*}} scale(1.250000e-01) : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %s = attn.score %q, %k scale(0.125) : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  // CHECK: %[[B:.*]] = attn.modify_score %[[S]] {
  // CHECK-NEXT: ^bb0(%[[SCORE:score]]: f32, %batch: index, %[[HEAD:head]]: index, %[[I:q]]: index, %[[J:k]]: index):
  // CHECK-NEXT: %[[E:.*]] = tensor.extract %{{.*}}[%[[HEAD]], %[[I]], %[[J]]]
  // CHECK-NEXT: %[[R:.*]] = arith.addf %[[SCORE]], %[[E]] : f32
  // CHECK-NEXT: attn.yield %[[R]] : f32
  // CHECK-NEXT: } : tensor<?x8x?x?xf32>
  %b = attn.modify_score %s {
  ^bb0(%score: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %e = tensor.extract %bias[%head, %qi, %ki] : tensor<8x?x?xf32>
    %r = arith.addf %score, %e : f32
    attn.yield %r : f32
  } : tensor<?x8x?x?xf32>
  // CHECK: %[[M:.*]] = attn.mask %[[B]] {
  // CHECK-NEXT: ^bb0(%batch: index, %head: index, %[[I:q]]: index, %[[J:k]]: index):
  // CHECK-NEXT: arith.cmpi sle, %[[J]], %[[I]] : index
  %m = attn.mask %b {
  ^bb0(%batch: index, %head: index, %qi: index, %ki: index):
    %c = arith.cmpi sle, %ki, %qi : index
    attn.yield %c : i1
  } : tensor<?x8x?x?xf32>
  // CHECK: %[[P:.*]] = attn.softmax %[[M]] : tensor<?x8x?x?xf32>
  %p = attn.softmax %m : tensor<?x8x?x?xf32>
  // CHECK: %[[D:.*]] = attn.modify_prob %[[P]] {
  // CHECK-NEXT: ^bb0(%[[PROB:prob]]: f32,
  %d = attn.modify_prob %p {
  ^bb0(%prob: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %r = arith.addf %prob, %prob : f32
    attn.yield %r : f32
  } : tensor<?x8x?x?xf32>
  // CHECK: attn.context %[[D]], %{{.*}} : tensor<?x8x?x?xf32>, tensor<?x8x?x32xf32> -> tensor<?x8x?x32xf32>
  %c = attn.context %d, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x32xf32> -> tensor<?x8x?x32xf32>
  return %c : tensor<?x8x?x32xf32>
}

// Grouped heads, f16, everything static; no scale is printed where it is 1.
// CHECK-LABEL: func @grouped
func.func @grouped(%q: tensor<2x6x5x16xf16>, %k: tensor<2x2x7x16xf16>, %v: tensor<2x1x7x3xf16>,
                   %sink: tensor<1x6x1xf16>) -> tensor<2x6x5x3xf16> {
  // CHECK: attn.score %{{.*}}, %{{.*}} : tensor<2x6x5x16xf16>, tensor<2x2x7x16xf16> -> tensor<2x6x5x7xf16>
  %s = attn.score %q, %k : tensor<2x6x5x16xf16>, tensor<2x2x7x16xf16> -> tensor<2x6x5x7xf16>
  // CHECK: attn.softmax %{{.*}} sink(%{{.*}} : tensor<1x6x1xf16>) : tensor<2x6x5x7xf16>
  %beside = attn.softmax %s sink(%sink : tensor<1x6x1xf16>) : tensor<2x6x5x7xf16>
  // CHECK: attn.softmax %{{.*}} axis(2) {test.tag} : tensor<2x6x5x7xf16>
  %p = attn.softmax %s axis(2) {test.tag} : tensor<2x6x5x7xf16>
  // CHECK: attn.context
  %c = attn.context %p, %v : tensor<2x6x5x7xf16>, tensor<2x1x7x3xf16> -> tensor<2x6x5x3xf16>
  return %c : tensor<2x6x5x3xf16>
}

// CHECK-LABEL: func @fused
func.func @fused(%q: tensor<?x4x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x80xbf16>) -> (tensor<?x4x?x80xbf16>, tensor<?x4x?xf32>) {
  // CHECK: attn.attention %{{.*}}, %{{.*}}, %{{.*}} scale(5.000000e-01) score_mod {
  // CHECK-NEXT: ^bb0(%score: bf16, %batch: index, %head: index, %q: index, %k: index):
  // CHECK: } mask {
  // CHECK-NEXT: ^bb0(%batch: index, %head: index, %q: index, %k: index):
  // CHECK: } prob_mod {
  // CHECK-NEXT: ^bb0(%prob: bf16, %batch: index, %head: index, %q: index, %k: index):
  // CHECK: } schedule([#attn.prefill<q_block = 48, kv_block = 64, vector_width = 16, score_vectors = 3, score_keys = 8, context_rows = 6, context_vectors = 4>])
  // CHECK-SAME: : tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x80xbf16> -> tensor<?x4x?x80xbf16>, tensor<?x4x?xf32>
  %c, %lse = attn.attention %q, %k, %v scale(0.5) score_mod {
  ^bb0(%score: bf16, %batch: index, %head: index, %qi: index, %ki: index):
    %r = math.tanh %score : bf16
    attn.yield %r : bf16
  } mask {
  ^bb0(%batch: index, %head: index, %qi: index, %ki: index):
    %m = arith.cmpi sle, %ki, %qi : index
    attn.yield %m : i1
  } prob_mod {
  ^bb0(%prob: bf16, %batch: index, %head: index, %qi: index, %ki: index):
    %r = arith.negf %prob : bf16
    attn.yield %r : bf16
  } schedule([#attn.prefill<q_block = 48, kv_block = 64, vector_width = 16, score_vectors = 3, score_keys = 8, context_rows = 6, context_vectors = 4>])
    : tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x80xbf16> -> tensor<?x4x?x80xbf16>, tensor<?x4x?xf32>
  // CHECK: attn.attention %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x4x?x64xbf16>, {{.*}} -> tensor<?x4x?x80xbf16>
  %d = attn.attention %q, %k, %v : tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x80xbf16> -> tensor<?x4x?x80xbf16>
  return %d, %lse : tensor<?x4x?x80xbf16>, tensor<?x4x?xf32>
}

// CHECK-LABEL: func @products
func.func @products(%q: tensor<?x8x?x64xf32>, %kt: tensor<8x64x?xf32>, %x: tensor<?x384xbf16>, %w: tensor<384x1152xbf16>) {
  // CHECK: attn.matmul %{{.*}}, %{{.*}} : tensor<?x8x?x64xf32>, tensor<8x64x?xf32> -> tensor<?x8x?x?xf32>
  %s = attn.matmul %q, %kt : tensor<?x8x?x64xf32>, tensor<8x64x?xf32> -> tensor<?x8x?x?xf32>
  // CHECK: attn.matmul %{{.*}}, %{{.*}} : tensor<?x384xbf16>, tensor<384x1152xbf16> -> tensor<?x1152xbf16>
  %y = attn.matmul %x, %w : tensor<?x384xbf16>, tensor<384x1152xbf16> -> tensor<?x1152xbf16>
  return
}

// CHECK-LABEL: func @around
func.func @around(%x: tensor<?x?x384xf64>, %w: tensor<384x384xf64> {attn.weight = "layer.0.weight"}, %b: tensor<384xf64>) -> tensor<?x?x384xf64> {
  // CHECK: attn.linear %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x?x384xf64>, tensor<384x384xf64>, tensor<384xf64> -> tensor<?x?x384xf64>
  %y = attn.linear %x, %w, %b : tensor<?x?x384xf64>, tensor<384x384xf64>, tensor<384xf64> -> tensor<?x?x384xf64>
  // CHECK: attn.linear %{{.*}}, %{{.*}} : tensor<?x?x384xf64>, tensor<384x384xf64> -> tensor<?x?x384xf64>
  %z = attn.linear %y, %w : tensor<?x?x384xf64>, tensor<384x384xf64> -> tensor<?x?x384xf64>
  // CHECK: attn.split_heads %{{.*}} num_heads(12) layout(time_first) : tensor<?x?x384xf64> -> tensor<?x12x?x32xf64>
  %h = attn.split_heads %z num_heads(12) layout(time_first) : tensor<?x?x384xf64> -> tensor<?x12x?x32xf64>
  // CHECK: attn.merge_heads %{{.*}} : tensor<?x12x?x32xf64> -> tensor<?x?x384xf64>
  %m = attn.merge_heads %h : tensor<?x12x?x32xf64> -> tensor<?x?x384xf64>
  return %m : tensor<?x?x384xf64>
}

// CHECK-LABEL: func @tensors
func.func @tensors(%x: tensor<?x?x384xf32>, %b: tensor<384xf32>, %m: tensor<?x1x1xi1>, %table: tensor<100x384xf32>, %ids: tensor<?x?xi64>, %part: tensor<?x?x384x64xbf16>) -> tensor<?x384x?xf32> {
  // CHECK: %[[MAP:.*]] = attn.map %{{.*}}, %{{.*}}, %{{.*}} {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: i1):
  // CHECK: } : tensor<?x?x384xf32>, tensor<384xf32>, tensor<?x1x1xi1> -> tensor<?x?x384xf32>
  %0 = attn.map %x, %b, %m {
  ^bb0(%a: f32, %c: f32, %take: i1):
    %sum = arith.addf %a, %c : f32
    %r = arith.select %take, %sum, %a : f32
    attn.yield %r : f32
  } : tensor<?x?x384xf32>, tensor<384xf32>, tensor<?x1x1xi1> -> tensor<?x?x384xf32>
  // CHECK: attn.map %[[MAP]] {
  // CHECK: } : tensor<?x?x384xf32> -> tensor<?x?x384xi1>
  %1 = attn.map %0 {
  ^bb0(%a: f32):
    %r = arith.cmpf une, %a, %a : f32
    attn.yield %r : i1
  } : tensor<?x?x384xf32> -> tensor<?x?x384xi1>
  // CHECK: attn.reduce max %[[MAP]] axes [-1] keep_dims : tensor<?x?x384xf32> -> tensor<?x?x1xf32>
  %2 = attn.reduce max %0 axes [-1] keep_dims : tensor<?x?x384xf32> -> tensor<?x?x1xf32>
  // CHECK: attn.reduce sum %{{.*}} axes [0, 1] : tensor<?x?xi64> -> tensor<i64>
  %3 = attn.reduce sum %ids axes [0, 1] : tensor<?x?xi64> -> tensor<i64>
  // CHECK: attn.layer_norm %{{.*}} scale(%{{.*}} : tensor<384xf32>) bias(%{{.*}} : tensor<384xf32>) epsilon(1.000000e-05) : tensor<?x?x384xf32>
  %4 = attn.layer_norm %0 scale(%b : tensor<384xf32>) bias(%b : tensor<384xf32>) epsilon(1.0e-5) : tensor<?x?x384xf32>
  // CHECK: attn.layer_norm %{{.*}} mode(rms) epsilon(0.000000e+00) : tensor<?x?x384xf32>
  %5 = attn.layer_norm %4 mode(rms) epsilon(0.0) : tensor<?x?x384xf32>
  // CHECK: attn.embedding %{{.*}}, %{{.*}} : tensor<100x384xf32>, tensor<?x?xi64> -> tensor<?x?x384xf32>
  %6 = attn.embedding %table, %ids : tensor<100x384xf32>, tensor<?x?xi64> -> tensor<?x?x384xf32>
  // CHECK: attn.lse %{{.*}} : tensor<?x?x384xf32> -> tensor<?x?xf32>
  %7 = attn.lse %6 : tensor<?x?x384xf32> -> tensor<?x?xf32>
  // CHECK: attn.merge %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x?x384x64xbf16>, tensor<?x?x384xf32>
  %context, %lse = attn.merge %part, %5, %part, %4 : tensor<?x?x384x64xbf16>, tensor<?x?x384xf32>
  // CHECK: attn.transpose %{{.*}} [1, 2, 0] : tensor<?x?x384xf32> -> tensor<?x384x?xf32>
  %8 = attn.transpose %5 [1, 2, 0] : tensor<?x?x384xf32> -> tensor<?x384x?xf32>
  return %8 : tensor<?x384x?xf32>
}

// CHECK-LABEL: func @sequences(
func.func @sequences(%q: tensor<?x4x?x64xf32>, %k: tensor<?x2x?x64xf32>, %w: tensor<64xf32>, %n: tensor<?xi32>,
                     %seed: tensor<i64>) -> tensor<?x4x?x?xf32> {
  // CHECK: attn.positions %arg0 kind(sinusoidal) : tensor<?x4x?x64xf32>
  %0 = attn.positions %q kind(sinusoidal) base(1.0e4) : tensor<?x4x?x64xf32>
  // CHECK: attn.positions %{{.*}} kind(rotary_pairs) base(5.000000e+05) offset(%arg3 : tensor<?xi32>) : tensor<?x4x?x64xf32>
  %1 = attn.positions %0 kind(rotary_pairs) base(5.0e5) offset(%n : tensor<?xi32>) : tensor<?x4x?x64xf32>
  // CHECK: attn.append_cache %arg1, %arg1, %arg3 : tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?xi32>
  %2 = attn.append_cache %k, %k, %n : tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?xi32>
  // CHECK: attn.additive_score %{{.*}}, %{{.*}}, %arg2 : tensor<?x4x?x64xf32>, tensor<?x2x?x64xf32>, tensor<64xf32> -> tensor<?x4x?x?xf32>
  %3 = attn.additive_score %1, %2, %w : tensor<?x4x?x64xf32>, tensor<?x2x?x64xf32>, tensor<64xf32> -> tensor<?x4x?x?xf32>
  // CHECK: attn.dropout %{{.*}} rate(1.000000e-01) seed(%arg4 : tensor<i64>) : tensor<?x4x?x?xf32>
  %4 = attn.dropout %3 rate(0.1) seed(%seed : tensor<i64>) : tensor<?x4x?x?xf32>
  // CHECK: attn.dropout %{{.*}} rate(5.000000e-01) : tensor<?x4x?x?xf32>
  %5 = attn.dropout %4 rate(0.5) : tensor<?x4x?x?xf32>
  return %5 : tensor<?x4x?x?xf32>
}

// CHECK-LABEL: func.func @pages
func.func @pages(%q: tensor<?x4x?x64xf32>, %pool: tensor<?x16x2x64xf32>, %heads: tensor<?x2x16x64xf32>,
                 %table: tensor<?x?xi32>, %wide: tensor<3x5xi64>, %n: tensor<?xi32>) -> tensor<?x4x?x64xf32> {
  // CHECK: attn.gather_pages %arg1[%arg3] lengths(%arg5 : tensor<?xi32>) : tensor<?x16x2x64xf32>, tensor<?x?xi32> -> tensor<?x2x?x64xf32>
  %k = attn.gather_pages %pool[%table] lengths(%n : tensor<?xi32>) : tensor<?x16x2x64xf32>, tensor<?x?xi32>
  // CHECK: attn.gather_pages %arg2[%arg4] layout(heads_first) : tensor<?x2x16x64xf32>, tensor<3x5xi64> -> tensor<3x2x80x64xf32>
  %v = attn.gather_pages %heads[%wide] layout(heads_first) : tensor<?x2x16x64xf32>, tensor<3x5xi64>
  // CHECK: attn.attention %arg0, %arg2, %arg2 pages(%arg3 : tensor<?x?xi32>) lengths(%arg5 : tensor<?xi32>) :
  %c = attn.attention %q, %heads, %heads pages(%table : tensor<?x?xi32>) lengths(%n : tensor<?xi32>)
      : tensor<?x4x?x64xf32>, tensor<?x2x16x64xf32>, tensor<?x2x16x64xf32> -> tensor<?x4x?x64xf32>
  return %c : tensor<?x4x?x64xf32>
}

// CHECK-LABEL: @page_lists
func.func @page_lists(%q: tensor<?x4x?x64xf32>, %pool: tensor<?x16x2x64xf32>, %heads: tensor<?x2x16x64xf32>,
                      %lists: tensor<?x2x?xi32>, %indices: tensor<?xi32>, %indptr: tensor<?xi32>,
                      %last: tensor<?xi32>) -> (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>) {
  // CHECK: attn.gather_pages %arg1[%arg3] : tensor<?x16x2x64xf32>, tensor<?x2x?xi32> -> tensor<?x2x?x64xf32>
  %k = attn.gather_pages %pool[%lists] : tensor<?x16x2x64xf32>, tensor<?x2x?xi32>
  // CHECK: attn.gather_pages %arg1[%arg4] offsets(%arg5 : tensor<?xi32>) : tensor<?x16x2x64xf32>, tensor<?xi32> -> tensor<?x2x?x64xf32>
  %v = attn.gather_pages %pool[%indices] offsets(%indptr : tensor<?xi32>) : tensor<?x16x2x64xf32>, tensor<?xi32>
  // CHECK: attn.page_lengths %arg2[%arg4] offsets(%arg5 : tensor<?xi32>) last(%arg6 : tensor<?xi32>) layout(heads_first) : tensor<?x2x16x64xf32>, tensor<?xi32>
  %n = attn.page_lengths %heads[%indices] offsets(%indptr : tensor<?xi32>) last(%last : tensor<?xi32>) layout(heads_first)
      : tensor<?x2x16x64xf32>, tensor<?xi32>
  // CHECK: attn.attention %arg0, %arg2, %arg2 pages(%arg3 : tensor<?x2x?xi32>) :
  %c = attn.attention %q, %heads, %heads pages(%lists : tensor<?x2x?xi32>)
      : tensor<?x4x?x64xf32>, tensor<?x2x16x64xf32>, tensor<?x2x16x64xf32> -> tensor<?x4x?x64xf32>
  // CHECK: attn.attention %arg0, %arg2, %arg2 pages(%arg4 : tensor<?xi32>) page_offsets(%arg5 : tensor<?xi32>) :
  %d = attn.attention %q, %heads, %heads pages(%indices : tensor<?xi32>) page_offsets(%indptr : tensor<?xi32>)
      : tensor<?x4x?x64xf32>, tensor<?x2x16x64xf32>, tensor<?x2x16x64xf32> -> tensor<?x4x?x64xf32>
  return %c, %d : tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>
}

// CHECK-LABEL: @appended_pages
func.func @appended_pages(%pool: tensor<?x16x2x64xf32>, %heads: tensor<?x2x16x64xf32>, %table: tensor<?x?xi32>,
                          %rows: tensor<?x2x?x64xf32>, %length: tensor<?xi32>, %n: tensor<?xi64>,
                          %indices: tensor<?xi64>, %indptr: tensor<?xi32>, %packed: tensor<1x2x?x64xf32>, %offsets: tensor<?xi32>)
    -> (tensor<?x16x2x64xf32>, tensor<?x2x16x64xf32>, tensor<?x2x16x64xf32>, tensor<?x2x16x64xf32>) {
  // CHECK: attn.append_pages %arg0[%arg2], %arg3, %arg4 : tensor<?x16x2x64xf32>, tensor<?x?xi32>, tensor<?x2x?x64xf32>, tensor<?xi32>
  %k = attn.append_pages %pool[%table], %rows, %length
      : tensor<?x16x2x64xf32>, tensor<?x?xi32>, tensor<?x2x?x64xf32>, tensor<?xi32>
  // CHECK: attn.append_pages %arg1[%arg2], %arg3, %arg4 counts(%arg5 : tensor<?xi64>) layout(heads_first) :
  %v = attn.append_pages %heads[%table], %rows, %length counts(%n : tensor<?xi64>) layout(heads_first)
      : tensor<?x2x16x64xf32>, tensor<?x?xi32>, tensor<?x2x?x64xf32>, tensor<?xi32>
  // CHECK: attn.append_pages %arg1[%arg6] offsets(%arg7 : tensor<?xi32>), %arg3, %arg4 counts(%arg5 : tensor<?xi64>) layout(heads_first) : tensor<?x2x16x64xf32>, tensor<?xi64>, tensor<?x2x?x64xf32>, tensor<?xi32>
  %csr = attn.append_pages %heads[%indices] offsets(%indptr : tensor<?xi32>), %rows, %length counts(%n : tensor<?xi64>) layout(heads_first)
      : tensor<?x2x16x64xf32>, tensor<?xi64>, tensor<?x2x?x64xf32>, tensor<?xi32>
  // CHECK: attn.append_pages %arg1[%arg2], %arg8, %arg4 row_offsets(%arg9 : tensor<?xi32>) layout(heads_first) :
  %r = attn.append_pages %heads[%table], %packed, %length row_offsets(%offsets : tensor<?xi32>) layout(heads_first)
      : tensor<?x2x16x64xf32>, tensor<?x?xi32>, tensor<1x2x?x64xf32>, tensor<?xi32>
  return %k, %v, %csr, %r : tensor<?x16x2x64xf32>, tensor<?x2x16x64xf32>, tensor<?x2x16x64xf32>, tensor<?x2x16x64xf32>
}

// CHECK-LABEL: @quantized
func.func @quantized(%q: tensor<?x8x?x128xf32>, %rows: tensor<?x2x?x128xf32>, %cache: tensor<?x2x?x128xi8>,
                     %scales: tensor<?x2x?x4xf16>, %half: tensor<?x2x?x128xbf16>, %n: tensor<?xi32>,
                     %pool: tensor<?x16x2x128xi8>, %table: tensor<?x?xi32>)
    -> (tensor<?x8x?x128xf32>, tensor<?x2x?x128xi8>, tensor<?x2x?x4xf16>, tensor<?x16x2x128xi8>) {
  // CHECK: %[[ROWS:.*]], %[[SCALES:.*]] = attn.quantize %arg1 : tensor<?x2x?x128xf32> -> tensor<?x2x?x128xi8>, tensor<?x2x?x4xf16>
  %i8, %s = attn.quantize %rows : tensor<?x2x?x128xf32> -> tensor<?x2x?x128xi8>, tensor<?x2x?x4xf16>
  // CHECK: attn.append_cache %arg2, %[[ROWS]], %arg5 : tensor<?x2x?x128xi8>, tensor<?x2x?x128xi8>, tensor<?xi32>
  %all = attn.append_cache %cache, %i8, %n : tensor<?x2x?x128xi8>, tensor<?x2x?x128xi8>, tensor<?xi32>
  %factors = attn.append_cache %scales, %s, %n : tensor<?x2x?x4xf16>, tensor<?x2x?x4xf16>, tensor<?xi32>
  // CHECK: attn.append_pages %arg6[%arg7], %[[ROWS]], %arg5
  %pages = attn.append_pages %pool[%table], %i8, %n
      : tensor<?x16x2x128xi8>, tensor<?x?xi32>, tensor<?x2x?x128xi8>, tensor<?xi32>
  // CHECK: attn.gather_pages %{{.*}}[%arg7] : tensor<?x16x2x128xi8>, tensor<?x?xi32> -> tensor<?x2x?x128xi8>
  %gathered = attn.gather_pages %pages[%table] : tensor<?x16x2x128xi8>, tensor<?x?xi32>
  // CHECK: attn.dequantize %{{.*}} scales(%{{.*}} : tensor<?x2x?x4xf16>) : tensor<?x2x?x128xi8> -> tensor<?x2x?x128xf32>
  %k = attn.dequantize %all scales(%factors : tensor<?x2x?x4xf16>) : tensor<?x2x?x128xi8> -> tensor<?x2x?x128xf32>
  // CHECK: attn.dequantize %arg4 : tensor<?x2x?x128xbf16> -> tensor<?x2x?x128xf32>
  %v = attn.dequantize %half : tensor<?x2x?x128xbf16> -> tensor<?x2x?x128xf32>
  // CHECK: attn.attention %arg0, %arg2, %arg4 key_scales(%arg3 : tensor<?x2x?x4xf16>) :
  // CHECK-SAME: tensor<?x8x?x128xf32>, tensor<?x2x?x128xi8>, tensor<?x2x?x128xbf16> -> tensor<?x8x?x128xf32>
  %c = attn.attention %q, %cache, %half key_scales(%scales : tensor<?x2x?x4xf16>)
      : tensor<?x8x?x128xf32>, tensor<?x2x?x128xi8>, tensor<?x2x?x128xbf16> -> tensor<?x8x?x128xf32>
  return %c, %all, %factors, %pages
      : tensor<?x8x?x128xf32>, tensor<?x2x?x128xi8>, tensor<?x2x?x4xf16>, tensor<?x16x2x128xi8>
}

// CHECK-LABEL: @packed_rows
func.func @packed_rows(%rows: tensor<?x4x64xf32>, %keys: tensor<9x2x64xf32>, %heads: tensor<1x4x?x64xf32>,
                       %kv: tensor<1x2x?x64xf32>, %o: tensor<?xi32>, %p: tensor<4xi64>, %context: tensor<?x4x?x64xf32>,
                       %lse: tensor<3x4x9xf32>) -> tensor<1x4x?x64xf32> {
  // CHECK: attn.unpack_rows %arg0 offsets(%arg4) : tensor<?x4x64xf32>, tensor<?xi32> -> tensor<?x4x?x64xf32>
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x4x64xf32>, tensor<?xi32>
  // CHECK: attn.unpack_rows %arg1 offsets(%arg5) : tensor<9x2x64xf32>, tensor<4xi64> -> tensor<3x2x9x64xf32>
  %k = attn.unpack_rows %keys offsets(%p) : tensor<9x2x64xf32>, tensor<4xi64>
  // CHECK: attn.pack_rows %arg6 offsets(%arg4) : tensor<?x4x?x64xf32>, tensor<?xi32> -> tensor<?x4x64xf32>
  %r = attn.pack_rows %context offsets(%o) : tensor<?x4x?x64xf32>, tensor<?xi32>
  // CHECK: attn.pack_rows %arg7 offsets(%arg5) : tensor<3x4x9xf32>, tensor<4xi64> -> tensor<9x4xf32>
  %l = attn.pack_rows %lse offsets(%p) : tensor<3x4x9xf32>, tensor<4xi64>
  // CHECK: attn.attention %arg2, %arg3, %arg3 offsets(%arg4 : tensor<?xi32>) kv_offsets(%arg4 : tensor<?xi32>) :
  %c = attn.attention %heads, %kv, %kv offsets(%o : tensor<?xi32>) kv_offsets(%o : tensor<?xi32>)
      : tensor<1x4x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32> -> tensor<1x4x?x64xf32>
  return %c : tensor<1x4x?x64xf32>
}

// Ops that all ranks take part in.
// CHECK-LABEL: func.func @exchange
func.func @exchange(%block: tensor<?xi32>, %x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  // CHECK: %[[PLACES:.*]] = attn.places %{{.*}} layout(striped) : tensor<?xi32>
  %c0 = arith.constant 0 : index
  %places = attn.places %c0 layout(striped) : tensor<?xi32>
  // CHECK: attn.all_gather %{{.*}} of %[[PLACES]] layout(striped) along 0 to %{{.*}} : tensor<?xi32>, tensor<?xi32>
  %all = attn.all_gather %block of %places layout(striped) along 0 to %c0 : tensor<?xi32>, tensor<?xi32>
  // CHECK: attn.all_gather %{{.*}} of %[[PLACES]] layout(blocks) along 0 to %{{.*}} halo [3, 0] : tensor<?xi32>, tensor<?xi32>
  %near = attn.all_gather %block of %places layout(blocks) along 0 to %c0 halo [3, 0] : tensor<?xi32>, tensor<?xi32>
  // CHECK: %[[RING:.*]] = attn.ring %{{.*}} init(%{{.*}}) {
  %ring = attn.ring %block init(%x) {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<?xi32>, %[[CARRIED:.*]]: tensor<?xf32>):
  ^bb0(%b: tensor<?xi32>, %carried: tensor<?xf32>):
    // CHECK: attn.yield %[[CARRIED]] : tensor<?xf32>
    attn.yield %carried : tensor<?xf32>
  // CHECK-NEXT: } : tensor<?xi32> -> tensor<?xf32>
  } : tensor<?xi32> -> tensor<?xf32>
  // CHECK: attn.all_reduce %[[RING]] {
  %sum = attn.all_reduce %ring {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<?xf32>, %[[B:.*]]: tensor<?xf32>):
  ^bb0(%a: tensor<?xf32>, %b: tensor<?xf32>):
    // CHECK-NEXT: arith.addf %[[A]], %[[B]]
    %c = arith.addf %a, %b : tensor<?xf32>
    attn.yield %c : tensor<?xf32>
  // CHECK: } : tensor<?xf32>
  } : tensor<?xf32>
  return %ring, %sum : tensor<?xf32>, tensor<?xf32>
}
