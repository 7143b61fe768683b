// Lanes of scores, in squares of 8 keys, also beside tiles that are no part of a square, and in tiles of 4, 6 and 16 lanes.

// DEFINE: %{lanes} =
// DEFINE: %{keys} =
// DEFINE: %{block} =
// DEFINE: %{verify} = attnc compile %s --emit fused -o - | sed -E 's/vector_width = [0-9]+, (score_rows = [0-9]+), score_keys = [0-9]+/vector_width = %{lanes}, \1, score_keys = %{keys}/; s/kv_block = [0-9]+/kv_block = %{block}/' > %t.mlir && grep -q 'kv_block = %{block}, vector_width = %{lanes},.* score_keys = %{keys},' %t.mlir && attnc verify %t.mlir --size kv_len=101 | FileCheck %s

// RUN: attnc verify %s --size kv_len=101 | FileCheck %s
// REDEFINE: %{lanes} = 4
// REDEFINE: %{keys} = 3
// REDEFINE: %{block} = 24
// RUN: %{verify}
// REDEFINE: %{lanes} = 8
// REDEFINE: %{keys} = 2
// REDEFINE: %{block} = 32
// RUN: %{verify}
// REDEFINE: %{keys} = 3
// REDEFINE: %{block} = 48
// RUN: %{verify}
// REDEFINE: %{lanes} = 16
// REDEFINE: %{keys} = 6
// REDEFINE: %{block} = 96
// RUN: %{verify}
// REDEFINE: %{lanes} = 6
// REDEFINE: %{keys} = 2
// REDEFINE: %{block} = 48
// RUN: %{verify}
// CHECK: cases, all within the allowed error

func.func @step(%query: tensor<1x4x1x96xf16>,
                %key: tensor<1x2x?x96xf16> {attn.dims = [1, 2, "kv_len", 96]},
                %value: tensor<1x2x?x96xf16> {attn.dims = [1, 2, "kv_len", 96]}) -> tensor<1x4x1x96xf16> {
  %score = attn.score %query, %key scale(0.125)
      : tensor<1x4x1x96xf16>, tensor<1x2x?x96xf16> -> tensor<1x4x1x?xf16>
  %prob = attn.softmax %score : tensor<1x4x1x?xf16>
  %context = attn.context %prob, %value
      : tensor<1x4x1x?xf16>, tensor<1x2x?x96xf16> -> tensor<1x4x1x96xf16>
  return %context : tensor<1x4x1x96xf16>
}
