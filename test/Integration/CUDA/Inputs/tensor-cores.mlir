// Attention that tensor cores compute: each function is verified by tensor-cores.test.

!q16 = tensor<?x2x?x16xf16>
func.func @plain_16(%query: !q16, %key: !q16, %value: !q16) -> !q16 {
  %score = attn.score %query, %key scale(0.25) : !q16, !q16 -> tensor<?x2x?x?xf16>
  %prob = attn.softmax %score : tensor<?x2x?x?xf16>
  %context = attn.context %prob, %value : tensor<?x2x?x?xf16>, !q16 -> !q16
  return %context : !q16
}

!q64 = tensor<?x2x?x64xbf16>
func.func @causal_64(%query: !q64, %key: !q64, %value: !q64) -> !q64 {
  %score = attn.score %query, %key scale(0.125) : !q64, !q64 -> tensor<?x2x?x?xbf16>
  %masked = attn.mask %score causal(top_left) : tensor<?x2x?x?xbf16>
  %prob = attn.softmax %masked : tensor<?x2x?x?xbf16>
  %context = attn.context %prob, %value : tensor<?x2x?x?xbf16>, !q64 -> !q64
  return %context : !q64
}

// Two query heads for each head of keys.
!q80 = tensor<?x4x?x80xf16>
!k80 = tensor<?x2x?x80xf16>
func.func @causal_80(%query: !q80, %key: !k80, %value: !k80) -> (!q80, tensor<?x4x?xf32>) {
  %score = attn.score %query, %key scale(0.11) : !q80, !k80 -> tensor<?x4x?x?xf16>
  %masked = attn.mask %score causal(bottom_right) : tensor<?x4x?x?xf16>
  %lse = attn.lse %masked : tensor<?x4x?x?xf16> -> tensor<?x4x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf16>
  %context = attn.context %prob, %value : tensor<?x4x?x?xf16>, !k80 -> !q80
  return %context, %lse : !q80, tensor<?x4x?xf32>
}

!q96 = tensor<?x6x?x96xbf16>
!k96 = tensor<?x2x?x96xbf16>
func.func @window_96(%query: !q96, %key: !k96, %value: !k96) -> !q96 {
  %score = attn.score %query, %key scale(-0.1) : !q96, !k96 -> tensor<?x6x?x?xbf16>
  %masked = attn.mask %score window(30, 5) : tensor<?x6x?x?xbf16>
  %prob = attn.softmax %masked : tensor<?x6x?x?xbf16>
  %context = attn.context %prob, %value : tensor<?x6x?x?xbf16>, !k96 -> !q96
  return %context : !q96
}

// Rows that see nothing where a length is 0; value_dim is not head_dim.
!q128 = tensor<?x2x?x128xf16>
!v48 = tensor<?x2x?x48xf16>
func.func @padded_128(%query: !q128 {attn.dims = ["batch", 2, "q_len", 128]},
                      %key: !q128 {attn.dims = ["batch", 2, "kv_len", 128]},
                      %value: !v48 {attn.dims = ["batch", 2, "kv_len", 48]},
                      %lengths: tensor<?xi32> {attn.dims = ["batch"]})
    -> (!v48, tensor<?x2x?xf16>) {
  %score = attn.score %query, %key scale(0.09) : !q128, !q128 -> tensor<?x2x?x?xf16>
  %masked = attn.mask %score kv_lengths(%lengths : tensor<?xi32>) : tensor<?x2x?x?xf16>
  %lse = attn.lse %masked : tensor<?x2x?x?xf16> -> tensor<?x2x?xf16>
  %prob = attn.softmax %masked : tensor<?x2x?x?xf16>
  %context = attn.context %prob, %value : tensor<?x2x?x?xf16>, !v48 -> !v48
  return %context, %lse : !v48, tensor<?x2x?xf16>
}

!b128 = tensor<?x2x?x128xbf16>
func.func @bias_128(%query: !b128 {attn.dims = ["batch", 2, "q_len", 128]},
                    %key: !b128 {attn.dims = ["batch", 2, "kv_len", 128]},
                    %value: !b128 {attn.dims = ["batch", 2, "kv_len", 128]},
                    %bias: tensor<?x2x?x?xbf16> {attn.dims = ["batch", 2, "q_len", "kv_len"]}) -> !b128 {
  %score = attn.score %query, %key scale(0.09) : !b128, !b128 -> tensor<?x2x?x?xbf16>
  %capped = attn.modify_score %score {
  ^bb0(%s: bf16, %b: index, %h: index, %i: index, %j: index):
    %wide = arith.extf %s : bf16 to f32
    %c5 = arith.constant 5.0 : f32
    %x = arith.divf %wide, %c5 : f32
    %t = math.tanh %x : f32
    %y = arith.mulf %t, %c5 : f32
    %e = tensor.extract %bias[%b, %h, %i, %j] : tensor<?x2x?x?xbf16>
    %f = arith.extf %e : bf16 to f32
    %z = arith.addf %y, %f : f32
    %r = arith.truncf %z : f32 to bf16
    attn.yield %r : bf16
  } : tensor<?x2x?x?xbf16>
  %prob = attn.softmax %capped : tensor<?x2x?x?xbf16>
  %context = attn.context %prob, %value : tensor<?x2x?x?xbf16>, !b128 -> !b128
  return %context : !b128
}

!a64 = tensor<?x4x?x64xf16>
func.func @alibi_64(%query: !a64, %key: !a64, %value: !a64, %slopes: tensor<4xf32>) -> !a64 {
  %score = attn.score %query, %key scale(0.125) : !a64, !a64 -> tensor<?x4x?x?xf16>
  %biased = attn.modify_score %score {
  ^bb0(%s: f16, %b: index, %h: index, %i: index, %j: index):
    %slope = tensor.extract %slopes[%h] : tensor<4xf32>
    %d = arith.subi %j, %i : index
    %n = arith.index_cast %d : index to i32
    %f = arith.sitofp %n : i32 to f32
    %m = arith.mulf %f, %slope : f32
    %wide = arith.extf %s : f16 to f32
    %r = arith.addf %wide, %m : f32
    %narrow = arith.truncf %r : f32 to f16
    attn.yield %narrow : f16
  } : tensor<?x4x?x?xf16>
  %masked = attn.mask %biased causal(top_left) : tensor<?x4x?x?xf16>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf16>
  %context = attn.context %prob, %value : tensor<?x4x?x?xf16>, !a64 -> !a64
  return %context : !a64
}

// A mask whose bounds are not known.
!d64 = tensor<?x2x?x64xbf16>
func.func @documents_64(%query: !d64 {attn.dims = ["batch", 2, "q_len", 64]},
                        %key: !d64 {attn.dims = ["batch", 2, "kv_len", 64]},
                        %value: !d64 {attn.dims = ["batch", 2, "kv_len", 64]},
                        %of_query: tensor<?x?xi32> {attn.dims = ["batch", "q_len"]},
                        %of_key: tensor<?x?xi32> {attn.dims = ["batch", "kv_len"]},
                        %mask: tensor<?x?xi1> {attn.dims = ["q_len", "kv_len"]}) -> !d64 {
  %score = attn.score %query, %key scale(0.125) : !d64, !d64 -> tensor<?x2x?x?xbf16>
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = tensor.extract %of_query[%b, %i] : tensor<?x?xi32>
    %y = tensor.extract %of_key[%b, %j] : tensor<?x?xi32>
    %same = arith.cmpi eq, %x, %y : i32
    %kept = tensor.extract %mask[%i, %j] : tensor<?x?xi1>
    %either = arith.ori %same, %kept : i1
    attn.yield %either : i1
  } : tensor<?x2x?x?xbf16>
  %prob = attn.softmax %masked : tensor<?x2x?x?xbf16>
  %context = attn.context %prob, %value : tensor<?x2x?x?xbf16>, !d64 -> !d64
  return %context : !d64
}

// Rows are 98 bytes apart and begin at an odd element: no copies of 16 bytes.
func.func @slices_16(%all: tensor<2x2x50x49xbf16>) -> tensor<2x2x50x16xbf16> {
  %query = tensor.extract_slice %all[0, 0, 0, 1] [2, 2, 50, 16] [1, 1, 1, 1] : tensor<2x2x50x49xbf16> to tensor<2x2x50x16xbf16>
  %key = tensor.extract_slice %all[0, 0, 0, 17] [2, 2, 50, 16] [1, 1, 1, 1] : tensor<2x2x50x49xbf16> to tensor<2x2x50x16xbf16>
  %value = tensor.extract_slice %all[0, 0, 0, 33] [2, 2, 50, 16] [1, 1, 1, 1] : tensor<2x2x50x49xbf16> to tensor<2x2x50x16xbf16>
  %score = attn.score %query, %key scale(0.25) : tensor<2x2x50x16xbf16>, tensor<2x2x50x16xbf16> -> tensor<2x2x50x50xbf16>
  %prob = attn.softmax %score : tensor<2x2x50x50xbf16>
  %context = attn.context %prob, %value : tensor<2x2x50x50xbf16>, tensor<2x2x50x16xbf16> -> tensor<2x2x50x16xbf16>
  return %context : tensor<2x2x50x16xbf16>
}
