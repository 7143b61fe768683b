/*===- attnc_descriptor.h - MLIR's descriptors of tensors -----------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*/

#ifndef ATTNC_DESCRIPTOR_H
#define ATTNC_DESCRIPTOR_H

#include "attnc_support.h"

/* MLIR's descriptor of a memref, its length given by the rank: two pointers, allocated and
 * aligned, before the numbers. */
enum {
  descriptor_offset = 2 * sizeof(void *) / sizeof(int64_t),
  descriptor_sizes = descriptor_offset + 1,
  vector_descriptor = descriptor_sizes + 2
};

static void describe(int64_t *to, void *data, int32_t rank, const int64_t *shape,
                     const int64_t *strides) {
  void *const pointers[2] = {data, data};
  __builtin_memcpy(to, pointers, sizeof pointers);
  to[descriptor_offset] = 0;
  for (int32_t i = 0; i < rank; ++i) {
    to[descriptor_sizes + i] = shape[i];
    to[descriptor_sizes + rank + i] = strides[i];
  }
}

static void *data_of(const int64_t *descriptor) {
  void *pointers[2];
  __builtin_memcpy(pointers, descriptor, sizeof pointers);
  return pointers[1];
}

#endif
