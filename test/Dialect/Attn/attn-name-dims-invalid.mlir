// RUN: attn-opt %s --attn-name-dims --verify-diagnostics --split-input-file

// expected-error @+1 {{expected dimension 0 of result 0 to be named as in an argument, "rows", found "lines"}}
func.func @unknown(%a: tensor<?x2xf32> {attn.dims = ["rows", 2]})
    -> (tensor<?x2xf32> {attn.dims = ["lines", 2]}) {
  %p = attn.softmax %a : tensor<?x2xf32>
  return %p : tensor<?x2xf32>
}

// -----

func.func @beyond(%a: tensor<?x2xf32>) -> (tensor<?x2xf32>, tensor<?xf32>) {
  %c7 = arith.constant 7 : index
  %one = arith.constant 1.0 : f32
  %p = attn.softmax %a : tensor<?x2xf32>
  // expected-error @+1 {{expected a constant dimension of 'tensor<?x2xf32>', found 7}}
  %n = tensor.dim %p, %c7 : tensor<?x2xf32>
  %ones = tensor.splat %one[%n] : tensor<?xf32>
  return %p, %ones : tensor<?x2xf32>, tensor<?xf32>
}
