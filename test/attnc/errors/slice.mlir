// RUN: %exits 1 attnc run %s --input x=random:2x8 --input n=random:3 2>&1 | FileCheck %s

// Three rows from the second on are more than there are.
// CHECK: error: expected tensor.extract_slice to stay within its source, found offset 1 and size 3, of 2 (dim 0 of x)
func.func @slice(%x: tensor<?x8xf32> {attn.name = "x"},
                 %n: tensor<?xf32> {attn.name = "n"}) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %size = tensor.dim %n, %c0 : tensor<?xf32>
  %rows = tensor.extract_slice %x[1, 0] [%size, 8] [1, 1] : tensor<?x8xf32> to tensor<?x8xf32>
  return %rows : tensor<?x8xf32>
}
