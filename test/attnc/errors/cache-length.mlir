// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy; numpy.save('%t/full.npy', numpy.array([7]))"
// RUN: %python -c "import numpy; numpy.save('%t/negative.npy', numpy.array([-1]))"
// RUN: %exits 1 attnc run %s --input rows=random:1x2x2x8 --input length=@%t/full.npy 2>&1 | FileCheck %s
// RUN: %exits 1 attnc run %s --input rows=random:1x2x2x8 --input length=@%t/negative.npy 2>&1 | FileCheck %s

// CHECK: error: expected element 0 of length of attn.append_cache to leave room for its rows
func.func @append(%cache: tensor<1x2x8x8xf32> {attn.name = "cache"}, %rows: tensor<1x2x?x8xf32> {attn.name = "rows"},
                  %length: tensor<1xi64> {attn.name = "length"}) -> tensor<1x2x8x8xf32> {
  %c = attn.append_cache %cache, %rows, %length : tensor<1x2x8x8xf32>, tensor<1x2x?x8xf32>, tensor<1xi64>
  return %c : tensor<1x2x8x8xf32>
}
