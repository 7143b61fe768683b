// Values that are the first dims of the keys are read where the keys are: in order, in pages that
// rows are appended to, and narrower or with scales.
// RUN: attnc explain %s --function in_order | FileCheck %s --check-prefixes=ALL,ORDER
// RUN: attnc explain %s --function in_pages | FileCheck %s --check-prefixes=ALL,PAGES
// RUN: attnc explain %s --function scaled | FileCheck %s --check-prefixes=ALL,SCALED
// RUN: attnc explain %s --function in_csr | FileCheck %s --check-prefixes=ALL,CSR
// RUN: attnc explain %s --function widened | FileCheck %s --check-prefixes=ALL,WIDENED
// RUN: attnc explain %s --function others | FileCheck %s --check-prefix=OTHERS
// RUN: attnc verify %s --function in_pages --size batch=2,q_len=2,max_pages=5
// RUN: attnc verify %s --function scaled --size batch=2,q_len=1,kv_len=2100

// ALL: values in the keys
// ALL-NOT: attn.gather_pages at
// ALL-NOT: attn.dequantize at
// ALL: attn.attention at
// CSR: row q sees keys [0, page_lengths[b]); {{.*}}key and value read in their pages
// ALL: values are the first 64 of 80 dims of the keys, read once
// A key's bytes count once.
// ORDER: bytes 320·batch·kv_len +
// PAGES: #attn.prefill<q_block = 16, {{.*}}packed_heads = 16, kv_splits = 32, max_q_len = 1>
// SCALED: value widened from i8 as it is read, with a scale of f32 for each row
// WIDENED: value widened from bf16 as it is read

!q = tensor<?x16x?x80xf32>
!k = tensor<?x1x?x80xf32>
!v = tensor<?x1x?x64xf32>
!s = tensor<?x16x?x?xf32>
!c = tensor<?x16x?x64xf32>

func.func @in_order(%q: !q {attn.dims = ["batch", 16, "q_len", 80]}, %k: !k {attn.dims = ["batch", 1, "kv_len", 80]}) -> !c {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %k, %c0 : !k
  %n = tensor.dim %k, %c2 : !k
  %v = tensor.extract_slice %k[0, 0, 0, 0] [%b, 1, %n, 64] [1, 1, 1, 1] : !k to !v
  %score = attn.score %q, %k scale(0.125) : !q, !k -> !s
  %masked = attn.mask %score causal(bottom_right) : !s
  %prob = attn.softmax %masked : !s
  %c = attn.context %prob, %v : !s, !v -> !c
  return %c : !c
}

!pool = tensor<?x16x1x80xbf16>
!rows = tensor<?x1x?x80xbf16>
!table = tensor<?x?xi32>
!n = tensor<?xi32>

func.func @in_pages(%q: !q {attn.dims = ["batch", 16, "q_len", 80]}, %pool: !pool {attn.dims = ["num_pages", 16, 1, 80]},
                    %table: !table {attn.dims = ["batch", "max_pages"]}, %rows: !rows {attn.dims = ["batch", 1, "q_len", 80]},
                    %past: !n {attn.dims = ["batch"]}) -> (!c, !pool) {
  %next = attn.append_pages %pool[%table], %rows, %past : !pool, !table, !rows, !n
  %stored = attn.gather_pages %next[%table] : !pool, !table -> !rows
  %k = attn.dequantize %stored : !rows -> !k
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %k, %c0 : !k
  %n = tensor.dim %k, %c2 : !k
  %v = tensor.extract_slice %k[0, 0, 0, 0] [%b, 1, %n, 64] [1, 1, 1, 1] : !k to !v
  %score = attn.score %q, %k scale(0.125) : !q, !k -> !s
  %masked = attn.mask %score positions(%past : !n) causal(top_left) : !s
  %prob = attn.softmax %masked : !s
  %c = attn.context %prob, %v : !s, !v -> !c
  return %c, %next : !c, !pool
}

!k8 = tensor<?x1x?x80xi8>
!scales = tensor<?x1x?x1xf32>

func.func @scaled(%q: !q {attn.dims = ["batch", 16, "q_len", 80]}, %k8: !k8 {attn.dims = ["batch", 1, "kv_len", 80]},
                  %scales: !scales {attn.dims = ["batch", 1, "kv_len", 1]}) -> !c {
  %k = attn.dequantize %k8 scales(%scales : !scales) : !k8 -> !k
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %k, %c0 : !k
  %n = tensor.dim %k, %c2 : !k
  %v = tensor.extract_slice %k[0, 0, 0, 0] [%b, 1, %n, 64] [1, 1, 1, 1] : !k to !v
  %score = attn.score %q, %k scale(0.125) : !q, !k -> !s
  %masked = attn.mask %score causal(bottom_right) : !s
  %prob = attn.softmax %masked : !s
  %c = attn.context %prob, %v : !s, !v -> !c
  return %c : !c
}

// In CSR; lengths that an op computes are named by it.
func.func @in_csr(%q: !q, %pool: tensor<?x16x1x80xf32>, %indices: tensor<?xi32>, %indptr: tensor<?xi32>, %last: tensor<?xi32>) -> !c {
  %lengths = attn.page_lengths %pool[%indices] offsets(%indptr : tensor<?xi32>) last(%last : tensor<?xi32>)
      : tensor<?x16x1x80xf32>, tensor<?xi32>
  %k = attn.gather_pages %pool[%indices] offsets(%indptr : tensor<?xi32>) : tensor<?x16x1x80xf32>, tensor<?xi32> -> !k
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %k, %c0 : !k
  %n = tensor.dim %k, %c2 : !k
  %v = tensor.extract_slice %k[0, 0, 0, 0] [%b, 1, %n, 64] [1, 1, 1, 1] : !k to !v
  %score = attn.score %q, %k scale(0.125) : !q, !k -> !s
  %masked = attn.mask %score kv_lengths(%lengths : tensor<?xi32>) : !s
  %prob = attn.softmax %masked : !s
  %c = attn.context %prob, %v : !s, !v -> !c
  return %c : !c
}

func.func @widened(%q: !q, %cache: tensor<?x1x?x80xbf16>) -> !c {
  %k = arith.extf %cache : tensor<?x1x?x80xbf16> to !k
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %k, %c0 : !k
  %n = tensor.dim %k, %c2 : !k
  %v = tensor.extract_slice %k[0, 0, 0, 0] [%b, 1, %n, 64] [1, 1, 1, 1] : !k to !v
  %score = attn.score %q, %k scale(0.125) : !q, !k -> !s
  %prob = attn.softmax %score : !s
  %c = attn.context %prob, %v : !s, !v -> !c
  return %c : !c
}

// The last dims of the keys are read in place, too, but are not the first ones.
// OTHERS-NOT: values in the keys
// OTHERS: attn.attention at
// OTHERS-NOT: read once
func.func @others(%q: !q, %k: !k) -> !c {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %k, %c0 : !k
  %n = tensor.dim %k, %c2 : !k
  %v = tensor.extract_slice %k[0, 0, 0, 16] [%b, 1, %n, 64] [1, 1, 1, 1] : !k to !v
  %score = attn.score %q, %k scale(0.125) : !q, !k -> !s
  %prob = attn.softmax %score : !s
  %c = attn.context %prob, %v : !s, !v -> !c
  return %c : !c
}
