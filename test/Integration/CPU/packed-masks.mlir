// Packed rows beside masks that are evaluated before the scores, in one KV block and in several, and
// of many heads that share keys.

// RUN: attnc verify %s --function documents --size total=300,num_offsets=5,batch=4,kv_len=130,tokens=300 | FileCheck %s
// RUN: attnc verify %s --function near --size total=300,num_offsets=5,batch=4,kv_len=130,tokens=300 | FileCheck %s
// RUN: attnc verify %s --function shared --size total=70,num_offsets=6 | FileCheck %s
// RUN: attnc verify %s --function shared --target x86-64-linux-avx-avx2-f16c-fma-sse41 --size total=70,num_offsets=6 | FileCheck %s
// CHECK: cases, all within the allowed error

!rows = tensor<?x2x16xf32>
!h = tensor<?x2x?x16xf32>
!s = tensor<?x2x?x?xf32>

func.func @documents(%rows: !rows {attn.dims = ["total", 2, 16]}, %offsets: tensor<?xi32>,
                     %k: !h {attn.dims = ["batch", 2, "kv_len", 16]},
                     %ids: tensor<?x?xi32> {attn.dims = ["batch", "tokens"]}) -> !rows {
  %q = attn.unpack_rows %rows offsets(%offsets) : !rows, tensor<?xi32>
  %score = attn.score %q, %k scale(0.25) : !h, !h
  %masked = attn.mask %score documents(%ids : tensor<?x?xi32>) : !s
  %prob = attn.softmax %masked : !s
  %context = attn.context %prob, %k : !s, !h
  %packed = attn.pack_rows %context offsets(%offsets) : !h, tensor<?xi32>
  return %packed : !rows
}

func.func @near(%rows: !rows {attn.dims = ["total", 2, 16]}, %offsets: tensor<?xi32>,
                %k: !h {attn.dims = ["batch", 2, "kv_len", 16]},
                %ids: tensor<?x?xi32> {attn.dims = ["batch", "tokens"]}) -> !rows {
  %q = attn.unpack_rows %rows offsets(%offsets) : !rows, tensor<?xi32>
  %score = attn.score %q, %k scale(0.25) : !h, !h
  %masked = attn.mask %score documents(%ids : tensor<?x?xi32>) window(20, 0) : !s
  %prob = attn.softmax %masked : !s
  %context = attn.context %prob, %k : !s, !h
  %packed = attn.pack_rows %context offsets(%offsets) : !h, tensor<?xi32>
  return %packed : !rows
}

func.func @shared(%rows: tensor<?x16x64xf32> {attn.dims = ["total", 16, 64]}, %offsets: tensor<?xi32>,
                  %k: tensor<?x1x?x64xf32>) -> tensor<?x16x64xf32> {
  %q = attn.unpack_rows %rows offsets(%offsets) : tensor<?x16x64xf32>, tensor<?xi32>
  %score = attn.score %q, %k scale(0.125) : tensor<?x16x?x64xf32>, tensor<?x1x?x64xf32>
  %prob = attn.softmax %score : tensor<?x16x?x?xf32>
  %context = attn.context %prob, %k : tensor<?x16x?x?xf32>, tensor<?x1x?x64xf32>
  %packed = attn.pack_rows %context offsets(%offsets) : tensor<?x16x?x64xf32>, tensor<?xi32>
  return %packed : tensor<?x16x64xf32>
}
