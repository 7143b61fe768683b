!query = tensor<?x4x?x16xf16>
!key = tensor<?x2x?x16xf16>
!value = tensor<?x2x?x16xf16>
!score = tensor<?x4x?x?xf16>
!context = tensor<?x4x?x16xf16>

func.func @golden(
    %query: !query {attn.name = "query", attn.dims = ["batch", 4, "q_len", 16]},
    %key: !key {attn.name = "key", attn.dims = ["batch", 2, "kv_len", 16]},
    %value: !value {attn.name = "value", attn.dims = ["batch", 2, "kv_len", 16]},
    %kv_lengths: tensor<?xi32> {attn.name = "kv_lengths", attn.dims = ["batch"]},
    %sink: tensor<4xf16> {attn.name = "sink", attn.dims = [4]},
    %slope: tensor<?xf32> {attn.name = "slope"},
    %array_double: tensor<?x?xi1> {attn.name = "array_double"})
    -> (!context {attn.name = "context", attn.dims = ["batch", 4, "q_len", 16]},
        tensor<?x4x?xf32> {attn.name = "lse", attn.dims = ["batch", 4, "q_len"]}) {
  %score = attn.score %query, %key scale(0.25) : !query, !key
  %capped = attn.modify_score %score {
  ^bb0(%s: f16, %b: index, %h: index, %q: index, %k: index):
    %0 = arith.extf %s fastmath<contract> : f16 to f32
    %1 = arith.constant 30.0 : f32
    %2 = arith.divf %0, %1 : f32
    %3 = math.tanh %2 : f32
    %4 = arith.mulf %3, %1 : f32
    %5 = arith.truncf %4 fastmath<contract> : f32 to f16
    attn.yield %5 : f16
  } : !score
  %modified = attn.modify_score %capped {
  ^bb0(%s: f16, %b: index, %h: index, %q: index, %k: index):
    %0 = arith.extf %s fastmath<contract> : f16 to f32
    %1 = tensor.extract %slope[%h] : tensor<?xf32>
    %2 = arith.subi %q, %k : index
    %3 = math.absi %2 : index
    %4 = arith.index_cast %3 : index to i32
    %5 = arith.sitofp %4 : i32 to f32
    %6 = arith.mulf %1, %5 : f32
    %7 = arith.subf %0, %6 : f32
    %8 = arith.truncf %7 fastmath<contract> : f32 to f16
    attn.yield %8 : f16
  } : !score
  %masked = attn.mask %modified causal(bottom_right) window(16, 0, bottom_right) kv_lengths(%kv_lengths : tensor<?xi32>) : !score
  %visible = attn.mask %masked {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %0 = tensor.extract %array_double[%b, %k] : tensor<?x?xi1>
    %1 = arith.subi %q, %k : index
    %c3 = arith.constant 3 : index
    %2 = arith.floordivsi %1, %c3 : index
    %3 = arith.muli %2, %c3 : index
    %4 = arith.subi %1, %3 : index
    %c0 = arith.constant 0 : index
    %5 = arith.cmpi eq, %4, %c0 : index
    %6 = arith.andi %0, %5 : i1
    %c4 = arith.constant 4 : index
    %7 = arith.divsi %q, %c4 : index
    %8 = arith.divsi %k, %c4 : index
    %9 = arith.cmpi eq, %7, %8 : index
    %10 = arith.ori %6, %9 : i1
    attn.yield %10 : i1
  } : !score
  %sinks = tensor.expand_shape %sink [[0, 1, 2]] output_shape [1, 4, 1] : tensor<4xf16> into tensor<1x4x1xf16>
  %prob = attn.softmax %visible sink(%sinks : tensor<1x4x1xf16>) : !score
  %context = attn.context %prob, %value : !score, !value
  %lse = attn.lse %visible : !score -> tensor<?x4x?xf32>
  return %context, %lse : !context, tensor<?x4x?xf32>
}
