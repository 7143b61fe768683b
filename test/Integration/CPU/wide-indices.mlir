// Numbers that 32 bits don't hold, compared with positions: as wide as can be, and as low.

// RUN: attnc verify %s --function lengths --size len=21 | FileCheck %s
// RUN: attnc verify %s --function form --size len=21 | FileCheck %s
// CHECK: cases, all within the allowed error

func.func @lengths(%query: tensor<3x1x?x16xf32> {attn.name = "query", attn.dims = [3, 1, "len", 16]},
                   %key: tensor<3x1x?x16xf32> {attn.name = "key", attn.dims = [3, 1, "len", 16]}) -> tensor<3x1x?x16xf32> {
  %n = arith.constant dense<[9223372036854775807, -9223372036854775808, 4294967299]> : tensor<3xi64>
  %score = attn.score %query, %key : tensor<3x1x?x16xf32>, tensor<3x1x?x16xf32> -> tensor<3x1x?x?xf32>
  %mask = attn.mask %score kv_lengths(%n : tensor<3xi64>) : tensor<3x1x?x?xf32>
  %prob = attn.softmax %mask : tensor<3x1x?x?xf32>
  %context = attn.context %prob, %key : tensor<3x1x?x?xf32>, tensor<3x1x?x16xf32> -> tensor<3x1x?x16xf32>
  return %context : tensor<3x1x?x16xf32>
}

func.func @form(%query: tensor<1x1x?x16xf32> {attn.name = "query", attn.dims = [1, 1, "len", 16]},
                %key: tensor<1x1x8x16xf32>) -> tensor<1x1x?x16xf32> {
  %score = attn.score %query, %key : tensor<1x1x?x16xf32>, tensor<1x1x8x16xf32> -> tensor<1x1x?x8xf32>
  %mask = attn.mask %score window(9223372036854775807, 3, bottom_right) block(4294967296) : tensor<1x1x?x8xf32>
  %prob = attn.softmax %mask : tensor<1x1x?x8xf32>
  %context = attn.context %prob, %key : tensor<1x1x?x8xf32>, tensor<1x1x8x16xf32> -> tensor<1x1x?x16xf32>
  return %context : tensor<1x1x?x16xf32>
}
