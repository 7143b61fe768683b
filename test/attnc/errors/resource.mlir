// A resource is as long as its type says: what lies behind a shorter one is not the spec's.

// RUN: %exits 1 attnc run %s --function short 2>&1 | FileCheck %s
// CHECK: resource.mlir:[[#@LINE+4]]:{{[0-9]+}}: error: expected 131072 bytes in resource 'blob' of 'tensor<512x64xf32>', found 8
// CHECK-NOT: error

func.func @short(%x: tensor<?x64xf32>) -> tensor<?x512xf32> {
  %c = arith.constant dense_resource<blob> : tensor<512x64xf32>
  %g = attn.linear %x, %c : tensor<?x64xf32>, tensor<512x64xf32>
  return %g : tensor<?x512xf32>
}

{-# dialect_resources: { builtin: { blob: "0x040000000000803F00000040" } } #-}
