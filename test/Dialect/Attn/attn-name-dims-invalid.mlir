// RUN: attn-opt %s --attn-name-dims --verify-diagnostics --split-input-file

// expected-error @+1 {{expected dimension 0 of result 0 to be named as in an argument, "rows", found "lines"}}
func.func @unknown(%a: tensor<?x2xf32> {attn.dims = ["rows", 2]})
    -> (tensor<?x2xf32> {attn.dims = ["lines", 2]}) {
  %p = attn.softmax %a : tensor<?x2xf32>
  return %p : tensor<?x2xf32>
}
