// Scores in 16 bits that are widened for mask and softmax, and probs rounded for the product: fused.
// A row that sees no key takes the mean of all values, as scores of -3.4e38 are equal in f32.
// RUN: attnc verify %s --function masked --size len=19 | FileCheck %s
// RUN: attnc verify %s --function masked --size len=19 --input hidden=ones | FileCheck %s
// RUN: attnc verify %s --function masked --size len=1,40 | FileCheck %s
// RUN: attnc verify %s --function rounded_twice | FileCheck %s
// RUN: attnc explain %s --function masked | FileCheck %s --check-prefix=EXPLAIN
// RUN: attnc explain %s --function rounded_twice | FileCheck %s --check-prefix=EXPLAIN
// CHECK: cases, all within the allowed error
// EXPLAIN: fused into attn.attention
// EXPLAIN: key widened from {{b?}}f16 as it is read; value widened from {{b?}}f16 as it is read

func.func @masked(%query: tensor<2x3x?x16xf16> {attn.name = "query", attn.dims = [2, 3, "len", 16]},
                  %key: tensor<2x3x?x16xf16> {attn.name = "key", attn.dims = [2, 3, "len", 16]},
                  %value: tensor<2x3x?x16xf16> {attn.name = "value", attn.dims = [2, 3, "len", 16]},
                  %hidden: tensor<?x?xf16> {attn.name = "hidden", attn.dims = ["len", "len"]})
    -> (tensor<2x3x?x16xf16> {attn.name = "context"}) {
  %columns = attn.transpose %key [0, 1, 3, 2] : tensor<2x3x?x16xf16> -> tensor<2x3x16x?xf16>
  %score = attn.matmul %query, %columns : tensor<2x3x?x16xf16>, tensor<2x3x16x?xf16> -> tensor<2x3x?x?xf16>
  %masked = attn.map %score, %hidden {
  ^bb0(%s: f16, %is_hidden: f16):
    %quarter = arith.constant 0.25 : f16
    %zero = arith.constant 0.0 : f16
    %low = arith.constant 0xFF7FFFFF : f32
    %scaled = arith.mulf %s, %quarter : f16
    %wide = arith.extf %scaled : f16 to f32
    %hides = arith.cmpf ogt, %is_hidden, %zero : f16
    %r = arith.select %hides, %low, %wide : f32
    attn.yield %r : f32
  } : tensor<2x3x?x?xf16>, tensor<?x?xf16> -> tensor<2x3x?x?xf32>
  %prob = attn.softmax %masked : tensor<2x3x?x?xf32>
  %rounded = arith.truncf %prob : tensor<2x3x?x?xf32> to tensor<2x3x?x?xf16>
  %context = attn.matmul %rounded, %value : tensor<2x3x?x?xf16>, tensor<2x3x?x16xf16> -> tensor<2x3x?x16xf16>
  return %context : tensor<2x3x?x16xf16>
}

// From bf16 to f16 and back on the way.
func.func @rounded_twice(%query: tensor<1x2x7x16xbf16> {attn.name = "query"},
                         %key: tensor<1x2x9x16xbf16> {attn.name = "key"},
                         %value: tensor<1x2x9x16xbf16> {attn.name = "value"})
    -> (tensor<1x2x7x16xbf16> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25) : tensor<1x2x7x16xbf16>, tensor<1x2x9x16xbf16> -> tensor<1x2x7x9xbf16>
  %other = attn.map %score {
  ^bb0(%s: bf16):
    %wide = arith.extf %s : bf16 to f32
    %rounded = arith.truncf %wide : f32 to f16
    attn.yield %rounded : f16
  } : tensor<1x2x7x9xbf16> -> tensor<1x2x7x9xf16>
  %wide = arith.extf %other : tensor<1x2x7x9xf16> to tensor<1x2x7x9xf32>
  %prob = attn.softmax %wide : tensor<1x2x7x9xf32>
  %rounded = arith.truncf %prob : tensor<1x2x7x9xf32> to tensor<1x2x7x9xbf16>
  %context = attn.context %rounded, %value : tensor<1x2x7x9xbf16>, tensor<1x2x9x16xbf16> -> tensor<1x2x7x16xbf16>
  return %context : tensor<1x2x7x16xbf16>
}
