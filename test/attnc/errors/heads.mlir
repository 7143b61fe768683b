// RUN: %exits 1 attnc run %s --input query=random:1x8x4x16 --input key=random:1x3x4x16 2>&1 | FileCheck %s
// RUN: %exits 1 attnc run %s --input query=random:2x8x4x16 --input key=random:1x8x4x16 2>&1 | FileCheck %s --check-prefix=BATCH

// Dynamic sizes are checked where a tensor is given, if two must be equal, or else by the compiled function.
// CHECK: error: expected num_q_heads of attn.score to be a multiple of num_kv_heads
// BATCH: error: key: expected dimension 0, batch, to be 2 as in query, found 1x8x4x16
func.func @heads(%q: tensor<?x?x?x16xf32> {attn.name = "query"}, %k: tensor<?x?x?x16xf32> {attn.name = "key"})
    -> (tensor<?x?x?x?xf32> {attn.name = "score"}) {
  %s = attn.score %q, %k : tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32> -> tensor<?x?x?x?xf32>
  return %s : tensor<?x?x?x?xf32>
}
