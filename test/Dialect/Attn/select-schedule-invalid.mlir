// RUN: not attn-opt %s --attn-select-schedule=target=x86-64-linux-opencl 2>&1 | FileCheck %s --check-prefix=GPU
// RUN: not attn-opt %s --attn-select-schedule=target=x86-64-linux 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not attn-opt %s --attn-select-schedule=target=bogus 2>&1 | FileCheck %s --check-prefix=BOGUS
// RUN: not attn-opt %s --convert-attn-to-halide=target=x86 2>&1 | FileCheck %s --check-prefix=X86

// BOGUS: error: expected a target such as x86-64-linux-avx2-fma, or host, found 'bogus'
// X86: error: expected a target such as x86-64-linux-avx2-fma, or host, found 'x86'

!t = tensor<1x8x9x64xf32>
// GPU: [[@LINE+2]]:8: error: 'attn.attention' op expected a schedule for a GPU, as the target is, found #attn.prefill<
func.func @for_cpu(%x: !t) -> !t {
  %c = attn.attention %x, %x, %x schedule([#attn.prefill<q_block = 48, kv_block = 64, vector_width = 16, score_vectors = 3, score_keys = 8, context_rows = 6, context_vectors = 4>]) : !t, !t, !t -> !t
  return %c : !t
}

// CPU: [[@LINE+2]]:8: error: 'attn.attention' op expected a schedule for a CPU, as the target is, found #attn.gpu<
func.func @for_gpu(%x: !t) -> !t {
  %c = attn.attention %x, %x, %x schedule([#attn.gpu<q_block = 8, packed_heads = 1, kv_block = 8, kv_splits = 1, threads_x = 8, threads_y = 4, context_columns = 8>]) : !t, !t, !t -> !t
  return %c : !t
}

// CPU: [[@LINE+1]]:1: error: expected attn.q_len to be a number of query rows, found -3 : i64
func.func @negative(%x: !t) -> !t attributes {attn.q_len = -3} {
  return %x : !t
}
