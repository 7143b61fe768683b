// RUN: %exits 1 attnc compile %s -o %t 2>&1 | FileCheck %s
// RUN: %exits 1 attnc compile %s -o %t --name exp 2>&1 | FileCheck %s --check-prefix=EXP
// RUN: %exits 1 attnc compile %s -o %t --name halide_do_par_for 2>&1 | FileCheck %s --check-prefix=HALIDE
// RUN: attnc compile %s -o - --emit attn | FileCheck %s --check-prefix=TEXT

// No program links with two functions of that name, or the library's takes the place of the other.
// CHECK: --name: error: expected a name other than main and the C library's, found 'main'
// EXP: --name: error: expected a name other than main and the C library's, found 'exp'
// HALIDE: --name: error: expected a name that does not begin with halide_, as those of Halide's runtime do, found 'halide_do_par_for'
// TEXT: func.func @main(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = math.tanh %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
