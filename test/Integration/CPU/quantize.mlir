// Rows are quantized where they are appended, and the attention reads what is stored.
// RUN: attnc verify %s --function cache | FileCheck %s
// RUN: attnc verify %s --function float8 | FileCheck %s
// RUN: attnc verify %s --function halves | FileCheck %s
// RUN: attnc verify %s --function empty | FileCheck %s
// CHECK: all within the allowed error

func.func @cache(%query: tensor<2x4x1x64xf32> {attn.name = "query"}, %rows: tensor<2x2x1x64xf32> {attn.name = "rows"},
                 %cache: tensor<2x2x?x64xi8> {attn.name = "cache", attn.dims = [2, 2, "room", 64]},
                 %scales: tensor<2x2x?x1xf32> {attn.name = "scales", attn.dims = [2, 2, "room", 1]},
                 %past: tensor<2xi32> {attn.name = "past"})
    -> (tensor<2x4x1x64xf32> {attn.name = "context"}, tensor<2x2x?x64xi8> {attn.name = "next_cache"},
        tensor<2x2x?x1xf32> {attn.name = "next_scales"}) {
  %i8, %s = attn.quantize %rows : tensor<2x2x1x64xf32> -> tensor<2x2x1x64xi8>, tensor<2x2x1x1xf32>
  %all = attn.append_cache %cache, %i8, %past : tensor<2x2x?x64xi8>, tensor<2x2x1x64xi8>, tensor<2xi32>
  %factors = attn.append_cache %scales, %s, %past : tensor<2x2x?x1xf32>, tensor<2x2x1x1xf32>, tensor<2xi32>
  %k = attn.dequantize %all scales(%factors : tensor<2x2x?x1xf32>) : tensor<2x2x?x64xi8> -> tensor<2x2x?x64xf32>
  %score = attn.score %query, %k scale(0.125) : tensor<2x4x1x64xf32>, tensor<2x2x?x64xf32>
  %masked = attn.mask %score {
  ^bb0(%batch: index, %head: index, %i: index, %j: index):
    %length = tensor.extract %past[%batch] : tensor<2xi32>
    %last = arith.index_cast %length : i32 to index
    %visible = arith.cmpi sle, %j, %last : index
    attn.yield %visible : i1
  } : tensor<2x4x1x?xf32>
  %prob = attn.softmax %masked : tensor<2x4x1x?xf32>
  %context = attn.context %prob, %k : tensor<2x4x1x?xf32>, tensor<2x2x?x64xf32>
  return %context, %all, %factors : tensor<2x4x1x64xf32>, tensor<2x2x?x64xi8>, tensor<2x2x?x1xf32>
}

// The same in floats of 8 bits.
func.func @float8(%query: tensor<2x4x1x64xf32> {attn.name = "query"}, %rows: tensor<2x2x1x64xf32> {attn.name = "rows"},
                 %cache: tensor<2x2x?x64xf8E4M3FN> {attn.name = "cache", attn.dims = [2, 2, "room", 64]},
                 %scales: tensor<2x2x?x1xf32> {attn.name = "scales", attn.dims = [2, 2, "room", 1]},
                 %past: tensor<2xi32> {attn.name = "past"})
    -> (tensor<2x4x1x64xf32> {attn.name = "context"}, tensor<2x2x?x64xf8E4M3FN> {attn.name = "next_cache"},
        tensor<2x2x?x1xf32> {attn.name = "next_scales"}) {
  %f8, %s = attn.quantize %rows : tensor<2x2x1x64xf32> -> tensor<2x2x1x64xf8E4M3FN>, tensor<2x2x1x1xf32>
  %all = attn.append_cache %cache, %f8, %past : tensor<2x2x?x64xf8E4M3FN>, tensor<2x2x1x64xf8E4M3FN>, tensor<2xi32>
  %factors = attn.append_cache %scales, %s, %past : tensor<2x2x?x1xf32>, tensor<2x2x1x1xf32>, tensor<2xi32>
  %k = attn.dequantize %all scales(%factors : tensor<2x2x?x1xf32>) : tensor<2x2x?x64xf8E4M3FN> -> tensor<2x2x?x64xf32>
  %score = attn.score %query, %k scale(0.125) : tensor<2x4x1x64xf32>, tensor<2x2x?x64xf32>
  %masked = attn.mask %score {
  ^bb0(%batch: index, %head: index, %i: index, %j: index):
    %length = tensor.extract %past[%batch] : tensor<2xi32>
    %last = arith.index_cast %length : i32 to index
    %visible = arith.cmpi sle, %j, %last : index
    attn.yield %visible : i1
  } : tensor<2x4x1x?xf32>
  %prob = attn.softmax %masked : tensor<2x4x1x?xf32>
  %context = attn.context %prob, %k : tensor<2x4x1x?xf32>, tensor<2x2x?x64xf32>
  return %context, %all, %factors : tensor<2x4x1x64xf32>, tensor<2x2x?x64xf8E4M3FN>, tensor<2x2x?x1xf32>
}

// Keys and values in half precision, widened by ops that say nothing of attention.
func.func @halves(%query: tensor<1x4x?x64xf32> {attn.name = "query", attn.dims = [1, 4, "q_len", 64]},
                  %key: tensor<1x?x256xf16> {attn.name = "key", attn.dims = [1, "kv_len", 256]},
                  %value: tensor<1x4x?x64xbf16> {attn.name = "value", attn.dims = [1, 4, "kv_len", 64]})
    -> tensor<1x4x?x64xf32> {
  %wide = arith.extf %key : tensor<1x?x256xf16> to tensor<1x?x256xf32>
  %k = attn.split_heads %wide num_heads(4) : tensor<1x?x256xf32> -> tensor<1x4x?x64xf32>
  %v = attn.map %value {
  ^bb0(%x: bf16):
    %y = arith.extf %x : bf16 to f32
    attn.yield %y : f32
  } : tensor<1x4x?x64xbf16> -> tensor<1x4x?x64xf32>
  %score = attn.score %query, %k scale(0.125) : tensor<1x4x?x64xf32>, tensor<1x4x?x64xf32>
  %prob = attn.softmax %score : tensor<1x4x?x?xf32>
  %context = attn.context %prob, %v : tensor<1x4x?x?xf32>, tensor<1x4x?x64xf32>
  return %context : tensor<1x4x?x64xf32>
}

// Rows without elements have scales of 0.
func.func @empty(%rows: tensor<1x2x?x0xf32>) -> (tensor<1x2x?x0xi8>, tensor<1x2x?x1xf32>) {
  %i8, %s = attn.quantize %rows : tensor<1x2x?x0xf32> -> tensor<1x2x?x0xi8>, tensor<1x2x?x1xf32>
  return %i8, %s : tensor<1x2x?x0xi8>, tensor<1x2x?x1xf32>
}
