/*===- attnc_cuda_kernel.h - a kernel of cuda.kernel ----------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What lib/Target/NVPTX/Launcher.cpp builds as constants with these layouts.
 *
 *===------------------------------------------------------------------------===*/

#ifndef ATTNC_CUDA_KERNEL_H
#define ATTNC_CUDA_KERNEL_H

#include "attnc_halide.h"

/* A factor of the number of blocks: ceil(product of the sizes of `dims` dimensions / divisor), plus
 * the size of dimension `added_dim` unless `added_buffer` is negative. */
typedef struct attnc_cuda_blocks {
  int64_t buffer, dim, dims, divisor, added_buffer, added_dim;
} attnc_cuda_blocks;

/* A tensor map: boxes of a buffer that a thread copies to shared memory. Dimensions are counted
 * from the outermost. */
enum { attnc_cuda_most_dims = 5 };
typedef struct attnc_cuda_map {
  int64_t buffer, box[attnc_cuda_most_dims];
} attnc_cuda_map;

/* As the driver encodes it. */
typedef struct attnc_cuda_encoded_map {
  _Alignas(64) char bytes[128];
} attnc_cuda_encoded_map;

typedef struct attnc_cuda_kernel {
  const char *name, *ptx;
  const attnc_cuda_blocks *blocks;
  const attnc_cuda_map *maps;
  int32_t (*fallback)(void **arguments); /* for layouts that maps can't describe, or NULL */
  int32_t block_count, map_count, buffer_count, input_count, threads, shared_bytes;
  int32_t capability, is_exact;      /* 10 major + minor; whether no later one runs it */
  int32_t ptx_version, cuda_version; /* 10 major + minor; the first CUDA that knows it */
} attnc_cuda_kernel;

/* Of Halide's runtime. */
void *halide_cuda_get_symbol(void *user_context, const char *name);

/* Runs the kernel; `arguments` are the address of the context, then the buffers. Returns Halide's
 * status. */
int32_t attnc_cuda_launch(const attnc_cuda_kernel *kernel, void **arguments);

/* attnc_cuda_maps.c: whether the kernel's maps can describe these buffers. */
int attnc_cuda_can_map(const attnc_cuda_kernel *kernel, halide_buffer_t *const *buffers);
/* Encodes the kernel's maps. */
int attnc_cuda_encode_maps(attnc_context *call, const attnc_cuda_kernel *kernel,
                           halide_buffer_t *const *buffers, attnc_cuda_encoded_map *maps);

#endif
