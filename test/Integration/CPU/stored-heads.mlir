// Linear layers that store the heads of their results one after the other.

// RUN: attnc verify %s --function batch_first --size batch=0,1,2,17 --size len=1,2,5,13,97,130 | FileCheck %s
// RUN: attnc verify %s --function time_first --size batch=0,1,2,17 --size len=1,2,5,13,97,130 | FileCheck %s
// RUN: attnc verify %s --function in_place --size len=1,2,5,128,129 | FileCheck %s
// RUN: attnc verify %s --function bf16 --size len=1,2,5,97 | FileCheck %s
// RUN: attnc verify %s --function wide_panels --size len=1,2,97 | FileCheck %s
// CHECK: all within the allowed error

func.func @batch_first(%x: tensor<?x?x24xf32> {attn.name = "x", attn.dims = ["batch", "len", 24]},
                       %b: tensor<192xf32> {attn.name = "b"}) -> (tensor<?x3x?x64xf32> {attn.name = "h"}) {
  %w = arith.constant dense<0.5> : tensor<192x24xf32>
  %y = attn.linear %x, %w, %b : tensor<?x?x24xf32>, tensor<192x24xf32>, tensor<192xf32> -> tensor<?x?x192xf32>
  %h = attn.split_heads %y num_heads(3) : tensor<?x?x192xf32> -> tensor<?x3x?x64xf32>
  return %h : tensor<?x3x?x64xf32>
}

func.func @time_first(%x: tensor<?x?x24xf32> {attn.name = "x", attn.dims = ["len", "batch", 24]},
                      %w: tensor<192x24xf32> {attn.name = "w"}, %b: tensor<192xf32> {attn.name = "b"})
    -> (tensor<?x3x?x64xf32> {attn.name = "h"}) {
  %y = attn.linear %x, %w, %b : tensor<?x?x24xf32>, tensor<192x24xf32>, tensor<192xf32> -> tensor<?x?x192xf32>
  %h = attn.split_heads %y num_heads(3) layout(time_first) : tensor<?x?x192xf32> -> tensor<?x3x?x64xf32>
  return %h : tensor<?x3x?x64xf32>
}

func.func @in_place(%x: tensor<1x?x32xf32> {attn.name = "x", attn.dims = [1, "len", 32]},
                    %w: tensor<128x32xf32> {attn.name = "w"}) -> (tensor<1x2x?x64xf32> {attn.name = "h"}) {
  %y = attn.linear %x, %w : tensor<1x?x32xf32>, tensor<128x32xf32> -> tensor<1x?x128xf32>
  %h = attn.split_heads %y num_heads(2) : tensor<1x?x128xf32> -> tensor<1x2x?x64xf32>
  return %h : tensor<1x2x?x64xf32>
}

func.func @bf16(%x: tensor<2x?x33xbf16> {attn.name = "x", attn.dims = [2, "len", 33]},
                %w: tensor<128x33xbf16> {attn.name = "w"}) -> (tensor<2x1x?x128xbf16> {attn.name = "h"}) {
  %y = attn.linear %x, %w : tensor<2x?x33xbf16>, tensor<128x33xbf16> -> tensor<2x?x128xbf16>
  %h = attn.split_heads %y num_heads(1) : tensor<2x?x128xbf16> -> tensor<2x1x?x128xbf16>
  return %h : tensor<2x1x?x128xbf16>
}

// One schedule's panels are wider than a head: both store rows.
func.func @wide_panels(%x: tensor<2x?x24xf32> {attn.name = "x", attn.dims = [2, "len", 24]},
                       %w: tensor<64x24xf32> {attn.name = "w"}) -> (tensor<2x4x?x16xf32> {attn.name = "h"}) {
  %y = attn.linear %x, %w schedule([#attn.linear<row_tile = 4, vectors = 4, vector_width = 8, row_block = 16, packed = false, max_rows = 32>,
                                    #attn.linear<row_tile = 6, vectors = 2, vector_width = 8, row_block = 48>])
      : tensor<2x?x24xf32>, tensor<64x24xf32> -> tensor<2x?x64xf32>
  %h = attn.split_heads %y num_heads(4) : tensor<2x?x64xf32> -> tensor<2x4x?x16xf32>
  return %h : tensor<2x4x?x16xf32>
}
