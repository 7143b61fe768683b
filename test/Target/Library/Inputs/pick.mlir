// A row whose number is an element of a tensor.
func.func @pick(%x: tensor<?x64xf32> {attn.name = "x", attn.dims = ["n", 64]},
                %at: tensor<2xi64> {attn.name = "at"})
    -> (tensor<1x64xf32> {attn.name = "y"}) {
  %c1 = arith.constant 1 : index
  %row = tensor.extract %at[%c1] : tensor<2xi64>
  %first = arith.index_cast %row : i64 to index
  %y = tensor.extract_slice %x[%first, 0] [1, 64] [1, 1] : tensor<?x64xf32> to tensor<1x64xf32>
  return %y : tensor<1x64xf32>
}
