// Each op on numbers that can be checked by hand.
//
// RUN: attnc run %s --reference --function score | FileCheck %s --check-prefix=SCORE
// RUN: attnc run %s --reference --function softmax | FileCheck %s --check-prefix=SOFTMAX
// RUN: attnc run %s --reference --function axis | FileCheck %s --check-prefix=AXIS
// RUN: attnc run %s --reference --function regions | FileCheck %s --check-prefix=REGIONS
// RUN: attnc run %s --reference --function context | FileCheck %s --check-prefix=CONTEXT
// RUN: attnc run %s --reference --function attention | FileCheck %s --check-prefix=ATTENTION
// RUN: attnc run %s --reference --function linear | FileCheck %s --check-prefix=LINEAR
// RUN: attnc run %s --reference --function heads | FileCheck %s --check-prefix=HEADS
// RUN: attnc run %s --reference --function lse | FileCheck %s --check-prefix=LSE
// RUN: attnc run %s --reference --function layer_norm | FileCheck %s --check-prefix=NORM
// RUN: attnc run %s --reference --function embedding | FileCheck %s --check-prefix=EMBEDDING
// RUN: attnc run %s --reference --function map | FileCheck %s --check-prefix=MAP
// RUN: attnc run %s --reference --function reduce | FileCheck %s --check-prefix=REDUCE
// RUN: attnc run %s --reference --function transpose | FileCheck %s --check-prefix=TRANSPOSE
// RUN: attnc run %s --reference --function slices | FileCheck %s --check-prefix=SLICES
// RUN: attnc run %s --reference --function integers | FileCheck %s --check-prefix=INTEGERS
// RUN: attnc run %s --reference --function floats | FileCheck %s --check-prefix=FLOATS
// RUN: attnc run %s --reference --function pages | FileCheck %s --check-prefix=PAGES
// RUN: attnc run %s --reference --function lists | FileCheck %s --check-prefix=LISTS
// RUN: attnc run %s --reference --function packed | FileCheck %s --check-prefix=PACKED
// RUN: attnc run %s --reference --function append | FileCheck %s --check-prefix=APPEND
// RUN: attnc run %s --reference --function quantize | FileCheck %s --check-prefix=QUANTIZE
// RUN: attnc run %s --reference --function dynamic --input x=ones:3x2 \
// RUN:   | FileCheck %s --check-prefix=DYNAMIC

// Two query heads share a key head: (1·3 + 2·4) / 2, (1·5 + 2·6) / 2, (0·3 + 2·4) / 2, …
// SCORE: s: f32[1, 2, 1, 2]
// SCORE-NEXT: first 5.5 8.5 4 6
func.func @score() -> tensor<1x2x1x2xf32> {
  %q = arith.constant dense<[[[[1.0, 2.0]], [[0.0, 2.0]]]]> : tensor<1x2x1x2xf32>
  %k = arith.constant dense<[[[[3.0, 4.0], [5.0, 6.0]]]]> : tensor<1x1x2x2xf32>
  %s = attn.score %q, %k scale(0.5)
      : tensor<1x2x1x2xf32>, tensor<1x1x2x2xf32> -> tensor<1x2x1x2xf32>
  return %s : tensor<1x2x1x2xf32>
}

// A row of -inf gives 0; NaN spreads over its row only; exp(1000) does not overflow.
// SOFTMAX: first 0.5 0.5 0 0 {{-?}}nan {{-?}}nan 1 0
func.func @softmax() -> tensor<4x2xf32> {
  %s = arith.constant dense<[[7.0, 7.0], [0xFF800000, 0xFF800000], [0x7FC00000, 1.0], [1000.0, 0xFF800000]]>
      : tensor<4x2xf32>
  %p = attn.softmax %s : tensor<4x2xf32>
  return %p : tensor<4x2xf32>
}

// 3/4 and 1/4 down the first column: log 3 = 1.0986…
// AXIS: first 0.75 0.5 0.25 0.5
func.func @axis() -> tensor<2x2xf32> {
  %s = arith.constant dense<[[1.09861228866811, 2.0], [0.0, 2.0]]> : tensor<2x2xf32>
  %p = attn.softmax %s axis(0) : tensor<2x2xf32>
  return %p : tensor<2x2xf32>
}

// score + bias[k] + 100·q, masked above the diagonal.
// REGIONS: first 11 -inf 113 124
func.func @regions() -> tensor<1x1x2x2xf32> {
  %s = arith.constant dense<[[[[1.0, 2.0], [3.0, 4.0]]]]> : tensor<1x1x2x2xf32>
  %bias = arith.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %hundred = arith.constant 100.0 : f32
  %m = attn.modify_score %s {
  ^bb0(%score: f32, %b: index, %h: index, %q: index, %k: index):
    %e = tensor.extract %bias[%k] : tensor<2xf32>
    %row = arith.index_cast %q : index to i32
    %far = arith.sitofp %row : i32 to f32
    %t = arith.mulf %far, %hundred : f32
    %u = arith.addf %score, %e : f32
    %r = arith.addf %u, %t : f32
    attn.yield %r : f32
  } : tensor<1x1x2x2xf32>
  %n = attn.mask %m causal(top_left) : tensor<1x1x2x2xf32>
  return %n : tensor<1x1x2x2xf32>
}

// A prob of 0 hides NaN; any other does not.
// CONTEXT: first 3 {{-?}}nan
func.func @context() -> tensor<1x1x2x1xf32> {
  %p = arith.constant dense<[[[[1.0, 0.0], [0.5, 0.5]]]]> : tensor<1x1x2x2xf32>
  %v = arith.constant dense<[[[[3.0], [0x7FC00000]]]]> : tensor<1x1x2x1xf32>
  %c = attn.context %p, %v : tensor<1x1x2x2xf32>, tensor<1x1x2x1xf32> -> tensor<1x1x2x1xf32>
  return %c : tensor<1x1x2x1xf32>
}

// Keys below the query alone: none, then the first, then two of equal score, whose log Σ
// is 1 + log 2.
// ATTENTION: context: f32[1, 1, 3, 1]
// ATTENTION-NEXT: first 0 4 10
// ATTENTION-NEXT: lse: f32[1, 1, 3]
// ATTENTION-NEXT: first -inf 1 1.69315
func.func @attention() -> (tensor<1x1x3x1xf32> {attn.name = "context"},
                           tensor<1x1x3xf32> {attn.name = "lse"}) {
  %q = arith.constant dense<1.0> : tensor<1x1x3x1xf32>
  %v = arith.constant dense<[[[[2.0], [8.0], [0x7F800000]]]]> : tensor<1x1x3x1xf32>
  %c, %l = attn.attention %q, %q, %v mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %m = arith.cmpi slt, %j, %i : index
    attn.yield %m : i1
  } prob_mod {
  ^bb0(%prob: f32, %b: index, %h: index, %i: index, %j: index):
    %r = arith.addf %prob, %prob : f32
    attn.yield %r : f32
  } : tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32> -> tensor<1x1x3x1xf32>, tensor<1x1x3xf32>
  return %c, %l : tensor<1x1x3x1xf32>, tensor<1x1x3xf32>
}

// LINEAR: first 111 203
func.func @linear() -> tensor<1x2xf32> {
  %x = arith.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %w = arith.constant dense<[[3.0, 4.0], [5.0, -1.0]]> : tensor<2x2xf32>
  %b = arith.constant dense<[100.0, 200.0]> : tensor<2xf32>
  %y = attn.linear %x, %w, %b : tensor<1x2xf32>, tensor<2x2xf32>, tensor<2xf32> -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// len 2, batch 1, 2 heads of 1: [[a0 a1], [b0 b1]] becomes a0 b0, a1 b1.
// HEADS: split: {{.*}}[1, 2, 2, 1]
// HEADS-NEXT: first 1 3 2 4
// HEADS-NEXT: merged: {{.*}}[2, 1, 2]
// HEADS-NEXT: first 1 2 3 4
func.func @heads() -> (tensor<1x2x2x1xf32> {attn.name = "split"},
                       tensor<2x1x2xf32> {attn.name = "merged"}) {
  %x = arith.constant dense<[[[1.0, 2.0]], [[3.0, 4.0]]]> : tensor<2x1x2xf32>
  %s = attn.split_heads %x num_heads(2) layout(time_first) : tensor<2x1x2xf32> -> tensor<1x2x2x1xf32>
  %m = attn.merge_heads %s layout(time_first) : tensor<1x2x2x1xf32> -> tensor<2x1x2xf32>
  return %s, %m : tensor<1x2x2x1xf32>, tensor<2x1x2xf32>
}

// log(3 + 1), of nothing, of infinity, of NaN.
// LSE: first 1.38629 -inf inf {{-?}}nan
func.func @lse() -> tensor<4xf32> {
  %s = arith.constant dense<[[1.09861228866811, 0.0], [0xFF800000, 0xFF800000],
                             [0x7F800000, 0.0], [0x7F800000, 0x7FC00000]]> : tensor<4x2xf32>
  %l = attn.lse %s : tensor<4x2xf32> -> tensor<4xf32>
  return %l : tensor<4xf32>
}

// Mean 2, variance 1: (x - 2) / sqrt(1 + 3) · scale + bias; and 3 / sqrt(12.5 + 12.5).
// NORM: layer: f32[1, 2]
// NORM-NEXT: first 9 22
// NORM-NEXT: rms: f32[2]
// NORM-NEXT: first 0.6 0.8
func.func @layer_norm() -> (tensor<1x2xf32> {attn.name = "layer"}, tensor<2xf32> {attn.name = "rms"}) {
  %x = arith.constant dense<[[1.0, 3.0]]> : tensor<1x2xf32>
  %s = arith.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %b = arith.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %y = attn.layer_norm %x scale(%s : tensor<2xf32>) bias(%b : tensor<2xf32>) epsilon(3.0) : tensor<1x2xf32>
  %z = arith.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %r = attn.layer_norm %z mode(rms) epsilon(12.5) : tensor<2xf32>
  return %y, %r : tensor<1x2xf32>, tensor<2xf32>
}

// EMBEDDING: e: f32[2, 1, 2]
// EMBEDDING-NEXT: first 5 6 1 2
func.func @embedding() -> tensor<2x1x2xf32> {
  %t = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %i = arith.constant dense<[[2], [0]]> : tensor<2x1xi64>
  %e = attn.embedding %t, %i : tensor<3x2xf32>, tensor<2x1xi64> -> tensor<2x1x2xf32>
  return %e : tensor<2x1x2xf32>
}

// A column beside a row.
// MAP: sum: f32[2, 3]
// MAP-NEXT: first 11 12 13 21 22 23
// MAP-NEXT: above: i1[2]
// MAP-NEXT: first 0 1
func.func @map() -> (tensor<2x3xf32> {attn.name = "sum"}, tensor<2xi1> {attn.name = "above"}) {
  %x = arith.constant dense<[[10.0], [20.0]]> : tensor<2x1xf32>
  %y = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %r = attn.map %x, %y {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    attn.yield %sum : f32
  } : tensor<2x1xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %z = arith.constant dense<[3, 4]> : tensor<2xi32>
  %c = attn.map %z {
  ^bb0(%a: i32):
    %three = arith.constant 3 : i32
    %more = arith.cmpi sgt, %a, %three : i32
    attn.yield %more : i1
  } : tensor<2xi32> -> tensor<2xi1>
  return %r, %c : tensor<2x3xf32>, tensor<2xi1>
}

// REDUCE: sum: f32[2]
// REDUCE-NEXT: first 3 10
// REDUCE: max: f32[2, 1]
// REDUCE-NEXT: first 4 {{-?}}nan
// REDUCE: l2: f32[2]
// REDUCE-NEXT: first 5 {{-?}}nan
// REDUCE: mean: f32[1, 2]
// REDUCE-NEXT: first 1.5 5
// REDUCE: prod: i8[]
// REDUCE-NEXT: first -56
func.func @reduce() -> (tensor<2xf32> {attn.name = "sum"}, tensor<2x1xf32> {attn.name = "max"},
                        tensor<2xf32> {attn.name = "l2"}, tensor<1x2xf32> {attn.name = "mean"},
                        tensor<i8> {attn.name = "prod"}) {
  %x = arith.constant dense<[[3.0, 4.0], [0.0, 6.0]]> : tensor<2x2xf32>
  %n = arith.constant dense<[[3.0, 4.0], [0x7FC00000, 6.0]]> : tensor<2x2xf32>
  %i = arith.constant dense<[20, 10]> : tensor<2xi8>
  %sum = attn.reduce sum %x axes [0] : tensor<2x2xf32> -> tensor<2xf32>
  %max = attn.reduce max %n axes [-1] keep_dims : tensor<2x2xf32> -> tensor<2x1xf32>
  %l2 = attn.reduce l2 %n axes [1] : tensor<2x2xf32> -> tensor<2xf32>
  %mean = attn.reduce mean %x axes [0] keep_dims : tensor<2x2xf32> -> tensor<1x2xf32>
  %prod = attn.reduce prod %i axes [0] : tensor<2xi8> -> tensor<i8>
  return %sum, %max, %l2, %mean, %prod
      : tensor<2xf32>, tensor<2x1xf32>, tensor<2xf32>, tensor<1x2xf32>, tensor<i8>
}

// TRANSPOSE: t: i32[3, 1, 2]
// TRANSPOSE-NEXT: first 1 4 2 5 3 6
func.func @transpose() -> tensor<3x1x2xi32> {
  %x = arith.constant dense<[[[1, 2, 3], [4, 5, 6]]]> : tensor<1x2x3xi32>
  %t = attn.transpose %x [2, 0, 1] : tensor<1x2x3xi32> -> tensor<3x1x2xi32>
  return %t : tensor<3x1x2xi32>
}

// SLICES: c: i32[2, 3]
// SLICES-NEXT: first 1 3 9 5 7 9
func.func @slices() -> tensor<2x3xi32> {
  %x = arith.constant dense<[1, 2, 3, 4, 5, 6, 7, 8]> : tensor<8xi32>
  %nine = arith.constant 9 : i32
  %n = tensor.splat %nine : tensor<2x1xi32>
  %square = tensor.expand_shape %x [[0, 1]] output_shape [2, 4] : tensor<8xi32> into tensor<2x4xi32>
  %odd = tensor.extract_slice %square[0, 0] [2, 2] [1, 2] : tensor<2x4xi32> to tensor<2x2xi32>
  %c = tensor.concat dim(1) %odd, %n : (tensor<2x2xi32>, tensor<2x1xi32>) -> tensor<2x3xi32>
  return %c : tensor<2x3xi32>
}

// 100 + 100 wraps in i8; 200 is -56; -56 >> 1 is -28, unsigned 100; -7 floored by 2 is -4.
// INTEGERS: first -56 -28 100 -4 -3 1 1 0
func.func @integers() -> tensor<8xi8> {
  %a = arith.constant 100 : i8
  %one = arith.constant 1 : i8
  %two = arith.constant 2 : i8
  %m7 = arith.constant -7 : i8
  %sum = arith.addi %a, %a : i8
  %shrs = arith.shrsi %sum, %one : i8
  %shru = arith.shrui %sum, %one : i8
  %floor = arith.floordivsi %m7, %two : i8
  %div = arith.divsi %m7, %two : i8
  %slt = arith.cmpi slt, %sum, %a : i8
  %ugt = arith.cmpi ugt, %sum, %a : i8
  %ult = arith.cmpi ult, %sum, %a : i8
  %s = arith.extui %slt : i1 to i8
  %u = arith.extui %ugt : i1 to i8
  %v = arith.extui %ult : i1 to i8
  %r = tensor.from_elements %sum, %shrs, %shru, %floor, %div, %s, %u, %v : tensor<8xi8>
  return %r : tensor<8xi8>
}

// maximumf lets NaN through, maxnumf does not; ties round to even.
// FLOATS: first 2 0.5 {{-?}}nan 5 1.5 -1 1 0
func.func @floats() -> tensor<8xf32> {
  %x = arith.constant dense<2.5> : tensor<1xf32>
  %five = arith.constant 5.0 : f32
  %nan = arith.constant 0x7FC00000 : f32
  %zero = arith.constant 0.0 : f32
  %r = math.roundeven %x : tensor<1xf32>
  %d = arith.subf %x, %r : tensor<1xf32>
  %max = arith.maximumf %five, %nan : f32
  %maxnum = arith.maxnumf %five, %nan : f32
  %fma = math.fma %five, %five, %five : f32
  %twenty = arith.constant 20.0 : f32
  %ratio = arith.divf %fma, %twenty : f32
  %true = arith.cmpf ogt, %five, %zero : f32
  %minus = arith.sitofp %true : i1 to f32
  %plus = arith.uitofp %true : i1 to f32
  %ordered = arith.cmpf one, %nan, %zero : f32
  %no = arith.uitofp %ordered : i1 to f32
  %t = tensor.from_elements %max, %maxnum, %ratio, %minus, %plus, %no : tensor<6xf32>
  %c = tensor.concat dim(0) %r, %d, %t : (tensor<1xf32>, tensor<1xf32>, tensor<6xf32>) -> tensor<8xf32>
  return %c : tensor<8xf32>
}

// DYNAMIC: c: f32[6]
func.func @dynamic(%x: tensor<?x?xf32> {attn.name = "x"}) -> tensor<?xf32> {
  %c = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  return %c : tensor<?xf32>
}

// Two heads, which read keys of their own; and pages in CSR, of which the first sequence has none.
// LISTS: rows: f32[1, 2, 2, 1]
// LISTS-NEXT: first 5 1 4 4
// LISTS: csr: f32[2, 1, 4, 1]
// LISTS-NEXT: first 1 2 1 2 5 6 3 4
// LISTS: lengths: i32[2]
// LISTS-NEXT: first 0 3
func.func @lists() -> (tensor<1x2x2x1xf32> {attn.name = "rows"}, tensor<2x1x4x1xf32> {attn.name = "csr"},
                       tensor<2xi32> {attn.name = "lengths"}) {
  %slots = arith.constant dense<[[[[1.0], [2.0]]], [[[3.0], [4.0]]], [[[5.0], [6.0]]]]> : tensor<3x1x2x1xf32>
  %pool = arith.constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]], [[[5.0]], [[6.0]]]]> : tensor<3x2x1x1xf32>
  %lists = arith.constant dense<[[[2, 0], [1, 1]]]> : tensor<1x2x2xi32>
  %indices = arith.constant dense<[2, 1]> : tensor<2xi32>
  %indptr = arith.constant dense<[0, 0, 2]> : tensor<3xi32>
  %last = arith.constant dense<[7, 1]> : tensor<2xi32>
  %r = attn.gather_pages %slots[%lists] : tensor<3x1x2x1xf32>, tensor<1x2x2xi32>
  %c = attn.gather_pages %pool[%indices] offsets(%indptr : tensor<3xi32>) : tensor<3x2x1x1xf32>, tensor<2xi32>
  %n = attn.page_lengths %pool[%indices] offsets(%indptr : tensor<3xi32>) last(%last : tensor<2xi32>)
      : tensor<3x2x1x1xf32>, tensor<2xi32>
  return %r, %c, %n : tensor<1x2x2x1xf32>, tensor<2x1x4x1xf32>, tensor<2xi32>
}

// Three pages of two keys. The second entry of the second sequence is not followed.
// PAGES: rows: f32[2, 1, 4, 1]
// PAGES-NEXT: first 5 6 1 2 3 4 1 2
// PAGES: context: f32[2, 1, 1, 1]
// PAGES-NEXT: first 3.5 3
func.func @pages() -> (tensor<2x1x4x1xf32> {attn.name = "rows"}, tensor<2x1x1x1xf32> {attn.name = "context"}) {
  %pool = arith.constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]], [[[5.0]], [[6.0]]]]> : tensor<3x2x1x1xf32>
  %heads = arith.constant dense<[[[[1.0], [2.0]]], [[[3.0], [4.0]]], [[[5.0], [6.0]]]]> : tensor<3x1x2x1xf32>
  %table = arith.constant dense<[[2, 0], [1, -1]]> : tensor<2x2xi32>
  %n = arith.constant dense<[4, 1]> : tensor<2xi32>
  %q = arith.constant dense<0.0> : tensor<2x1x1x1xf32>
  %r = attn.gather_pages %pool[%table] lengths(%n : tensor<2xi32>) : tensor<3x2x1x1xf32>, tensor<2x2xi32>
  %c = attn.attention %q, %heads, %heads pages(%table : tensor<2x2xi32>) lengths(%n : tensor<2xi32>) mask {
  ^bb0(%batch: index, %head: index, %i: index, %k: index):
    %length = tensor.extract %n[%batch] : tensor<2xi32>
    %end = arith.index_cast %length : i32 to index
    %seen = arith.cmpi slt, %k, %end : index
    attn.yield %seen : i1
  } : tensor<2x1x1x1xf32>, tensor<3x1x2x1xf32>, tensor<3x1x2x1xf32> -> tensor<2x1x1x1xf32>
  return %r, %c : tensor<2x1x4x1xf32>, tensor<2x1x1x1xf32>
}

// Sequences of one row and of two; behind a sequence's rows stand those of the next.
// PACKED: rows: f32[2, 1, 3, 1]
// PACKED-NEXT: first 1 2 3 2 3 3
// PACKED: again: f32[3, 1, 1]
// PACKED-NEXT: first 1 2 3
// PACKED: context: f32[1, 1, 3, 1]
// PACKED-NEXT: first 4 5.5 5.5
func.func @packed() -> (tensor<2x1x3x1xf32> {attn.name = "rows"}, tensor<3x1x1xf32> {attn.name = "again"},
                        tensor<1x1x3x1xf32> {attn.name = "context"}) {
  %rows = arith.constant dense<[[[1.0]], [[2.0]], [[3.0]]]> : tensor<3x1x1xf32>
  %o = arith.constant dense<[0, 1, 3]> : tensor<3xi32>
  %q = arith.constant dense<0.0> : tensor<1x1x3x1xf32>
  %k = arith.constant dense<[[[[4.0], [5.0], [6.0]]]]> : tensor<1x1x3x1xf32>
  %r = attn.unpack_rows %rows offsets(%o) : tensor<3x1x1xf32>, tensor<3xi32>
  %a = attn.pack_rows %r offsets(%o) : tensor<2x1x3x1xf32>, tensor<3xi32>
  %c = attn.attention %q, %k, %k offsets(%o : tensor<3xi32>) kv_offsets(%o : tensor<3xi32>) mask {
  ^bb0(%batch: index, %head: index, %i: index, %j: index):
    %c1 = arith.constant 1 : index
    %next = arith.addi %batch, %c1 : index
    %first = tensor.extract %o[%batch] : tensor<3xi32>
    %end = tensor.extract %o[%next] : tensor<3xi32>
    %n = arith.subi %end, %first : i32
    %length = arith.index_cast %n : i32 to index
    %seen = arith.cmpi slt, %j, %length : index
    attn.yield %seen : i1
  } : tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32> -> tensor<1x1x3x1xf32>
  return %r, %a, %c : tensor<2x1x3x1xf32>, tensor<3x1x1xf32>, tensor<1x1x3x1xf32>
}

// The second sequence appends one of its rows; its second entry is not followed.
// APPEND: r: f32[3, 2, 1, 1]
// APPEND-NEXT: first 12 2 21 4 5 11
// APPEND: csr: f32[3, 2, 1, 1]
// APPEND-NEXT: first 12 2 21 4 5 11
// APPEND: packed: f32[3, 2, 1, 1]
// APPEND-NEXT: first 12 2 21 4 5 11
func.func @append() -> (tensor<3x2x1x1xf32> {attn.name = "r"}, tensor<3x2x1x1xf32> {attn.name = "csr"},
                        tensor<3x2x1x1xf32> {attn.name = "packed"}) {
  %pool = arith.constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]], [[[5.0]], [[6.0]]]]> : tensor<3x2x1x1xf32>
  %rows = arith.constant dense<[[[[11.0], [12.0]]], [[[21.0], [22.0]]]]> : tensor<2x1x2x1xf32>
  %table = arith.constant dense<[[2, 0], [1, -1]]> : tensor<2x2xi32>
  %length = arith.constant dense<[1, 0]> : tensor<2xi32>
  %n = arith.constant dense<[2, 1]> : tensor<2xi32>
  %r = attn.append_pages %pool[%table], %rows, %length counts(%n : tensor<2xi32>)
      : tensor<3x2x1x1xf32>, tensor<2x2xi32>, tensor<2x1x2x1xf32>, tensor<2xi32>
  %indices = arith.constant dense<[2, 0, 1]> : tensor<3xi32>
  %indptr = arith.constant dense<[0, 2, 3]> : tensor<3xi32>
  %csr = attn.append_pages %pool[%indices] offsets(%indptr : tensor<3xi32>), %rows, %length counts(%n : tensor<2xi32>)
      : tensor<3x2x1x1xf32>, tensor<3xi32>, tensor<2x1x2x1xf32>, tensor<2xi32>
  %packed = arith.constant dense<[[[[11.0], [12.0], [21.0]]]]> : tensor<1x1x3x1xf32>
  %offsets = arith.constant dense<[0, 2, 3]> : tensor<3xi32>
  %p = attn.append_pages %pool[%table], %packed, %length row_offsets(%offsets : tensor<3xi32>)
      : tensor<3x2x1x1xf32>, tensor<2x2xi32>, tensor<1x1x3x1xf32>, tensor<2xi32>
  return %r, %csr, %p : tensor<3x2x1x1xf32>, tensor<3x2x1x1xf32>, tensor<3x2x1x1xf32>
}

// The scales are 254 / 127, 0 and, with an infinity, infinite.
// QUANTIZE: q: i8[1, 1, 3, 2]
// QUANTIZE-NEXT: first 127 -2 0 0 0 0
// QUANTIZE: s: f32[1, 1, 3, 1]
// QUANTIZE-NEXT: first 2 0 inf
// QUANTIZE: w: f32[1, 1, 3, 2]
// QUANTIZE-NEXT: first 254 -4 0 0 {{-?nan -?nan}}
func.func @quantize() -> (tensor<1x1x3x2xi8> {attn.name = "q"}, tensor<1x1x3x1xf32> {attn.name = "s"},
                          tensor<1x1x3x2xf32> {attn.name = "w"}) {
  %x = arith.constant dense<[[[[254.0, -4.9], [0.0, 0.0], [1.0, 0x7F800000]]]]> : tensor<1x1x3x2xf32>
  %q, %s = attn.quantize %x : tensor<1x1x3x2xf32> -> tensor<1x1x3x2xi8>, tensor<1x1x3x1xf32>
  %w = attn.dequantize %q scales(%s : tensor<1x1x3x1xf32>) : tensor<1x1x3x2xi8> -> tensor<1x1x3x2xf32>
  return %q, %s, %w : tensor<1x1x3x2xi8>, tensor<1x1x3x1xf32>, tensor<1x1x3x2xf32>
}
