// Ops that an importer made of one node share its location. Each has its own kernels.
// RUN: attnc explain %s | FileCheck %s
// CHECK: attn.map at node.onnx:1:1
// CHECK-NOT: attn.layer_norm
// CHECK: kernel skip_map_0
// CHECK-NOT: kernel
// CHECK: attn.layer_norm at node.onnx:1:1
// CHECK: kernel skip_layer_norm_1
// CHECK-NOT: kernel
#node = loc("node.onnx":1:1)
func.func @skip(%input: tensor<?x64xf32> {attn.dims = ["len", 64]},
                %skip: tensor<?x64xf32> {attn.dims = ["len", 64]},
                %scale: tensor<64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %sum = attn.map %input, %skip {
  ^bb0(%x: f32, %y: f32):
    %r = arith.addf %x, %y : f32
    attn.yield %r : f32
  } : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32> loc(#node)
  %normed = attn.layer_norm %sum scale(%scale : tensor<64xf32>) epsilon(1.0e-5) : tensor<?x64xf32> loc(#node)
  return %sum, %normed : tensor<?x64xf32>, tensor<?x64xf32>
}
