// Attention that tensor cores compute: tensor_cores.py verifies each function.

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

// Dims that are no multiples of a tile's 16; odd rows begin at odd elements.
!q33 = tensor<?x2x?x33xbf16>
!v17 = tensor<?x2x?x17xbf16>
func.func @odd_33(%query: !q33, %key: !q33, %value: !v17) -> (!v17, tensor<?x2x?xf32>) {
  %score = attn.score %query, %key scale(0.17) : !q33, !q33 -> tensor<?x2x?x?xbf16>
  %masked = attn.mask %score causal(bottom_right) : tensor<?x2x?x?xbf16>
  %lse = attn.lse %masked : tensor<?x2x?x?xbf16> -> tensor<?x2x?xf32>
  %prob = attn.softmax %masked : tensor<?x2x?x?xbf16>
  %context = attn.context %prob, %value : tensor<?x2x?x?xbf16>, !v17 -> !v17
  return %context, %lse : !v17, tensor<?x2x?xf32>
}

// Chunks of 16 bytes of which a row's last one is partial.
func.func @slices_20(%all: tensor<2x2x50x80xf16>) -> tensor<2x2x50x20xf16> {
  %query = tensor.extract_slice %all[0, 0, 0, 0] [2, 2, 50, 20] [1, 1, 1, 1] : tensor<2x2x50x80xf16> to tensor<2x2x50x20xf16>
  %key = tensor.extract_slice %all[0, 0, 0, 24] [2, 2, 50, 20] [1, 1, 1, 1] : tensor<2x2x50x80xf16> to tensor<2x2x50x20xf16>
  %value = tensor.extract_slice %all[0, 0, 0, 48] [2, 2, 50, 20] [1, 1, 1, 1] : tensor<2x2x50x80xf16> to tensor<2x2x50x20xf16>
  %score = attn.score %query, %key scale(0.25) : tensor<2x2x50x20xf16>, tensor<2x2x50x20xf16> -> tensor<2x2x50x50xf16>
  %prob = attn.softmax %score : tensor<2x2x50x50xf16>
  %context = attn.context %prob, %value : tensor<2x2x50x50xf16>, tensor<2x2x50x20xf16> -> tensor<2x2x50x20xf16>
  return %context : tensor<2x2x50x20xf16>
}

!q192 = tensor<?x2x?x192xf16>
!v128 = tensor<?x2x?x128xf16>
func.func @causal_192(%query: !q192, %key: !q192, %value: !v128) -> !v128 {
  %score = attn.score %query, %key scale(0.07) : !q192, !q192 -> tensor<?x2x?x?xf16>
  %masked = attn.mask %score causal(top_left) : tensor<?x2x?x?xf16>
  %prob = attn.softmax %masked : tensor<?x2x?x?xf16>
  %context = attn.context %prob, %value : tensor<?x2x?x?xf16>, !v128 -> !v128
  return %context : !v128
}

!q256 = tensor<?x1x?x256xbf16>
func.func @window_256(%query: !q256, %key: !q256, %value: !q256) -> !q256 {
  %score = attn.score %query, %key scale(0.06) : !q256, !q256 -> tensor<?x1x?x?xbf16>
  %masked = attn.mask %score window(30, 5) : tensor<?x1x?x?xbf16>
  %prob = attn.softmax %masked : tensor<?x1x?x?xbf16>
  %context = attn.context %prob, %value : tensor<?x1x?x?xbf16>, !q256 -> !q256
  return %context : !q256
}

!s64 = tensor<?x4x?x64xbf16>
!s64kv = tensor<?x2x?x64xbf16>
func.func @sink_64(%query: !s64, %key: !s64kv, %value: !s64kv, %sink: tensor<1x4x1xbf16>)
    -> (!s64, tensor<?x4x?xf32>) {
  %score = attn.score %query, %key scale(0.125) : !s64, !s64kv -> tensor<?x4x?x?xbf16>
  %masked = attn.mask %score window(20, 0, bottom_right) : tensor<?x4x?x?xbf16>
  %lse = attn.lse %masked : tensor<?x4x?x?xbf16> -> tensor<?x4x?xf32>
  %prob = attn.softmax %masked sink(%sink : tensor<1x4x1xbf16>) : tensor<?x4x?x?xbf16>
  %context = attn.context %prob, %value : tensor<?x4x?x?xbf16>, !s64kv -> !s64
  return %context, %lse : !s64, tensor<?x4x?xf32>
}

// Factors of either sign and zeros, as of dropout.
!p64 = tensor<?x2x?x64xf16>
func.func @factors_64(%query: !p64 {attn.dims = ["batch", 2, "q_len", 64]},
                      %key: !p64 {attn.dims = ["batch", 2, "kv_len", 64]},
                      %value: !p64 {attn.dims = ["batch", 2, "kv_len", 64]},
                      %factors: tensor<?xf16> {attn.dims = ["kv_len"]}) -> !p64 {
  %score = attn.score %query, %key scale(0.125) : !p64, !p64 -> tensor<?x2x?x?xf16>
  %masked = attn.mask %score causal(bottom_right) : tensor<?x2x?x?xf16>
  %prob = attn.softmax %masked : tensor<?x2x?x?xf16>
  %dropped = attn.modify_prob %prob {
  ^bb0(%p: f16, %b: index, %h: index, %i: index, %j: index):
    %c3 = arith.constant 3 : index
    %sum = arith.addi %i, %j : index
    %rest = arith.remui %sum, %c3 : index
    %c0 = arith.constant 0 : index
    %isDropped = arith.cmpi eq, %rest, %c0 : index
    %factor = tensor.extract %factors[%j] : tensor<?xf16>
    %x = arith.mulf %p, %factor : f16
    %zero = arith.constant 0.0 : f16
    %y = arith.select %isDropped, %zero, %x : f16
    attn.yield %y : f16
  } : tensor<?x2x?x?xf16>
  %context = attn.context %dropped, %value : tensor<?x2x?x?xf16>, !p64 -> !p64
  return %context : !p64
}

// Keys in pages of 16, of two query heads each; what is behind a sequence's end is not followed.
!g64 = tensor<?x4x?x64xf16>
!pool = tensor<?x16x2x64xf16>
!rows = tensor<?x2x?x64xf16>
func.func @paged_64(%query: !g64 {attn.dims = ["batch", 4, "q_len", 64]},
                    %keys: !pool {attn.dims = ["num_pages", 16, 2, 64]},
                    %values: !pool {attn.dims = ["num_pages", 16, 2, 64]},
                    %table: tensor<?x?xi32> {attn.dims = ["batch", "max_pages"]},
                    %lengths: tensor<?xi32> {attn.dims = ["batch"]}) -> !g64 {
  %k = attn.gather_pages %keys[%table] lengths(%lengths : tensor<?xi32>) : !pool, tensor<?x?xi32> -> !rows
  %v = attn.gather_pages %values[%table] lengths(%lengths : tensor<?xi32>) : !pool, tensor<?x?xi32> -> !rows
  %score = attn.score %query, %k scale(0.125) : !g64, !rows -> tensor<?x4x?x?xf16>
  %masked = attn.mask %score kv_lengths(%lengths : tensor<?xi32>) : tensor<?x4x?x?xf16>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf16>
  %context = attn.context %prob, %v : tensor<?x4x?x?xf16>, !rows -> !g64
  return %context : !g64
}
