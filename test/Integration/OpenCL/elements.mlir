// f16 and bf16, which are computed with in f32, and constants of f64. numpy has no bf16: the
// reference interpreter stands in.

// RUN: env PYTHONPATH=%examples %python %S/attention.py elements
// RUN: sed 's/f32/bf16/g' %S/../CPU/sink.mlir > %t.attention.mlir
// RUN: attnc verify %t.attention.mlir --target host-opencl --function prefill --size batch=2,q_len=70,kv_len=150
// RUN: attnc verify %t.attention.mlir --target host-opencl --function decode --size kv_len=300
// RUN: attnc verify %s --target host-opencl --function plain
// RUN: sed 's/bf16/f16/g' %s > %t.mlir && attnc verify %t.mlir --target host-opencl --function plain
// RUN: attnc verify %s --target host-opencl --function doubles

// Unfused ops.
func.func @plain(%x: tensor<5x7xbf16>, %w: tensor<9x7xbf16>, %b: tensor<9xbf16>) -> tensor<5x9xbf16> {
  %y = attn.linear %x, %w, %b : tensor<5x7xbf16>, tensor<9x7xbf16>, tensor<9xbf16> -> tensor<5x9xbf16>
  %z = attn.softmax %y : tensor<5x9xbf16>
  return %z : tensor<5x9xbf16>
}

// A third and a tenth are no f32.
func.func @doubles(%x: tensor<?x40xf64>) -> tensor<?x40xf64> {
  %y = attn.map %x {
  ^bb0(%a: f64):
    %third = arith.constant 0.3333333333333333 : f64
    %r = arith.mulf %a, %third : f64
    attn.yield %r : f64
  } : tensor<?x40xf64> -> tensor<?x40xf64>
  %z = attn.layer_norm %y epsilon(0.1) : tensor<?x40xf64>
  return %z : tensor<?x40xf64>
}
