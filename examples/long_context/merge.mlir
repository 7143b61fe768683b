// The contexts and lse's of two processes, each over keys of its own, as those over all of these keys.

!rows = tensor<?x8x?x64xf32>
!lse = tensor<?x8x?xf32>

func.func @merge(
    %context_a: !rows {attn.name = "context_a", attn.dims = ["batch", 8, "q_len", 64]},
    %lse_a: !lse {attn.name = "lse_a", attn.dims = ["batch", 8, "q_len"]},
    %context_b: !rows {attn.name = "context_b", attn.dims = ["batch", 8, "q_len", 64]},
    %lse_b: !lse {attn.name = "lse_b", attn.dims = ["batch", 8, "q_len"]})
    -> (!rows {attn.name = "context"}, !lse {attn.name = "lse"}) {
  %context, %lse = attn.merge %context_a, %lse_a, %context_b, %lse_b : !rows, !lse
  return %context, %lse : !rows, !lse
}
