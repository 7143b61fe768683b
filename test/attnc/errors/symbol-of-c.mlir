// RUN: %exits 1 attnc compile %s -o %t 2>&1 | FileCheck %s
// RUN: %exits 1 attnc compile %s -o %t --name exp 2>&1 | FileCheck %s --check-prefix=EXP
// RUN: %exits 1 attnc compile %s -o %t --name halide_do_par_for 2>&1 | FileCheck %s --check-prefix=HALIDE
// RUN: %exits 1 attnc compile %s -o %t --name attnc_runtime 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: %exits 1 attnc compile %s -o %t --name dlpack 2>&1 | FileCheck %s --check-prefix=HEADER
// RUN: %exits 1 attnc compile %s -o %t --name uint8_t 2>&1 | FileCheck %s --check-prefix=HEADER
// RUN: %exits 1 attnc compile %s -o %t --name kDLCPU 2>&1 | FileCheck %s --check-prefix=HEADER
// RUN: %exits 2 attnc compile %s -o %t --name DLTensor 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: test ! -e %t
// RUN: attnc compile %s -o - --emit attn | FileCheck %s --check-prefix=TEXT

// No program links with two functions of that name, or the library's takes the place of the other.
// CHECK: --name: error: expected a name other than main and the C library's, found 'main'
// EXP: --name: error: expected a name other than main and the C library's, found 'exp'
// HALIDE: --name: error: expected a name that does not begin with halide_, as those of Halide's runtime do, found 'halide_do_par_for'
// SHARED: --name: error: expected a name that does not begin with attnc_, as those of attnc's own code do, found 'attnc_runtime'
// HEADER: --name: error: expected a name other than dlpack, stddef, stdint and what these headers declare, found '{{dlpack|uint8_t|kDLCPU}}'
// TYPE: --name: error: expected a C identifier, found 'DLTensor'
// TEXT: func.func @main(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = math.tanh %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
