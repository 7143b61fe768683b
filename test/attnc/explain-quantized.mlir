// What a kernel widens as it reads it, and what is stored once more, wider.
// RUN: attnc explain %s --function read | FileCheck %s --check-prefix=READ
// RUN: attnc explain %s --function stored | FileCheck %s --check-prefix=STORED
// RUN: attnc explain %s --function unfused | FileCheck %s --check-prefix=UNFUSED

// READ: fused into attn.attention: scale 1, narrower keys or values
// READ: attn.attention at
// READ: with key widened from i8 as it is read, with a scale of f16 for each 4 dims; value widened from bf16 as it is read
// READ-NOT: warning
// READ: bytes 2.368 k
func.func @read(%q: tensor<1x2x1x8xf32>, %k: tensor<1x2x40x8xi8>, %s: tensor<1x2x40x2xf16>, %v: tensor<1x2x40x8xbf16>)
    -> tensor<1x2x1x8xf32> {
  %keys = attn.dequantize %k scales(%s : tensor<1x2x40x2xf16>) : tensor<1x2x40x8xi8> -> tensor<1x2x40x8xf32>
  %values = arith.extf %v : tensor<1x2x40x8xbf16> to tensor<1x2x40x8xf32>
  %score = attn.score %q, %keys : tensor<1x2x1x8xf32>, tensor<1x2x40x8xf32>
  %prob = attn.softmax %score : tensor<1x2x1x40xf32>
  %context = attn.context %prob, %values : tensor<1x2x1x40xf32>, tensor<1x2x40x8xf32>
  return %context : tensor<1x2x1x8xf32>
}

// STORED: attn.attention at
// STORED: warning: reads a wide copy of value, which {{.*}}explain-quantized.mlir:[[#@LINE+4]]:{{.*}} stores
func.func @stored(%q: tensor<1x2x1x8xf32>, %k: tensor<1x2x40x8xf32>, %v: tensor<1x2x40x8xi8>, %zero: tensor<1x2x40x1xf32>)
    -> tensor<1x2x1x8xf32> {
  // An offset is no scale.
  %values = attn.map %v, %zero {
  ^bb0(%x: i8, %z: f32):
    %y = arith.sitofp %x : i8 to f32
    %r = arith.subf %y, %z : f32
    attn.yield %r : f32
  } : tensor<1x2x40x8xi8>, tensor<1x2x40x1xf32> -> tensor<1x2x40x8xf32>
  %score = attn.score %q, %k : tensor<1x2x1x8xf32>, tensor<1x2x40x8xf32>
  %prob = attn.softmax %score : tensor<1x2x1x40xf32>
  %context = attn.context %prob, %values : tensor<1x2x1x40xf32>, tensor<1x2x40x8xf32>
  return %context : tensor<1x2x1x8xf32>
}

// UNFUSED: attn.score at
// UNFUSED: warning: reads a wide copy of key, which {{.*}} stores
func.func @unfused(%q: tensor<1x2x1x8xf32>, %k: tensor<1x2x40x8xi8>) -> tensor<1x2x1x40xf32> {
  %keys = attn.dequantize %k : tensor<1x2x40x8xi8> -> tensor<1x2x40x8xf32>
  %score = attn.score %q, %keys : tensor<1x2x1x8xf32>, tensor<1x2x40x8xf32>
  return %score : tensor<1x2x1x40xf32>
}
