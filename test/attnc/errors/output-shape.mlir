// RUN: %exits 1 attnc compile %s -o %t 2>&1 | FileCheck %s

func.func @expand(%a: tensor<?x64xf32>) -> tensor<1x?x64xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %a, %c0 : tensor<?x64xf32>
  // CHECK: output-shape.mlir:[[#@LINE+1]]:8: error: expected an output_shape of 'tensor<1x?x64xf32>'
  %e = tensor.expand_shape %a [[0, 1], [2]] output_shape [7, %d, 64] : tensor<?x64xf32> into tensor<1x?x64xf32>
  return %e : tensor<1x?x64xf32>
}
