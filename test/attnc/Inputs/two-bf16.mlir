func.func @two(%x: tensor<3x8xbf16>) -> (tensor<3x8xbf16> {attn.name = "twice"}, tensor<3x8xbf16> {attn.name = "half"}) {
  %twice = arith.addf %x, %x : tensor<3x8xbf16>
  %two = arith.constant dense<2.0> : tensor<3x8xbf16>
  %half = arith.divf %x, %two : tensor<3x8xbf16>
  return %twice, %half : tensor<3x8xbf16>, tensor<3x8xbf16>
}

func.func @one(%twice: tensor<3x8xbf16>) -> (tensor<3x8xbf16> {attn.name = "result"}) {
  %result = arith.negf %twice : tensor<3x8xbf16>
  return %result : tensor<3x8xbf16>
}
