// Positions so far that a frequency's last bit would show in the angle.

// RUN: attnc verify %s --function wide | FileCheck %s
// RUN: attnc verify %s --function open --size len=3000 | FileCheck %s
// CHECK: cases, all within the allowed error

func.func @wide(%x: tensor<1x1x500x130xf64>) -> tensor<1x1x500x130xf64> {
  %y = attn.positions %x kind(rotary_pairs) : tensor<1x1x500x130xf64>
  return %y : tensor<1x1x500x130xf64>
}

func.func @open(%x: tensor<?x20xf32> {attn.dims = ["len", 20]}) -> tensor<?x20xf32> {
  %y = attn.positions %x kind(sinusoidal) : tensor<?x20xf32>
  return %y : tensor<?x20xf32>
}
