// Sines and cosines of all quadrants, and powers of and by NaN and infinities.

// RUN: attnc verify %s --target host-opencl --function positions --size len=19
// RUN: attnc verify %s --target host-opencl --function powers

func.func @positions(%x: tensor<2x?x8xf32> {attn.dims = [2, "len", 8]}, %past: tensor<2xi32>) -> (tensor<2x?x8xf32>, tensor<2x?x8xf32>) {
  %y = attn.positions %x kind(rotary_halves) offset(%past : tensor<2xi32>) : tensor<2x?x8xf32>
  %z = attn.positions %x kind(sinusoidal) : tensor<2x?x8xf32>
  return %y, %z : tensor<2x?x8xf32>, tensor<2x?x8xf32>
}

func.func @powers(%x: tensor<7x40xf32>, %y: tensor<40xf32>) -> tensor<7x40xf32> {
  %0 = attn.map %x, %y {
  ^bb0(%a: f32, %b: f32):
    %r = math.powf %a, %b : f32
    attn.yield %r : f32
  } : tensor<7x40xf32>, tensor<40xf32> -> tensor<7x40xf32>
  return %0 : tensor<7x40xf32>
}
