// RUN: attn-opt %s --attn-pipeline='target=x86-64-linux-cuda-cuda_capability_80' | FileCheck %s

// Packed rows: a block for each offset where a sequence has one tile of rows, which splits its keys; else the warp looks for
// the sequence of its tile.
// CHECK: cuda.kernel @packed_attention_{{[0-9]+}} names(["query", "key", "value", "offsets", "context", "statistics"])
// CHECK-SAME: memref<16x?x8x1x64xf32>, memref<16x?x8x1x2xf32>]) num_inputs(4)
// CHECK-SAME: blocks({{\[\[}}3, 0, 1, 1], [0, 1, 1, 4], [0, 0, 1, 1], [4, 0, 1, 1]])
// CHECK-NOT: ballot
// CHECK: cuda.kernel @packed_merge_{{[0-9]+}} names(["contexts", "statistics", "offsets", "context"])
// CHECK-SAME: blocks({{\[\[}}1, 1, 3, 1]])
// CHECK-NOT: ballot
// CHECK: cuda.kernel @packed_attention_{{[0-9]+}} names(["query", "key", "value", "offsets", "context"])
// CHECK-SAME: blocks({{\[\[}}0, 2, 1, 128, 3, 0], [0, 1, 1, 1], [0, 0, 1, 1]])
// CHECK: scf.for
// CHECK: nvvm.vote.sync ballot
// CHECK: llvm.intr.ctpop
!q = tensor<1x8x?x64xf16>
!k = tensor<?x2x?x64xf16>
func.func @packed(%q: !q, %k: !k, %v: !k, %o: tensor<?xi32>) -> !q {
  %c = attn.attention %q, %k, %v offsets(%o : tensor<?xi32>) : !q, !k, !k -> !q
  return %c : !q
}
