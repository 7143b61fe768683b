// Two layers that append to pages of their own with keys first: what a check of the second reads
// depends on the first one's attention, which reads its pages after they are written.
// RUN: attnc verify %s --size batch=2,new=3,maxp=3 | FileCheck %s
// CHECK: cases, all within the allowed error

func.func @two(%x: tensor<?x4x?x64xf32> {attn.name = "x", attn.dims = ["batch", 4, "new", 64]},
    %past: tensor<?xi32> {attn.name = "past", attn.dims = ["batch"]}, %n: tensor<?xi32> {attn.name = "n", attn.dims = ["batch"]},
    %table: tensor<?x?xi32> {attn.name = "table", attn.dims = ["batch", "maxp"]},
    %pool1: tensor<?x16x4x64xf32> {attn.name = "pool1", attn.dims = ["np", 16, 4, 64]},
    %pool2: tensor<?x16x4x64xf32> {attn.name = "pool2", attn.dims = ["np", 16, 4, 64]})
    -> (tensor<?x4x?x64xf32> {attn.name = "out", attn.dims = ["batch", 4, "new", 64]}, tensor<?x16x4x64xf32> {attn.name = "next1"}, tensor<?x16x4x64xf32> {attn.name = "next2"}) {
  %p1 = attn.append_pages %pool1[%table], %x, %past : tensor<?x16x4x64xf32>, tensor<?x?xi32>, tensor<?x4x?x64xf32>, tensor<?xi32>
  %k1 = attn.gather_pages %p1[%table] lengths(%n : tensor<?xi32>) : tensor<?x16x4x64xf32>, tensor<?x?xi32>
  %s1 = attn.score %x, %k1 scale(0.125) : tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>
  %m1 = attn.mask %s1 kv_lengths(%n : tensor<?xi32>) : tensor<?x4x?x?xf32>
  %r1 = attn.softmax %m1 : tensor<?x4x?x?xf32>
  %c1 = attn.context %r1, %k1 : tensor<?x4x?x?xf32>, tensor<?x4x?x64xf32>
  %p2 = attn.append_pages %pool2[%table], %c1, %past : tensor<?x16x4x64xf32>, tensor<?x?xi32>, tensor<?x4x?x64xf32>, tensor<?xi32>
  %k2 = attn.gather_pages %p2[%table] lengths(%n : tensor<?xi32>) : tensor<?x16x4x64xf32>, tensor<?x?xi32>
  %s2 = attn.score %c1, %k2 scale(0.125) : tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>
  %m2 = attn.mask %s2 kv_lengths(%n : tensor<?xi32>) : tensor<?x4x?x?xf32>
  %r2 = attn.softmax %m2 : tensor<?x4x?x?xf32>
  %c2 = attn.context %r2, %k2 : tensor<?x4x?x?xf32>, tensor<?x4x?x64xf32>
  return %c2, %p1, %p2 : tensor<?x4x?x64xf32>, tensor<?x16x4x64xf32>, tensor<?x16x4x64xf32>
}
