// What the fuzz target `call` compiles and calls: together they have open and static sizes,
// grouped heads, captured tensors and masks that read them, lengths and ids, a cache and pages
// that are extended in place, and 16-bit floats.

func.func @attend(
    %query: tensor<?x4x?x16xf32> {attn.dims = ["batch", 4, "q_len", 16]},
    %key: tensor<?x2x?x16xf32> {attn.dims = ["batch", 2, "kv_len", 16]},
    %value: tensor<?x2x?x16xf32> {attn.dims = ["batch", 2, "kv_len", 16]},
    %len: tensor<?xi32> {attn.dims = ["batch"]}, %slope: tensor<4xf32>)
    -> (tensor<?x4x?x16xf32> {attn.name = "context"}) {
  %score = attn.score %query, %key scale(0.25)
      : tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32> -> tensor<?x4x?x?xf32>
  %biased = attn.modify_score %score {
  ^bb0(%s: f32, %b: index, %h: index, %q: index, %k: index):
    %m = tensor.extract %slope[%h] : tensor<4xf32>
    %distance = arith.subi %k, %q : index
    %i = arith.index_cast %distance : index to i32
    %d = arith.sitofp %i : i32 to f32
    %scaled = arith.mulf %m, %d : f32
    %r = arith.addf %s, %scaled : f32
    attn.yield %r : f32
  } : tensor<?x4x?x?xf32>
  %masked = attn.mask %biased causal(bottom_right) kv_lengths(%len : tensor<?xi32>)
      : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %value
      : tensor<?x4x?x?xf32>, tensor<?x2x?x16xf32> -> tensor<?x4x?x16xf32>
  return %context : tensor<?x4x?x16xf32>
}

// A mask that is a tensor, and document ids.
func.func @masked(%query: tensor<1x2x5x8xf16>, %key: tensor<1x2x20x8xf16>,
    %value: tensor<1x2x20x8xf16>, %visible: tensor<5x20xi1>, %document: tensor<20xi64>)
    -> (tensor<1x2x5x8xf16> {attn.name = "context"}) {
  %score = attn.score %query, %key
      : tensor<1x2x5x8xf16>, tensor<1x2x20x8xf16> -> tensor<1x2x5x20xf16>
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %q: index, %k: index):
    %seen = tensor.extract %visible[%q, %k] : tensor<5x20xi1>
    %mine = tensor.extract %document[%q] : tensor<20xi64>
    %its = tensor.extract %document[%k] : tensor<20xi64>
    %same = arith.cmpi sle, %its, %mine : i64
    %both = arith.andi %seen, %same : i1
    attn.yield %both : i1
  } : tensor<1x2x5x20xf16>
  %prob = attn.softmax %masked : tensor<1x2x5x20xf16>
  %context = attn.context %prob, %value
      : tensor<1x2x5x20xf16>, tensor<1x2x20x8xf16> -> tensor<1x2x5x8xf16>
  return %context : tensor<1x2x5x8xf16>
}

func.func @decode(
    %query: tensor<?x2x1x16xf32> {attn.dims = ["batch", 2, 1, 16]},
    %key: tensor<?x2x1x16xf32> {attn.dims = ["batch", 2, 1, 16]},
    %cache: tensor<?x2x?x16xf32> {attn.dims = ["batch", 2, "capacity", 16]},
    %past: tensor<?xi32> {attn.dims = ["batch"]})
    -> (tensor<?x2x1x16xf32> {attn.name = "context"},
        tensor<?x2x?x16xf32> {attn.name = "extended", attn.dims = ["batch", 2, "capacity", 16]}) {
  %extended = attn.append_cache %cache, %key, %past
      : tensor<?x2x?x16xf32>, tensor<?x2x1x16xf32>, tensor<?xi32>
  %score = attn.score %query, %extended
      : tensor<?x2x1x16xf32>, tensor<?x2x?x16xf32> -> tensor<?x2x1x?xf32>
  %masked = attn.mask %score kv_lengths(%past : tensor<?xi32>) : tensor<?x2x1x?xf32>
  %prob = attn.softmax %masked : tensor<?x2x1x?xf32>
  %context = attn.context %prob, %extended
      : tensor<?x2x1x?xf32>, tensor<?x2x?x16xf32> -> tensor<?x2x1x16xf32>
  return %context, %extended : tensor<?x2x1x16xf32>, tensor<?x2x?x16xf32>
}

// Layers around attention, ids that are looked up, a score that is stored.
func.func @layers(%table: tensor<10x12xbf16>,
    %ids: tensor<?x?xi64> {attn.dims = ["batch", "len"]},
    %weight: tensor<20x12xbf16>, %bias: tensor<20xbf16>)
    -> (tensor<?x?x20xbf16> {attn.name = "out"}) {
  %words = attn.embedding %table, %ids : tensor<10x12xbf16>, tensor<?x?xi64> -> tensor<?x?x12xbf16>
  %placed = attn.positions %words kind(sinusoidal) base(1.0e4) : tensor<?x?x12xbf16>
  %wide = attn.linear %placed, %weight, %bias
      : tensor<?x?x12xbf16>, tensor<20x12xbf16>, tensor<20xbf16> -> tensor<?x?x20xbf16>
  %normed = attn.layer_norm %wide scale(%bias : tensor<20xbf16>) epsilon(1.0e-5) : tensor<?x?x20xbf16>
  return %normed : tensor<?x?x20xbf16>
}

// One token is appended to pages in place, and attends to all of its sequence.
func.func @paged(
    %query: tensor<?x4x1x16xf32> {attn.dims = ["batch", 4, 1, 16]},
    %key: tensor<?x2x1x16xf32> {attn.dims = ["batch", 2, 1, 16]},
    %pool: tensor<?x4x2x16xf32> {attn.dims = ["num_pages", 4, 2, 16]},
    %table: tensor<?x?xi32> {attn.dims = ["batch", "max_pages"]},
    %past: tensor<?xi32> {attn.dims = ["batch"]},
    %len: tensor<?xi32> {attn.dims = ["batch"]})
    -> (tensor<?x4x1x16xf32> {attn.name = "context"},
        tensor<?x4x2x16xf32> {attn.name = "pages", attn.dims = ["num_pages", 4, 2, 16]}) {
  %pages = attn.append_pages %pool[%table], %key, %past
      : tensor<?x4x2x16xf32>, tensor<?x?xi32>, tensor<?x2x1x16xf32>, tensor<?xi32>
  %keys = attn.gather_pages %pages[%table] lengths(%len : tensor<?xi32>)
      : tensor<?x4x2x16xf32>, tensor<?x?xi32>
  %score = attn.score %query, %keys : tensor<?x4x1x16xf32>, tensor<?x2x?x16xf32> -> tensor<?x4x1x?xf32>
  %masked = attn.mask %score kv_lengths(%len : tensor<?xi32>) : tensor<?x4x1x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x1x?xf32>
  %context = attn.context %prob, %keys : tensor<?x4x1x?xf32>, tensor<?x2x?x16xf32> -> tensor<?x4x1x16xf32>
  return %context, %pages : tensor<?x4x1x16xf32>, tensor<?x4x2x16xf32>
}

// The same in CSR, where a call says how many tokens it appends to each sequence.
func.func @paged_csr(
    %query: tensor<?x4x1x16xf32> {attn.dims = ["batch", 4, 1, 16]},
    %key: tensor<?x2x?x16xf32> {attn.dims = ["batch", 2, "new", 16]},
    %pool: tensor<?x2x4x16xf32> {attn.dims = ["num_pages", 2, 4, 16]},
    %indices: tensor<?xi32> {attn.dims = ["num_indices"]},
    %indptr: tensor<?xi64> {attn.dims = ["num_offsets"]},
    %past: tensor<?xi32> {attn.dims = ["batch"]},
    %counts: tensor<?xi32> {attn.dims = ["batch"]},
    %len: tensor<?xi32> {attn.dims = ["batch"]})
    -> (tensor<?x4x1x16xf32> {attn.name = "context"},
        tensor<?x2x4x16xf32> {attn.name = "pages", attn.dims = ["num_pages", 2, 4, 16]}) {
  %pages = attn.append_pages %pool[%indices] offsets(%indptr : tensor<?xi64>), %key, %past counts(%counts : tensor<?xi32>)
      layout(heads_first) : tensor<?x2x4x16xf32>, tensor<?xi32>, tensor<?x2x?x16xf32>, tensor<?xi32>
  %keys = attn.gather_pages %pages[%indices] offsets(%indptr : tensor<?xi64>) layout(heads_first)
      : tensor<?x2x4x16xf32>, tensor<?xi32>
  %score = attn.score %query, %keys : tensor<?x4x1x16xf32>, tensor<?x2x?x16xf32> -> tensor<?x4x1x?xf32>
  %masked = attn.mask %score kv_lengths(%len : tensor<?xi32>) : tensor<?x4x1x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x1x?xf32>
  %context = attn.context %prob, %keys : tensor<?x4x1x?xf32>, tensor<?x2x?x16xf32> -> tensor<?x4x1x16xf32>
  return %context, %pages : tensor<?x4x1x16xf32>, tensor<?x2x4x16xf32>
}

// Packed rows of sequences, whose keys are packed, too.
func.func @ragged(
    %query: tensor<?x4x16xf32> {attn.dims = ["total", 4, 16]},
    %key: tensor<?x2x16xf32> {attn.dims = ["keys", 2, 16]},
    %offsets: tensor<?xi32> {attn.dims = ["num_offsets"]},
    %kv_offsets: tensor<?xi32> {attn.dims = ["num_offsets"]})
    -> (tensor<?x4x16xf32> {attn.name = "context"}) {
  %q = attn.unpack_rows %query offsets(%offsets) : tensor<?x4x16xf32>, tensor<?xi32>
  %k = attn.unpack_rows %key offsets(%kv_offsets) : tensor<?x2x16xf32>, tensor<?xi32>
  %score = attn.score %q, %k : tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32>
  %masked = attn.mask %score causal(bottom_right) q_offsets(%offsets : tensor<?xi32>) kv_offsets(%kv_offsets : tensor<?xi32>)
      : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %k : tensor<?x4x?x?xf32>, tensor<?x2x?x16xf32>
  %packed = attn.pack_rows %context offsets(%offsets) : tensor<?x4x?x16xf32>, tensor<?xi32>
  return %packed : tensor<?x4x16xf32>
}
