/*===- attnc_check_memory.h - strides and memory of tensors ---------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * For tensors whose shapes are checked: elements are in memory, and those of results distinct.
 *
 *===------------------------------------------------------------------------===*/

#ifndef ATTNC_CHECK_MEMORY_H
#define ATTNC_CHECK_MEMORY_H

#include "attnc_text.h"

/* The memory of a tensor's elements: bytes from `begin` up to `end`. */
typedef struct range {
  uintptr_t begin, end;
  uintptr_t whole; /* the begin of the device memory that holds the tensor */
  void *handle;    /* the device's handle of it, or NULL for host memory */
} range;

static int is_empty(const DLTensor *tensor) {
  for (int32_t i = 0; i < tensor->ndim; ++i)
    if (tensor->shape[i] == 0)
      return 1;
  return 0;
}

/* The stride of each dim. An unused stride is 1 for the innermost dim and 0 for others; all strides
 * of an empty tensor are unused. */
static int read_strides(const attnc_tensor *spec, const DLTensor *tensor, int64_t *strides) {
  int64_t compact = 1;
  int empty = is_empty(tensor);
  for (int32_t i = spec->rank - 1; i >= 0; --i) {
    int64_t extent = tensor->shape[i], innermost = i == spec->rank - 1;
    int64_t index = i;
    if (extent == 1 || empty) {
      strides[i] = innermost;
      continue;
    }
    strides[i] = tensor->strides ? tensor->strides[i] : compact;
    if (innermost && strides[i] != 1)
      return REFUSE(spec->name, {"expected dim ", &index},
                    {" to have stride 1, found ", &strides[i]});
    if (strides[i] > INT32_MAX || strides[i] < -INT32_MAX)
      return REFUSE(spec->name, {"expected dim ", &index},
                    {" to have a stride within 31 bits, found ", &strides[i]});
    compact *= extent; /* below 2^31 each */
    if (compact > INT32_MAX)
      return REFUSE(spec->name, {"expected at most 2147483647 elements, found more", 0});
  }
  return 0;
}

/* Extents and strides are below 2^31, so that no step overflows. */
static int find_range(const attnc_tensor *spec, const DLTensor *tensor, const int64_t *strides,
                      range *bytes) {
  int64_t low = 0, high = 0;
  for (int32_t i = 0; i < spec->rank; ++i) {
    int64_t reach = (tensor->shape[i] - 1) * strides[i];
    *(reach < 0 ? &low : &high) += reach;
    if (high - low >= INT32_MAX)
      return REFUSE(spec->name,
                    {"expected elements within 2147483647 of each other, found more", 0});
  }
  int64_t size = spec->bits / 8;
  uintptr_t data = (uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset;
  uint64_t before = (uint64_t)(-low * size), after = (uint64_t)((high + 1) * size);
  if (before > data || after > UINTPTR_MAX - data)
    return REFUSE(spec->name, {"expected elements within the address space, found some beyond", 0});
  bytes->begin = data - (uintptr_t)before;
  bytes->end = data + (uintptr_t)after;
  return 0;
}

static int64_t magnitude(int64_t number) { return number < 0 ? -number : number; }

/* The dim of the smallest stride among those not yet `taken`, or -1. */
static int32_t next_dim(const DLTensor *tensor, const int64_t *strides, uint64_t taken) {
  int32_t next = -1;
  for (int32_t i = 0; i < tensor->ndim; ++i) {
    if (tensor->shape[i] == 1 || (taken >> i & 1))
      continue;
    if (next < 0 || magnitude(strides[i]) < magnitude(strides[next]))
      next = i;
  }
  return next;
}

/* Whether a dim, in the order of strides, doesn't step over all inner ones. */
static int shares_elements(const DLTensor *tensor, const int64_t *strides) {
  uint64_t taken = 0;
  int64_t covered = 0;
  for (int32_t i; (i = next_dim(tensor, strides, taken)) >= 0; taken |= UINT64_C(1) << i) {
    if (magnitude(strides[i]) <= covered)
      return 1;
    covered += (tensor->shape[i] - 1) * magnitude(strides[i]);
  }
  return 0;
}

static int check_memory(const attnc_tensor *spec, const DLTensor *tensor, int64_t *strides,
                        range *bytes) {
  bytes->begin = bytes->end = 0;
  int status = read_strides(spec, tensor, strides);
  if (status || is_empty(tensor))
    return status;
  if (!tensor->data)
    return REFUSE(spec->name, {"expected data, found a null pointer", 0});
  if (tensor->byte_offset > INTPTR_MAX ||
      (uintptr_t)tensor->byte_offset > UINTPTR_MAX - (uintptr_t)tensor->data)
    return REFUSE(spec->name, {"expected a byte offset within memory, found one beyond", 0});
  int64_t size = spec->bits / 8;
  int64_t past =
      (int64_t)(((uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset) % (uintptr_t)size);
  if (past)
    return REFUSE(spec->name, {"expected data aligned to ", &size},
                  {" bytes, found an address ", &past}, {" past that", 0});
  status = find_range(spec, tensor, strides, bytes);
  if (!status && spec->is_output && shares_elements(tensor, strides))
    return REFUSE(spec->name, {"expected elements that do not overlap, found strides that do", 0});
  return status;
}

#endif
