// Two equal layers.
!t = tensor<?x2x?x8xf32>
func.func @layers(%x: !t {attn.dims = ["batch", 2, "len", 8]}) -> !t {
  %s0 = attn.score %x, %x : !t, !t
  %p0 = attn.softmax %s0 : tensor<?x2x?x?xf32>
  %c0 = attn.context %p0, %x : tensor<?x2x?x?xf32>, !t
  %s1 = attn.score %c0, %c0 : !t, !t
  %p1 = attn.softmax %s1 : tensor<?x2x?x?xf32>
  %c1 = attn.context %p1, %c0 : tensor<?x2x?x?xf32>, !t
  return %c1 : !t
}
