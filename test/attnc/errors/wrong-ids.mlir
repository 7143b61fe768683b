// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy; numpy.save('%t/ids.npy', numpy.array([0, 3, 1]))"
// RUN: %python -c "import numpy; numpy.save('%t/negative.npy', numpy.array([0, -1, 1]))"
// RUN: %exits 1 attnc run %s --input table=ones --input ids=@%t/ids.npy 2>&1 | FileCheck %s
// RUN: %exits 1 attnc run %s --input table=ones --input ids=@%t/negative.npy 2>&1 | FileCheck %s

// CHECK: error: expected element 1 of ids of attn.embedding to be a row of its table: 0 to 2
func.func @lookup(%table: tensor<3x8xf32> {attn.name = "table"},
                  %ids: tensor<?xi64> {attn.name = "ids"}) -> tensor<?x8xf32> {
  %row = attn.embedding %table, %ids : tensor<3x8xf32>, tensor<?xi64> -> tensor<?x8xf32>
  return %row : tensor<?x8xf32>
}
