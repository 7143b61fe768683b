// Dynamic num_q_heads and num_kv_heads.

// RUN: attnc verify %s --size batch=2,heads=3,len=5,head_dim=7,groups=2,width=12 | FileCheck %s
// RUN: %exits 1 attnc run %s --input x=ones:2x5x13 --input heads=ones:2x3x5x7 --input groups=ones:2x3x5x8 2>&1 | FileCheck %s --check-prefix=SPLIT
// RUN: %exits 1 attnc run %s --input x=ones:2x5x12 --input heads=ones:2x3x5x7 --input groups=ones:2x4x5x8 2>&1 | FileCheck %s --check-prefix=MERGE
// CHECK: cases, all within the allowed error
// SPLIT: error: expected num_heads of attn.split_heads to divide the width
// MERGE: error: expected num_heads * head_dim of attn.merge_heads to match the width

func.func @heads(%x: tensor<?x?x?xf32> {attn.name = "x", attn.dims = ["batch", "len", "width"]},
                 %heads: tensor<?x?x?x?xf32> {attn.name = "heads", attn.dims = ["batch", "heads", "len", "head_dim"]},
                 %groups: tensor<?x?x?x8xf32> {attn.name = "groups", attn.dims = ["batch", "groups", "len", 8]})
    -> (tensor<?x4x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x16xf32>) {
  %s = attn.split_heads %x num_heads(4) : tensor<?x?x?xf32> -> tensor<?x4x?x?xf32>
  %m = attn.merge_heads %heads : tensor<?x?x?x?xf32> -> tensor<?x?x?xf32>
  %t = attn.merge_heads %heads layout(time_first) : tensor<?x?x?x?xf32> -> tensor<?x?x?xf32>
  %g = attn.merge_heads %groups : tensor<?x?x?x8xf32> -> tensor<?x?x16xf32>
  return %s, %m, %t, %g : tensor<?x4x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x16xf32>
}
