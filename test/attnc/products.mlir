// RUN: attnc explain %s | FileCheck %s
// RUN: attnc compile %s -o %t --emit c_header && FileCheck %s --check-prefix=HEADER --input-file %t/products.h
// RUN: not attnc run %s --input a=ones:2x4x5x8 --input b=ones:3x8x3 2>&1 | FileCheck %s --check-prefix=ERROR

// FLOPs and results of matrix products, static and dynamic sizes.

// CHECK: attn.matmul {{.*}} -> f32[batch, 4, 5, 3]
// CHECK: FLOPs 960·batch
// HEADER: c = a @ b
// ERROR: error: expected dim[1] of left and right of attn.matmul to match

func.func @products(%a: tensor<?x4x5x8xf32> {attn.name = "a", attn.dims = ["batch", 4, 5, 8]},
                    %b: tensor<?x8x3xf32> {attn.name = "b", attn.dims = ["heads", 8, 3]})
    -> (tensor<?x4x5x3xf32> {attn.name = "c"}) {
  %c = attn.matmul %a, %b : tensor<?x4x5x8xf32>, tensor<?x8x3xf32> -> tensor<?x4x5x3xf32>
  return %c : tensor<?x4x5x3xf32>
}
