/*===- attnc_check_overlap.h - results overlap no other tensors -----------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*/

#ifndef ATTNC_CHECK_OVERLAP_H
#define ATTNC_CHECK_OVERLAP_H

#include "attnc_check_memory.h"
#include "attnc_descriptor.h"

/* Whether two tensors of the same type have equal descriptors, so the same elements. */
static int is_same(const int64_t *a, const int64_t *b, int32_t rank) {
  for (int32_t i = 0; i < descriptor_sizes + 2 * rank; ++i)
    if (a[i] != b[i])
      return 0;
  return 1;
}

/* Checks that no result overlaps another tensor, except a cache extended in place. */
static int check_overlap(const range *ranges, void *const *descriptors) {
  const attnc_tensor *specs = attnc_the_signature.tensors;
  for (int32_t i = 0; i < attnc_the_signature.count; ++i)
    for (int32_t j = 0; specs[i].is_output && j < i; ++j)
      if (ranges[i].begin < ranges[j].end && ranges[j].begin < ranges[i].end &&
          !(specs[i].in_place == j && is_same(descriptors[i], descriptors[j], specs[i].rank)))
        return REFUSE(specs[i].name, {"expected memory separate from ", 0}, {specs[j].name, 0},
                      {", found an overlap", 0});
  return 0;
}

#endif
