// No two threads of a block touch the same element of shared memory between two barriers, of
// which Oclgrind watches each access. Blocks are the smallest that have all steps: two KV blocks of
// keys and one that is not full, rows without a thread of their own, and parts that are merged.

// REQUIRES: oclgrind
// DEFINE: %{run} = env HL_OCL_PLATFORM_NAME=Oclgrind oclgrind --data-races --num-threads 1 attnc run %s --target host-opencl
// RUN: %{run} --function prefill --input query=random:1x1x8x8 --input key=random:1x1x13x8 > %t.prefill 2>&1
// RUN: FileCheck %s --implicit-check-not="data race" < %t.prefill
// RUN: %{run} --function decode --input query=random:1x2x1x8 --input key=random:1x1x21x8 > %t.decode 2>&1
// RUN: FileCheck %s --implicit-check-not="data race" < %t.decode
// Packed rows: a step, no row, and a prompt of two query blocks, one for each kernel.
// RUN: %python -c "import numpy; numpy.save('%t.o.npy', numpy.array([0, 1, 1, 11], 'i4')); numpy.save('%t.p.npy', numpy.array([0, 21, 24, 37], 'i4'))"
// RUN: %{run} --function packed --input query=random:1x2x11x8 --input key=random:1x1x37x8 --input offsets=@%t.o.npy --input kv_offsets=@%t.p.npy > %t.packed 2>&1
// RUN: FileCheck %s --implicit-check-not="data race" --implicit-check-not=Invalid < %t.packed
// CHECK: context: f32[{{.*}} finite [[N:[0-9]+]] of [[N]]{{$}}

// A value that isn't finite takes the second pass.
// RUN: %python -c "import numpy; numpy.save('%t.npy', numpy.full((1, 1, 13, 8), numpy.inf, 'f4'))"
// RUN: %{run} --function prefill --input query=random:1x1x8x8 --input key=random:1x1x13x8 --input value=@%t.npy > %t.second 2>&1
// RUN: FileCheck %s --implicit-check-not="data race" --check-prefix=SECOND < %t.second
// SECOND: context: f32[{{.*}} finite 0 of 64

func.func @prefill(%query: tensor<1x1x8x8xf32>, %key: tensor<1x1x13x8xf32>,
                   %value: tensor<1x1x13x8xf32>) -> tensor<1x1x8x8xf32> {
  %context = attn.attention %query, %key, %value scale(0.25)
      schedule([#attn.gpu<q_block = 8, packed_heads = 1, kv_block = 8, kv_splits = 1,
                          threads_x = 4, threads_y = 4, context_columns = 2>])
      : tensor<1x1x8x8xf32>, tensor<1x1x13x8xf32>, tensor<1x1x13x8xf32> -> tensor<1x1x8x8xf32>
  return %context : tensor<1x1x8x8xf32>
}

func.func @decode(%query: tensor<1x2x1x8xf32>, %key: tensor<1x1x21x8xf32>) -> tensor<1x2x1x8xf32> {
  %context = attn.attention %query, %key, %key scale(0.25)
      schedule([#attn.gpu<q_block = 2, packed_heads = 2, kv_block = 8, kv_splits = 2,
                          threads_x = 4, threads_y = 2, context_columns = 2>])
      : tensor<1x2x1x8xf32>, tensor<1x1x21x8xf32>, tensor<1x1x21x8xf32> -> tensor<1x2x1x8xf32>
  return %context : tensor<1x2x1x8xf32>
}

func.func @packed(%query: tensor<1x2x?x8xf32>, %key: tensor<1x1x?x8xf32>, %offsets: tensor<?xi32>,
                  %kv_offsets: tensor<?xi32>) -> (tensor<1x2x?x8xf32> {attn.name = "context"}) {
  %context = attn.attention %query, %key, %key scale(0.25) offsets(%offsets : tensor<?xi32>)
      kv_offsets(%kv_offsets : tensor<?xi32>)
      schedule([#attn.gpu<q_block = 2, packed_heads = 2, kv_block = 8, kv_splits = 2,
                          threads_x = 4, threads_y = 2, context_columns = 2, max_q_len = 1>,
                #attn.gpu<q_block = 8, packed_heads = 1, kv_block = 8, kv_splits = 1,
                          threads_x = 4, threads_y = 4, context_columns = 2>])
      : tensor<1x2x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x2x?x8xf32>
  return %context : tensor<1x2x?x8xf32>
}
