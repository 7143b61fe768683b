// No kernel reads backwards, cuts off what it pads, or makes a tensor of a negative size.

// RUN: %exits 1 attnc run %s --function backwards 2>&1 | FileCheck %s --check-prefix=STRIDE
// RUN: %exits 1 attnc run %s --function cut 2>&1 | FileCheck %s --check-prefix=PADDING
// RUN: %exits 1 attnc run %s --function negative --reference --input x=ones 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: %exits 1 attnc run %s --function negative --input x=ones 2>&1 | FileCheck %s --check-prefix=KERNEL
// KERNEL: error: expected a size of at least 0, found -1

func.func @backwards(%x: tensor<4xf32>) -> tensor<3xf32> {
  // STRIDE: backward-steps.mlir:[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}expected strides of at least 1, found -1
  %s = tensor.extract_slice %x[3] [3] [-1] : tensor<4xf32> to tensor<3xf32>
  return %s : tensor<3xf32>
}

func.func @cut(%x: tensor<5xf32>) -> tensor<4xf32> {
  %z = arith.constant 9.0 : f32
  // PADDING: backward-steps.mlir:[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}expected no negative padding, found -2
  %s = tensor.pad %x low[-2] high[1] {
  ^bb0(%i: index):
    tensor.yield %z : f32
  } : tensor<5xf32> to tensor<4xf32>
  return %s : tensor<4xf32>
}

func.func @negative(%x: tensor<1xi32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %minus2 = arith.constant -2 : i32
  %e = tensor.extract %x[%c0] : tensor<1xi32>
  %less = arith.addi %e, %minus2 : i32
  %n = arith.index_cast %less : i32 to index
  %one = arith.constant 1.0 : f32
  // SIZE: backward-steps.mlir:[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}expected sizes of at least 0, found -1
  %y = tensor.splat %one[%n] : tensor<?xf32>
  %r = attn.reduce sum %y axes [0] : tensor<?xf32> -> tensor<f32>
  return %r : tensor<f32>
}
