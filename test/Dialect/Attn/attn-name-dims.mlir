// RUN: attn-opt %s --attn-name-dims | FileCheck %s

// A result takes the symbols of the arguments its sizes come from.
// CHECK-LABEL: func @result
// CHECK-SAME: -> (tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "q_len", 8]})
func.func @result(%q: tensor<?x4x?x16xf32> {attn.dims = ["batch", 4, "q_len", 16]},
                  %k: tensor<?x4x?x16xf32> {attn.dims = ["batch", 4, "kv_len", 16]},
                  %v: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "kv_len", 8]}) -> tensor<?x4x?x8xf32> {
  %s = attn.score %q, %k : tensor<?x4x?x16xf32>, tensor<?x4x?x16xf32> -> tensor<?x4x?x?xf32>
  %p = attn.softmax %s : tensor<?x4x?x?xf32>
  %c = attn.context %p, %v : tensor<?x4x?x?xf32>, tensor<?x4x?x8xf32> -> tensor<?x4x?x8xf32>
  return %c : tensor<?x4x?x8xf32>
}

// Arguments without symbols get some of their own, unlike every other.
// CHECK-LABEL: func @arguments
// CHECK-SAME: %[[A:.*]]: tensor<?x2xf32> {attn.dims = ["arg0_dim0", 2]}
// CHECK-SAME: %[[B:.*]]: tensor<?xf32> {attn.dims = ["x_dim0_2"], attn.name = "x"}
// CHECK-SAME: %[[C:.*]]: tensor<?xf32> {attn.dims = ["x_dim0"]}
// CHECK-SAME: %[[D:.*]]: tensor<3xf32>)
// CHECK-SAME: -> (tensor<?x2xf32> {attn.dims = ["arg0_dim0", 2]}, tensor<3xf32>)
func.func @arguments(%a: tensor<?x2xf32>, %b: tensor<?xf32> {attn.name = "x"},
                     %c: tensor<?xf32> {attn.dims = ["x_dim0"]}, %d: tensor<3xf32>)
    -> (tensor<?x2xf32>, tensor<3xf32>) {
  %p = attn.softmax %a : tensor<?x2xf32>
  return %p, %d : tensor<?x2xf32>, tensor<3xf32>
}

// Sizes that ops require to be equal are one, named as by the ops; so are those of results that are views.
// CHECK-LABEL: func @equal
// CHECK-SAME: tensor<?x4x?x16xf32> {attn.dims = ["batch", 4, "q_len", 16]}
// CHECK-SAME: tensor<?x?x64xf32> {attn.dims = ["batch", "kv_len", 64]}
// CHECK-SAME: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "kv_len", 8]}
// CHECK-SAME: -> (tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "q_len", 8]})
func.func @equal(%q: tensor<?x4x?x16xf32>, %projected: tensor<?x?x64xf32>, %v: tensor<?x4x?x8xf32>)
    -> tensor<?x4x?x8xf32> {
  %k = attn.split_heads %projected num_heads(4) : tensor<?x?x64xf32> -> tensor<?x4x?x16xf32>
  %s = attn.score %q, %k : tensor<?x4x?x16xf32>, tensor<?x4x?x16xf32>
  %p = attn.softmax %s : tensor<?x4x?x?xf32>
  %c = attn.context %p, %v : tensor<?x4x?x?xf32>, tensor<?x4x?x8xf32>
  return %c : tensor<?x4x?x8xf32>
}

// A symbol that an argument was given is that of the equal sizes of others, too; two cores have two of a kind.
// CHECK-LABEL: func @given
// CHECK-SAME: tensor<?x4x?x8xf32> {attn.dims = ["sequences", 4, "len", 8]}
// CHECK-SAME: tensor<?x4x?x8xf32> {attn.dims = ["sequences", 4, "kv_len", 8]}
// CHECK-SAME: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "q_len", 8]}
// CHECK-SAME: tensor<?x4x?x8xf32> {attn.dims = ["batch", 4, "kv_len_2", 8]}
func.func @given(%q: tensor<?x4x?x8xf32> {attn.dims = ["sequences", 4, "len", 8]}, %k: tensor<?x4x?x8xf32>,
                 %q2: tensor<?x4x?x8xf32>, %k2: tensor<?x4x?x8xf32>)
    -> (tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>) {
  %s = attn.score %q, %k : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>
  %p = attn.softmax %s : tensor<?x4x?x?xf32>
  %c = attn.context %p, %k : tensor<?x4x?x?xf32>, tensor<?x4x?x8xf32>
  %s2 = attn.score %q2, %k2 : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>
  %p2 = attn.softmax %s2 : tensor<?x4x?x?xf32>
  %c2 = attn.context %p2, %k2 : tensor<?x4x?x?xf32>, tensor<?x4x?x8xf32>
  return %c, %c2 : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>
}

// CHECK-LABEL: func @merged
// CHECK-SAME: -> (tensor<?x?x32xf32> {attn.dims = ["q_dim2", "q_dim0", 32]})
func.func @merged(%q: tensor<?x4x?x8xf32> {attn.name = "q"}) -> tensor<?x?x32xf32> {
  %m = attn.merge_heads %q layout(time_first) : tensor<?x4x?x8xf32> -> tensor<?x?x32xf32>
  return %m : tensor<?x?x32xf32>
}

// A size that is computed has no symbol.
// CHECK-LABEL: func @computed
// CHECK-SAME: -> tensor<?x?x?xf32> {
func.func @computed(%q: tensor<?x?x?x8xf32>) -> tensor<?x?x?xf32> {
  %m = attn.merge_heads %q : tensor<?x?x?x8xf32> -> tensor<?x?x?xf32>
  return %m : tensor<?x?x?xf32>
}

// All tensors of an elementwise op have one shape.
// CHECK-LABEL: func @elementwise
// CHECK-SAME: -> (tensor<?xf32> {attn.dims = ["len"]})
func.func @elementwise(%x: tensor<?xf32> {attn.dims = ["len"]}) -> tensor<?xf32> {
  %a = math.tanh %x : tensor<?xf32>
  %b = arith.addf %a, %x : tensor<?xf32>
  return %b : tensor<?xf32>
}

// A size that is known has no symbol, least of all that of an argument.
// CHECK-LABEL: func @constant() -> tensor<3xf32> {
func.func @constant() -> tensor<3xf32> {
  %ones = arith.constant dense<1.0> : tensor<3xf32>
  return %ones : tensor<3xf32>
}

// A dynamic dimension whose size is known has no symbol either.
// CHECK-LABEL: func @known_heads
// CHECK-SAME: -> tensor<1x?x1x64xf32> {
func.func @known_heads(%prob: tensor<1x64x1x1xf32>, %v: tensor<1x?x1x64xf32>) -> tensor<1x?x1x64xf32> {
  %context = attn.context %prob, %v : tensor<1x64x1x1xf32>, tensor<1x?x1x64xf32> -> tensor<1x?x1x64xf32>
  return %context : tensor<1x?x1x64xf32>
}
