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

/* The dim of the largest stride among those with more than one element, or -1. */
static int32_t outermost_dim(const int64_t *descriptor, int32_t rank) {
  const int64_t *sizes = descriptor + descriptor_sizes, *strides = sizes + rank;
  int32_t outermost = -1;
  for (int32_t i = 0; i < rank; ++i)
    if (sizes[i] > 1 && (outermost < 0 || magnitude(strides[i]) > magnitude(strides[outermost])))
      outermost = i;
  return outermost;
}

/* The bytes from one index of a dim to the next, and those that all elements of one index lie
 * within. */
typedef struct slices {
  uintptr_t step, width;
} slices;

static slices find_slices(const attnc_tensor *spec, const range *bytes, const int64_t *descriptor) {
  int32_t dim = outermost_dim(descriptor, spec->rank);
  uintptr_t whole = bytes->end - bytes->begin;
  if (dim < 0)
    return (slices){whole, whole};
  const int64_t *sizes = descriptor + descriptor_sizes, *strides = sizes + spec->rank;
  uintptr_t step = (uintptr_t)magnitude(strides[dim]) * (spec->bits / 8);
  return (slices){step, whole - (uintptr_t)(sizes[dim] - 1) * step};
}

/* Whether the slices of each tensor along its outermost dim lie between those of the other, as keys
 * and values of one pool do: [num_pages, 2, ...]. */
static int are_interleaved(slices a, slices b, uintptr_t from_a_to_b) {
  if (a.step != b.step || a.step == 0)
    return 0;
  uintptr_t past = from_a_to_b % a.step;
  return past >= a.width && past + b.width <= a.step;
}

static int share_memory(const attnc_tensor *specs, const range *ranges, void *const *descriptors,
                        int32_t i, int32_t j) {
  if (ranges[i].begin >= ranges[j].end || ranges[j].begin >= ranges[i].end)
    return 0;
  int32_t first = ranges[i].begin <= ranges[j].begin ? i : j, second = i + j - first;
  return !are_interleaved(find_slices(&specs[first], &ranges[first], descriptors[first]),
                          find_slices(&specs[second], &ranges[second], descriptors[second]),
                          ranges[second].begin - ranges[first].begin);
}

/* Checks that no result overlaps another tensor, except a cache extended in place. */
static int check_overlap(const range *ranges, void *const *descriptors) {
  const attnc_tensor *specs = attnc_the_signature.tensors;
  for (int32_t i = 0; i < attnc_the_signature.count; ++i)
    for (int32_t j = 0; specs[i].is_output && j < i; ++j)
      if (share_memory(specs, ranges, descriptors, i, j) &&
          !(specs[i].in_place == j && is_same(descriptors[i], descriptors[j], specs[i].rank)))
        return REFUSE(specs[i].name, {"expected memory separate from ", 0}, {specs[j].name, 0},
                      {", found an overlap", 0});
  return 0;
}

#endif
