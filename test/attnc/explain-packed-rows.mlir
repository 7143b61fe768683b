// Whether packed rows are computed as they are, or each sequence is padded.
// RUN: attnc explain %s --function packed | FileCheck %s --check-prefix=PACKED
// RUN: attnc explain %s --function rotated | FileCheck %s --check-prefix=ROTATED
// RUN: attnc explain %s --function added | FileCheck %s --check-prefix=ADDED
// RUN: attnc explain %s --function appended | FileCheck %s --check-prefix=APPENDED
// RUN: attnc explain %s --function counted | FileCheck %s --check-prefix=COUNTED
// RUN: attnc verify %s --function known | FileCheck %s --check-prefix=KNOWN
// RUN: attnc explain %s --function known | FileCheck %s --check-prefix=UNCOPIED
// RUN: attnc explain %s --function packed --target host-opencl | FileCheck %s --check-prefix=GPU

// PACKED-NOT: unpack_rows at
// PACKED: attn.attention at
// PACKED: with {{.*}}rows of packed sequences alone: no padding is computed; key and value read in packed rows
// GPU: attn.attention at
// GPU: rows of packed sequences alone: no padding is computed; key and value read in packed rows
// GPU: kernel packed_attention_{{[0-9]+}}: #attn.gpu
func.func @packed(%rows: tensor<?x2x8xf32>, %keys: tensor<?x2x8xf32>, %o: tensor<?xi32>) -> tensor<?x2x8xf32> {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<?x2x8xf32>, tensor<?xi32>
  %k = attn.unpack_rows %keys offsets(%o) : tensor<?x2x8xf32>, tensor<?xi32>
  %s = attn.score %q, %k : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>
  %m = attn.mask %s kv_offsets(%o : tensor<?xi32>) : tensor<?x2x?x?xf32>
  %p = attn.softmax %m : tensor<?x2x?x?xf32>
  %c = attn.context %p, %k : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32>
  %r = attn.pack_rows %c offsets(%o) : tensor<?x2x?x8xf32>, tensor<?xi32>
  return %r : tensor<?x2x8xf32>
}

// ROTATED-NOT: attn.unpack_rows at
// ROTATED: attn.positions at {{.*}} -> f32[total, 2, 1, 8]
// ROTATED: with rows of packed sequences alone: no padding is computed
func.func @rotated(%rows: tensor<?x2x8xf32>, %k: tensor<?x2x?x8xf32>, %o: tensor<?xi32>) -> tensor<?x2x8xf32> {
  %u = attn.unpack_rows %rows offsets(%o) : tensor<?x2x8xf32>, tensor<?xi32>
  %q = attn.positions %u kind(rotary_halves) : tensor<?x2x?x8xf32>
  %s = attn.score %q, %k : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>
  %p = attn.softmax %s : tensor<?x2x?x?xf32>
  %c = attn.context %p, %k : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32>
  %r = attn.pack_rows %c offsets(%o) : tensor<?x2x?x8xf32>, tensor<?xi32>
  return %r : tensor<?x2x8xf32>
}

// ADDED: attn.unpack_rows at
// ADDED: with each sequence padded to all rows, as no fused attention reads them packed by the same offsets
func.func @added(%rows: tensor<?x2x8xf32>, %k: tensor<?x2x?x8xf32>, %o: tensor<?xi32>, %table: tensor<?x8xf32>) -> tensor<?x2x8xf32> {
  %u = attn.unpack_rows %rows offsets(%o) : tensor<?x2x8xf32>, tensor<?xi32>
  %q = attn.map %u, %table {
  ^bb0(%x: f32, %y: f32):
    %sum = arith.addf %x, %y : f32
    attn.yield %sum : f32
  } : tensor<?x2x?x8xf32>, tensor<?x8xf32>
  %s = attn.score %q, %k : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>
  %p = attn.softmax %s : tensor<?x2x?x?xf32>
  %c = attn.context %p, %k : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32>
  %r = attn.pack_rows %c offsets(%o) : tensor<?x2x?x8xf32>, tensor<?xi32>
  return %r : tensor<?x2x8xf32>
}

// Rows are appended where they are packed, if the counts are those of the offsets.
// APPENDED-NOT: attn.unpack_rows at
// APPENDED: attn.append_pages at
// APPENDED: bytes {{.*}} + 128·total
func.func @appended(%rows: tensor<?x2x8xf32> {attn.dims = ["total", 2, 8]}, %o: tensor<?xi32>, %past: tensor<?xi32>,
                    %table: tensor<?x?xi32>, %pool: tensor<?x16x2x8xf32>) -> tensor<?x16x2x8xf32> {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %past, %c0 : tensor<?xi32>
  %first = tensor.extract_slice %o[0] [%batch] [1] : tensor<?xi32> to tensor<?xi32>
  %end = tensor.extract_slice %o[1] [%batch] [1] : tensor<?xi32> to tensor<?xi32>
  %counts = arith.subi %end, %first : tensor<?xi32>
  %u = attn.unpack_rows %rows offsets(%o) : tensor<?x2x8xf32>, tensor<?xi32>
  %next = attn.append_pages %pool[%table], %u, %past counts(%counts : tensor<?xi32>)
      : tensor<?x16x2x8xf32>, tensor<?x?xi32>, tensor<?x2x?x8xf32>, tensor<?xi32>
  return %next : tensor<?x16x2x8xf32>
}

// COUNTED: attn.unpack_rows at
// COUNTED: with each sequence padded to all rows, as counts of attn.append_pages are not those of the offsets
func.func @counted(%rows: tensor<?x2x8xf32>, %o: tensor<?xi32>, %past: tensor<?xi32>, %counts: tensor<?xi32>,
                   %table: tensor<?x?xi32>, %pool: tensor<?x16x2x8xf32>) -> tensor<?x16x2x8xf32> {
  %u = attn.unpack_rows %rows offsets(%o) : tensor<?x2x8xf32>, tensor<?xi32>
  %next = attn.append_pages %pool[%table], %u, %past counts(%counts : tensor<?xi32>)
      : tensor<?x16x2x8xf32>, tensor<?x?xi32>, tensor<?x2x?x8xf32>, tensor<?xi32>
  return %next : tensor<?x16x2x8xf32>
}

// A result's type may say less than the rows'; they are computed in the result's memory.
// UNCOPIED-NOT: known_copy
// KNOWN: cases, all within the allowed error
func.func @known(%rows: tensor<4x2x8xf32>, %k: tensor<2x2x9x8xf32>, %o: tensor<3xi32>) -> (tensor<?x2x8xf32>, tensor<?x2xf32>) {
  %q = attn.unpack_rows %rows offsets(%o) : tensor<4x2x8xf32>, tensor<3xi32>
  %s = attn.score %q, %k : tensor<2x2x4x8xf32>, tensor<2x2x9x8xf32>
  %p = attn.softmax %s : tensor<2x2x4x9xf32>
  %l = attn.lse %s : tensor<2x2x4x9xf32> -> tensor<2x2x4xf32>
  %c = attn.context %p, %k : tensor<2x2x4x9xf32>, tensor<2x2x9x8xf32>
  %r = attn.pack_rows %c offsets(%o) : tensor<2x2x4x8xf32>, tensor<3xi32> -> tensor<?x2x8xf32>
  %lse = attn.pack_rows %l offsets(%o) : tensor<2x2x4xf32>, tensor<3xi32> -> tensor<?x2xf32>
  return %r, %lse : tensor<?x2x8xf32>, tensor<?x2xf32>
}
