// Sizes that are sums of others are written as such; others get numbers, one for each size.
// RUN: attnc explain %examples/time_first/spec.mlir --function incremental | FileCheck %s --check-prefix=SUM
// RUN: attnc explain %s | FileCheck %s
// RUN: attnc compile %s --emit json -o - | FileCheck %s --check-prefix=JSON

// Of an embedding's table, the rows of the ids are read.
// RUN: attnc explain %examples/encoder/spec.mlir | FileCheck %s --check-prefix=ROWS
// ROWS: attn.embedding at {{.*}} -> f32[batch, len, 32]
// ROWS: bytes 264·batch·len

// SUM: tensor.concat at {{.*}} -> f32[batch, 2, (prev_len + step_len), 16]
// SUM: FLOPs 128·(prev_len + step_len)·batch·step_len

// CHECK: attn.score at {{.*}} -> f32[1, 1, ?1, ?2]
// CHECK: FLOPs 16·?1·?2
// CHECK: attn.softmax at {{.*}} -> f32[1, 1, ?1, ?2]
// CHECK: bytes 8·?1·?2
// JSON: "flops": "16*?1*?2"
func.func @products(%left: tensor<?x?x8xf32> {attn.name = "left", attn.dims = ["batch", "len", 8]},
                    %right: tensor<?x?x8xf32> {attn.name = "right", attn.dims = ["batch", "other_len", 8]})
    -> tensor<1x1x?x?xf32> {
  %c0 = arith.constant 0 : index
  %rows = tensor.collapse_shape %left [[0, 1], [2]] : tensor<?x?x8xf32> into tensor<?x8xf32>
  %columns = tensor.collapse_shape %right [[0, 1], [2]] : tensor<?x?x8xf32> into tensor<?x8xf32>
  %num_rows = tensor.dim %rows, %c0 : tensor<?x8xf32>
  %num_columns = tensor.dim %columns, %c0 : tensor<?x8xf32>
  %query = tensor.expand_shape %rows [[0, 1, 2], [3]] output_shape [1, 1, %num_rows, 8]
      : tensor<?x8xf32> into tensor<1x1x?x8xf32>
  %key = tensor.expand_shape %columns [[0, 1, 2], [3]] output_shape [1, 1, %num_columns, 8]
      : tensor<?x8xf32> into tensor<1x1x?x8xf32>
  %score = attn.score %query, %key : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>
  %prob = attn.softmax %score : tensor<1x1x?x?xf32>
  return %prob : tensor<1x1x?x?xf32>
}
