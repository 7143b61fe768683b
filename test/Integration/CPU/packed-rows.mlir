// Packed rows beside masks of two ranges of keys, and beside narrower and quantized keys.

// RUN: attnc explain %s --function sinks | FileCheck %s --check-prefix=SINKS
// RUN: attnc explain %s --function pages | FileCheck %s --check-prefix=PAGES
// RUN: attnc explain %s --function widened | FileCheck %s --check-prefix=WIDENED
// RUN: attnc explain %s --function scaled | FileCheck %s --check-prefix=SCALED
// RUN: attnc verify %s --function sinks --size total=900,num_offsets=4
// RUN: attnc verify %s --function sinks --size total=300,num_offsets=9
// RUN: attnc verify %s --function pages --size total=40,batch=5,max_pages=9
// RUN: attnc verify %s --function widened --size total=200,keys=500,num_offsets=5
// RUN: attnc verify %s --function scaled --size total=30,batch=3

// SINKS: between two ranges of them
// SINKS-SAME: rows of packed sequences alone{{.*}}key and value read in packed rows
func.func @sinks(%rows: tensor<?x2x32xf32> {attn.dims = ["total", 2, 32]},
                 %keys: tensor<?x2x32xf32> {attn.dims = ["total", 2, 32]},
                 %o: tensor<?xi32> {attn.dims = ["num_offsets"]}) -> tensor<?x2x32xf32> {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x2x32xf32>, tensor<?xi32>
  %k = attn.unpack_rows %keys offsets(%o) : tensor<?x2x32xf32>, tensor<?xi32>
  %score = attn.score %q, %k scale(0.2) : tensor<?x2x?x32xf32>, tensor<?x2x?x32xf32>
  %own = attn.mask %score causal(top_left) kv_offsets(%o : tensor<?xi32>) : tensor<?x2x?x?xf32>
  %masked = attn.mask %own {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %four = arith.constant 4 : index
    %width = arith.constant 70 : index
    %first = arith.subi %i, %width : index
    %isSink = arith.cmpi slt, %j, %four : index
    %isNear = arith.cmpi sgt, %j, %first : index
    %seen = arith.ori %isSink, %isNear : i1
    attn.yield %seen : i1
  } : tensor<?x2x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x2x?x?xf32>
  %context = attn.context %prob, %k : tensor<?x2x?x?xf32>, tensor<?x2x?x32xf32>
  %packed = attn.pack_rows %context offsets(%o) : tensor<?x2x?x32xf32>, tensor<?xi32>
  return %packed : tensor<?x2x32xf32>
}

// PAGES: key and value read in their pages; key widened from i8 as it is read, with a scale of f32 for each row
// PAGES-SAME: value widened from i8{{.*}}rows of packed sequences alone
func.func @pages(%rows: tensor<?x8x64xf32> {attn.dims = ["total", 8, 64]},
                 %pool: tensor<?x2x16x64xi8> {attn.dims = ["num_pages", 2, 16, 64]},
                 %scales: tensor<?x2x16x1xf32> {attn.dims = ["num_pages", 2, 16, 1]},
                 %table: tensor<?x?xi32> {attn.dims = ["batch", "max_pages"]},
                 %n: tensor<?xi32> {attn.dims = ["batch"]}, %o: tensor<?xi32>)
    -> tensor<?x8x64xf32> {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x8x64xf32>, tensor<?xi32>
  %stored = attn.gather_pages %pool[%table] lengths(%n : tensor<?xi32>) layout(heads_first) : tensor<?x2x16x64xi8>, tensor<?x?xi32>
  %factors = attn.gather_pages %scales[%table] lengths(%n : tensor<?xi32>) layout(heads_first) : tensor<?x2x16x1xf32>, tensor<?x?xi32>
  %k = attn.dequantize %stored scales(%factors : tensor<?x2x?x1xf32>) : tensor<?x2x?x64xi8> -> tensor<?x2x?x64xf32>
  %score = attn.score %q, %k scale(0.01) : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>
  %masked = attn.mask %score causal(bottom_right) q_offsets(%o : tensor<?xi32>) kv_lengths(%n : tensor<?xi32>) : tensor<?x8x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x8x?x?xf32>
  %context = attn.context %prob, %k : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32>
  %packed = attn.pack_rows %context offsets(%o) : tensor<?x8x?x64xf32>, tensor<?xi32>
  return %packed : tensor<?x8x64xf32>
}

// WIDENED: key widened from f16 as it is read{{.*}}key and value read in packed rows
func.func @widened(%rows: tensor<?x4x32xf32> {attn.dims = ["total", 4, 32]},
                   %keys: tensor<?x2x32xf16> {attn.dims = ["keys", 2, 32]},
                   %o: tensor<?xi32> {attn.dims = ["num_offsets"]}, %p: tensor<?xi32> {attn.dims = ["num_offsets"]})
    -> tensor<?x4x32xf32> {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x4x32xf32>, tensor<?xi32>
  %half = attn.unpack_rows %keys offsets(%p) : tensor<?x2x32xf16>, tensor<?xi32>
  %k = attn.dequantize %half : tensor<?x2x?x32xf16> -> tensor<?x2x?x32xf32>
  %score = attn.score %q, %k scale(0.2) : tensor<?x4x?x32xf32>, tensor<?x2x?x32xf32>
  %masked = attn.mask %score causal(bottom_right) q_offsets(%o : tensor<?xi32>) kv_offsets(%p : tensor<?xi32>) : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %k : tensor<?x4x?x?xf32>, tensor<?x2x?x32xf32>
  %packed = attn.pack_rows %context offsets(%o) : tensor<?x4x?x32xf32>, tensor<?xi32>
  return %packed : tensor<?x4x32xf32>
}

// Scales are not packed.
// SCALED: each sequence padded to all rows, as keys and values with scales are not read packed
// SCALED: rows of packed sequences alone
func.func @scaled(%rows: tensor<?x4x32xf32> {attn.dims = ["total", 4, 32]},
                  %keys: tensor<?x2x32xf16> {attn.dims = ["total", 2, 32]},
                  %scales: tensor<?x2x?x1xf32> {attn.dims = ["batch", 2, "total", 1]},
                  %o: tensor<?xi32>) -> tensor<?x4x32xf32> {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x4x32xf32>, tensor<?xi32>
  %half = attn.unpack_rows %keys offsets(%o) : tensor<?x2x32xf16>, tensor<?xi32>
  %k = attn.dequantize %half scales(%scales : tensor<?x2x?x1xf32>) : tensor<?x2x?x32xf16> -> tensor<?x2x?x32xf32>
  %score = attn.score %q, %k scale(0.2) : tensor<?x4x?x32xf32>, tensor<?x2x?x32xf32>
  %masked = attn.mask %score kv_offsets(%o : tensor<?xi32>) : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %k : tensor<?x4x?x?xf32>, tensor<?x2x?x32xf32>
  %packed = attn.pack_rows %context offsets(%o) : tensor<?x4x?x32xf32>, tensor<?xi32>
  return %packed : tensor<?x4x32xf32>
}
