// Sines and cosines of all quadrants.

// RUN: attnc verify %s --target host-opencl --size len=19

func.func @positions(%x: tensor<2x?x8xf32> {attn.dims = [2, "len", 8]}, %past: tensor<2xi32>) -> (tensor<2x?x8xf32>, tensor<2x?x8xf32>) {
  %y = attn.positions %x kind(rotary_halves) offset(%past : tensor<2xi32>) : tensor<2x?x8xf32>
  %z = attn.positions %x kind(sinusoidal) : tensor<2x?x8xf32>
  return %y, %z : tensor<2x?x8xf32>, tensor<2x?x8xf32>
}
