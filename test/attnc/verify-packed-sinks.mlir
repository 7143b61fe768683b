// A sink for each packed sequence: as many as the offsets have.
// RUN: attnc verify %s | FileCheck %s
// CHECK: total={{[0-9]+}} num_offsets=3 total_2={{[0-9]+}} batch=2 normal
// CHECK: cases, all within the allowed error
func.func @sinks(%r: tensor<?x2x16xf32>, %o: tensor<?xi32>, %k: tensor<?x2x16xf32>, %sink: tensor<?x1x1xf32>) -> tensor<?x2x16xf32> {
  %q = attn.unpack_rows %r offsets(%o) : tensor<?x2x16xf32>, tensor<?xi32>
  %w = attn.unpack_rows %k offsets(%o) : tensor<?x2x16xf32>, tensor<?xi32>
  %s = attn.score %q, %w scale(0.3) : tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>
  %m = attn.mask %s kv_offsets(%o : tensor<?xi32>) : tensor<?x2x?x?xf32>
  %p = attn.softmax %m sink(%sink : tensor<?x1x1xf32>) : tensor<?x2x?x?xf32>
  %c = attn.context %p, %w : tensor<?x2x?x?xf32>, tensor<?x2x?x16xf32>
  %x = attn.pack_rows %c offsets(%o) : tensor<?x2x?x16xf32>, tensor<?xi32>
  return %x : tensor<?x2x16xf32>
}
