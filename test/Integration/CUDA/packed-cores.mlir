// Packed rows on tensor cores: steps whose keys are split, and prompts, in one call. PTX is run on the CPU.
// REQUIRES: attnc
// DEFINE: %{function} =
// DEFINE: %{sizes} =
// DEFINE: %{verify} = %S/Inputs/on-cpu %t attnc verify %s --all --function %{function} --size %{sizes} --target

// RUN: attnc explain %s --function prompts --target host-cuda-cuda_capability_90 | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: rows of packed sequences alone: no padding is computed; key and value read in packed rows
// EXPLAIN-NOT: without tensor cores
// EXPLAIN: for q_len <= 1: #attn.mma<q_block = 16, {{.*}}, kv_splits = 16
// EXPLAIN: #attn.wgmma<

// REDEFINE: %{function} = prompts
// REDEFINE: %{sizes} = total=140,num_offsets=4
// RUN: %{verify} host-cuda-cuda_capability_80
// RUN: %{verify} host-cuda-cuda_capability_90
func.func @prompts(%rows: tensor<?x8x64xbf16> {attn.dims = ["total", 8, 64]},
                   %keys: tensor<?x2x64xbf16> {attn.dims = ["total", 2, 64]},
                   %o: tensor<?xi32> {attn.dims = ["num_offsets"]}) -> (tensor<?x8x64xbf16>, tensor<?x8xbf16>) {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x8x64xbf16>, tensor<?xi32>
  %k = attn.unpack_rows %keys offsets(%o) : tensor<?x2x64xbf16>, tensor<?xi32>
  %score = attn.score %q, %k scale(0.125) : tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>
  %masked = attn.mask %score causal(top_left) kv_offsets(%o : tensor<?xi32>) : tensor<?x8x?x?xbf16>
  %lse = attn.lse %masked : tensor<?x8x?x?xbf16>
  %prob = attn.softmax %masked : tensor<?x8x?x?xbf16>
  %context = attn.context %prob, %k : tensor<?x8x?x?xbf16>, tensor<?x2x?x64xbf16>
  %packed = attn.pack_rows %context offsets(%o) : tensor<?x8x?x64xbf16>, tensor<?xi32>
  %packed_lse = attn.pack_rows %lse offsets(%o) : tensor<?x8x?xbf16>, tensor<?xi32>
  return %packed, %packed_lse : tensor<?x8x64xbf16>, tensor<?x8xbf16>
}

// One kernel in splits computes all rows; a sink of each batch and row.
// REDEFINE: %{function} = steps
// REDEFINE: %{sizes} = total=20,batch=5,max_pages=9
// RUN: %{verify} host-cuda-cuda_capability_80
func.func @steps(%rows: tensor<?x8x128xf16> {attn.dims = ["total", 8, 128]},
                 %pool: tensor<?x16x2x128xf16> {attn.dims = ["num_pages", 16, 2, 128]},
                 %table: tensor<?x?xi32> {attn.dims = ["batch", "max_pages"]},
                 %n: tensor<?xi32> {attn.dims = ["batch"]}, %o: tensor<?xi64>,
                 %sink: tensor<?x8x?xf16> {attn.dims = ["batch", 8, "total"]}) -> (tensor<?x8x128xf16>, tensor<?x8xf16>)
    attributes {attn.q_len = 1} {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x8x128xf16>, tensor<?xi64>
  %k = attn.gather_pages %pool[%table] lengths(%n : tensor<?xi32>) : tensor<?x16x2x128xf16>, tensor<?x?xi32>
  %score = attn.score %q, %k scale(0.1) : tensor<?x8x?x128xf16>, tensor<?x2x?x128xf16>
  %masked = attn.mask %score causal(bottom_right) q_offsets(%o : tensor<?xi64>) kv_lengths(%n : tensor<?xi32>) : tensor<?x8x?x?xf16>
  %lse = attn.lse %masked : tensor<?x8x?x?xf16>
  %prob = attn.softmax %masked sink(%sink : tensor<?x8x?xf16>) : tensor<?x8x?x?xf16>
  %context = attn.context %prob, %k : tensor<?x8x?x?xf16>, tensor<?x2x?x128xf16>
  %packed = attn.pack_rows %context offsets(%o) : tensor<?x8x?x128xf16>, tensor<?xi64>
  %packed_lse = attn.pack_rows %lse offsets(%o) : tensor<?x8x?xf16>, tensor<?xi64>
  return %packed, %packed_lse : tensor<?x8x128xf16>, tensor<?x8xf16>
}

// Regions that ask for the batch: a slope and a factor of each sequence.
// REDEFINE: %{function} = modified
// REDEFINE: %{sizes} = total=150,batch=7,kv_len=90
// RUN: %{verify} host-cuda-cuda_capability_90
func.func @modified(%rows: tensor<?x4x32xbf16> {attn.dims = ["total", 4, 32]},
                    %k: tensor<?x4x?x32xbf16> {attn.dims = ["batch", 4, "kv_len", 32]},
                    %v: tensor<?x4x?x20xbf16> {attn.dims = ["batch", 4, "kv_len", 20]},
                    %o: tensor<?xi32>, %slope: tensor<?x4xbf16> {attn.dims = ["batch", 4]},
                    %factor: tensor<?xbf16> {attn.dims = ["batch"]}) -> tensor<?x4x20xbf16> {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x4x32xbf16>, tensor<?xi32>
  %score = attn.score %q, %k scale(0.2) : tensor<?x4x?x32xbf16>, tensor<?x4x?x32xbf16>
  %biased = attn.modify_score %score {
  ^bb0(%s: bf16, %b: index, %h: index, %i: index, %j: index):
    %slope_of = tensor.extract %slope[%b, %h] : tensor<?x4xbf16>
    %distance = arith.subi %j, %i : index
    %integer = arith.index_cast %distance : index to i32
    %number = arith.sitofp %integer : i32 to bf16
    %bias = arith.mulf %slope_of, %number : bf16
    %sum = arith.addf %s, %bias : bf16
    attn.yield %sum : bf16
  } : tensor<?x4x?x?xbf16>
  %prob = attn.softmax %biased : tensor<?x4x?x?xbf16>
  %modified = attn.modify_prob %prob {
  ^bb0(%p: bf16, %b: index, %h: index, %i: index, %j: index):
    %f = tensor.extract %factor[%b] : tensor<?xbf16>
    %x = arith.mulf %p, %f : bf16
    attn.yield %x : bf16
  } : tensor<?x4x?x?xbf16>
  %context = attn.context %modified, %v : tensor<?x4x?x?xbf16>, tensor<?x4x?x20xbf16>
  %packed = attn.pack_rows %context offsets(%o) : tensor<?x4x?x20xbf16>, tensor<?xi32>
  return %packed : tensor<?x4x20xbf16>
}
