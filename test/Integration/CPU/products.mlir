// RUN: attnc explain %s | FileCheck %s
// RUN: attnc verify %s --size batch=2 --size len=1,37 --size keys=5,70 | FileCheck %s --check-prefix=VERIFY

// What a front end writes that knows of products and elementwise functions alone: a scaled query, a
// mask that hides keys behind each batch's length, a softmax written out, and heads merged
// behind.

// CHECK: fused into attn.attention: scale 0.125, mask
// VERIFY: all within the allowed error

func.func @products(
    %q: tensor<?x?x128xf32> {attn.name = "query", attn.dims = ["batch", "len", 128]},
    %k: tensor<?x2x?x64xf32> {attn.name = "key", attn.dims = ["batch", 2, "keys", 64]},
    %v: tensor<?x2x?x64xf32> {attn.name = "value", attn.dims = ["batch", 2, "keys", 64]},
    %seen: tensor<?x?xi1> {attn.name = "seen", attn.dims = ["batch", "keys"]})
    -> (tensor<?x?x128xf32> {attn.name = "context"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %q, %c0 : tensor<?x?x128xf32>
  %len = tensor.dim %q, %c1 : tensor<?x?x128xf32>
  %keys = tensor.dim %seen, %c1 : tensor<?x?xi1>
  %apart = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [%batch, %len, 2, 64]
      : tensor<?x?x128xf32> into tensor<?x?x2x64xf32>
  %heads = attn.transpose %apart [0, 2, 1, 3] : tensor<?x?x2x64xf32> -> tensor<?x2x?x64xf32>
  %scaled = attn.map %heads {
  ^bb0(%x: f32):
    %eighth = arith.constant 0.125 : f32
    %r = arith.mulf %x, %eighth : f32
    attn.yield %r : f32
  } : tensor<?x2x?x64xf32> -> tensor<?x2x?x64xf32>
  %kt = attn.transpose %k [0, 1, 3, 2] : tensor<?x2x?x64xf32> -> tensor<?x2x64x?xf32>
  %s = attn.matmul %scaled, %kt : tensor<?x2x?x64xf32>, tensor<?x2x64x?xf32> -> tensor<?x2x?x?xf32>
  %seen4 = tensor.expand_shape %seen [[0, 1, 2], [3]] output_shape [%batch, 1, 1, %keys]
      : tensor<?x?xi1> into tensor<?x1x1x?xi1>
  %masked = attn.map %seen4, %s {
  ^bb0(%x: i1, %y: f32):
    %low = arith.constant 0xFF800000 : f32
    %r = arith.select %x, %y, %low : f32
    attn.yield %r : f32
  } : tensor<?x1x1x?xi1>, tensor<?x2x?x?xf32> -> tensor<?x2x?x?xf32>
  %most = attn.reduce max %masked axes [3] keep_dims : tensor<?x2x?x?xf32> -> tensor<?x2x?x1xf32>
  %power = attn.map %masked, %most {
  ^bb0(%x: f32, %y: f32):
    %d = arith.subf %x, %y : f32
    %r = math.exp %d : f32
    attn.yield %r : f32
  } : tensor<?x2x?x?xf32>, tensor<?x2x?x1xf32> -> tensor<?x2x?x?xf32>
  %sum = attn.reduce sum %power axes [3] keep_dims : tensor<?x2x?x?xf32> -> tensor<?x2x?x1xf32>
  %prob = attn.map %power, %sum {
  ^bb0(%x: f32, %y: f32):
    %r = arith.divf %x, %y : f32
    attn.yield %r : f32
  } : tensor<?x2x?x?xf32>, tensor<?x2x?x1xf32> -> tensor<?x2x?x?xf32>
  %c = attn.matmul %prob, %v : tensor<?x2x?x?xf32>, tensor<?x2x?x64xf32> -> tensor<?x2x?x64xf32>
  %back = attn.transpose %c [0, 2, 1, 3] : tensor<?x2x?x64xf32> -> tensor<?x?x2x64xf32>
  %out = tensor.collapse_shape %back [[0], [1], [2, 3]] : tensor<?x?x2x64xf32> into tensor<?x?x128xf32>
  return %out : tensor<?x?x128xf32>
}
