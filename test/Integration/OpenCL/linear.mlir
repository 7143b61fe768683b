// Products tiled by rows and features, with partial tiles at the ends.

// RUN: attnc verify %s --target host-opencl --function plain --size rows=77
// RUN: attnc verify %s --target host-opencl --function batches --size batch=2,rows=9
// RUN: attnc verify %s --target host-opencl --function packed --size rows=1
// RUN: attnc verify %s --target host-opencl --function packed --size rows=65

// A residual and ReLU, as an epilogue.
func.func @plain(%x: tensor<?x70xf32> {attn.dims = ["rows", 70]}, %w: tensor<90x70xf32>, %b: tensor<90xf32>,
                 %before: tensor<?x90xf32> {attn.dims = ["rows", 90]}) -> tensor<?x90xf32> {
  %y = attn.linear %x, %w, %b : tensor<?x70xf32>, tensor<90x70xf32>, tensor<90xf32> -> tensor<?x90xf32>
  %z = attn.map %y, %before {
  ^bb0(%p: f32, %q: f32):
    %zero = arith.constant 0.0 : f32
    %positive = arith.maximumf %p, %zero : f32
    %r = arith.addf %positive, %q : f32
    attn.yield %r : f32
  } : tensor<?x90xf32>, tensor<?x90xf32> -> tensor<?x90xf32>
  return %z : tensor<?x90xf32>
}

func.func @batches(%x: tensor<?x?x19xf16> {attn.dims = ["batch", "rows", 19]}, %w: tensor<?x19xf16> {attn.dims = ["features", 19]})
    -> tensor<?x?x?xf16> {
  %y = attn.linear %x, %w : tensor<?x?x19xf16>, tensor<?x19xf16> -> tensor<?x?x?xf16>
  return %y : tensor<?x?x?xf16>
}

// Constant weights lie in panels; a single row has a kernel of its own.
func.func @packed(%x: tensor<?x5xf32> {attn.dims = ["rows", 5]}) -> tensor<?x3xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0], [0.5, -1.0, 0.25, 8.0, 1.5], [-3.0, 0.0, 7.0, 2.0, 9.0]]> : tensor<3x5xf32>
  %y = attn.linear %x, %w : tensor<?x5xf32>, tensor<3x5xf32> -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}
