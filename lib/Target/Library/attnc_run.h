/*===- attnc_run.h - the host function, on the CPU or a GPU ---------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * All arguments have been checked.
 *
 *===------------------------------------------------------------------------===*/

#ifndef ATTNC_RUN_H
#define ATTNC_RUN_H

#include "attnc_check_options.h"
#include "attnc_descriptor.h"
#include "attnc_device.h"

enum { workspace_alignment = 64 };

/* Kernels need an address even if there is nothing to read. */
static _Alignas(workspace_alignment) char nothing[workspace_alignment];

static void *address_of(const DLTensor *tensor) {
  return is_empty(tensor) ? nothing : (char *)tensor->data + tensor->byte_offset;
}

/* Bytes to allocate so that an aligned workspace fits at any address. */
static int64_t workspace_bytes(const attnc_variant *variant, void *const *descriptors) {
  int64_t bytes = variant->workspace(descriptors);
  if (bytes > INT64_MAX - workspace_alignment)
    return INT64_MAX;
  return bytes > 0 ? bytes + workspace_alignment - 1 : bytes;
}

/* Of calls on any device, where the library has code for several. */
static int64_t most_workspace_bytes(const attnc_variant *chosen, void *const *descriptors) {
  int64_t most = workspace_bytes(chosen, descriptors);
  for (int32_t i = 0; i < attnc_the_signature.variant_count; ++i) {
    const attnc_variant *variant = &attnc_the_signature.variants[i];
    if (!(chosen->features & variant->features & attnc_gpu))
      continue;
    int64_t bytes = workspace_bytes(variant, descriptors);
    most = bytes > most ? bytes : most;
  }
  return most;
}

static int report(const attnc_context *call, int32_t status) {
  if (status == 0)
    return 0;
  int64_t number = status;
  text message = attnc_start_message("");
  put(&message, call->message);
  if (!message.length) {
    put(&message, "expected a kernel to end with status 0, found ");
    put_number(&message, number);
  }
  if (status == attnc_refused)
    return attnc_invalid;
  if (status == attnc_message_failed)
    return attnc_no_message;
  int no_memory = status == halide_out_of_memory || status == halide_no_device_memory;
  return no_memory ? attnc_no_memory : attnc_failed;
}

/* Descriptors after the tensors': the weights' if they are beside the library, and last the
 * workspace's. */
enum { extra_descriptors = 2 };

static int32_t workspace_index(void) {
  return attnc_the_signature.count + (attnc_the_signature.weights != 0);
}

/* Adds device ranges for each tensor and the workspace. */
static int open_tensors(attnc_context *call, void *const *descriptors, const range *ranges) {
  const attnc_signature *spec = &attnc_the_signature;
  const int64_t *workspace = descriptors[workspace_index()];
  uintptr_t begin = (uintptr_t)data_of(workspace);
  int has_device_tensors = 0;
  for (int32_t i = 0; i < spec->count; ++i)
    has_device_tensors |= ranges[i].handle != 0;
  int32_t status = attnc_device_context(call, has_device_tensors);
  for (int32_t i = 0; i < spec->count && !status; ++i)
    if (ranges[i].handle)
      status = attnc_device_wrap(call, ranges[i].whole, ranges[i].end, ranges[i].handle);
    else
      status = attnc_device_add(call, ranges[i].begin, ranges[i].end, !spec->tensors[i].is_output);
  return status ? status
                : attnc_device_add(call, begin, begin + (uintptr_t)workspace[descriptor_sizes], 0);
}

/* Copies results back to host memory, if they belong there. */
static int fetch_results(attnc_context *call, void *const *descriptors, const range *ranges) {
  const attnc_signature *spec = &attnc_the_signature;
  int32_t status = 0;
  for (int32_t i = 0; i < spec->count && !status; ++i) {
    const attnc_tensor *tensor = &spec->tensors[i];
    const int64_t *descriptor = descriptors[i], *sizes = descriptor + descriptor_sizes;
    if (tensor->is_output && !ranges[i].handle)
      status = attnc_device_fetch(call, data_of(descriptor), tensor->rank, sizes,
                                  sizes + tensor->rank, tensor->bits);
  }
  return status;
}

static int32_t run_on_device(const attnc_variant *variant, attnc_context *call, void **descriptors,
                             const range *ranges) {
  int32_t status = open_tensors(call, descriptors, ranges);
  if (!status)
    status = variant->host(call, descriptors);
  if (!status)
    status = fetch_results(call, descriptors, ranges);
  attnc_device_close(call);
  return status;
}

/*===------------------------------------------------------------------------===*
 * Temporaries of sizes that are known in the call alone
 *===------------------------------------------------------------------------===*/

/* Ahead of the memory of each; a list. */
typedef struct attnc_temporary {
  struct attnc_temporary *next;
  _Alignas(128) char memory[];
} attnc_temporary;

/* Zeros, until the call ends. 0, or a status: a size is negative, or there is no memory. */
int32_t attnc_allocate(void *user_context, const int64_t *sizes, int32_t count, int64_t bytes,
                       void **memory) {
  attnc_context *call = user_context;
  const int64_t most = PTRDIFF_MAX - (int64_t)sizeof(attnc_temporary);
  for (int32_t at = 0; at < count; ++at) {
    if (sizes[at] < 0) {
      attnc_error_with_numbers(call, "expected a size of at least 0, found {}", &sizes[at]);
      return attnc_refused;
    }
    bytes = sizes[at] && bytes > most / sizes[at] ? most : bytes * sizes[at];
  }
  attnc_temporary *temporary = halide_malloc(call, sizeof *temporary + (size_t)bytes);
  if (!temporary) {
    attnc_error_with_numbers(call, "expected memory for a temporary of {} bytes, found none",
                             &bytes);
    return halide_out_of_memory;
  }
  temporary->next = call->temporaries;
  call->temporaries = temporary;
  __builtin_memset(temporary->memory, 0, (size_t)bytes);
  *memory = temporary->memory;
  return 0;
}

/* Messages that did not end may still write. */
static void free_temporaries(attnc_context *call, int status) {
  while (call->temporaries && status != attnc_no_message) {
    attnc_temporary *next = call->temporaries->next;
    halide_free(call, call->temporaries);
    call->temporaries = next;
  }
}

/* `memory` holds `bytes`. */
static int run_in(const attnc_variant *variant, char *memory, int64_t bytes, attnc_context *call,
                  void **descriptors, const range *ranges) {
  uintptr_t begin = ((uintptr_t)memory + workspace_alignment - 1) & -(uintptr_t)workspace_alignment;
  int64_t descriptor[vector_descriptor], stride = 1;
  describe(descriptor, (void *)begin, 1, &bytes, &stride);
  descriptors[workspace_index()] = descriptor;
  int status =
      report(call, variant->features & attnc_gpu ? run_on_device(variant, call, descriptors, ranges)
                                                 : variant->host(call, descriptors));
  free_temporaries(call, status);
  return status;
}

static void start(attnc_context *call, const attnc_options *options) {
  static const attnc_options none;
  if (!options)
    options = &none;
  call->threads = options->threads;
  call->parallel = options->parallel;
  call->pool = options->pool;
  call->allocate = options->allocate;
  call->deallocate = options->deallocate;
  call->allocator = options->allocator;
  int has_context = options->size >= offsetof(attnc_options, exchange);
  call->gpu_context = has_context ? options->context : 0;
  call->gpu_stream = has_context ? options->stream : 0;
  call->device = 0;
  call->exchange = options->size >= sizeof *options ? options->exchange : 0;
  call->message_count = call->exchange_status = 0;
  call->temporaries = 0;
  __builtin_memset(call->kept, 0, sizeof call->kept);
  call->in_loop = call->claimed = 0;
  call->message[0] = 0;
}

static int run_allocating(const attnc_variant *variant, attnc_context *call, int64_t bytes,
                          void **descriptors, const range *ranges) {
  char *memory = 0;
  if ((uint64_t)bytes > SIZE_MAX)
    return refuse_memory(bytes);
  if (!(memory = halide_malloc(call, (size_t)bytes)))
    return refuse_memory(bytes);
  int status = run_in(variant, memory, bytes, call, descriptors, ranges);
  /* Messages that did not end may still write. */
  if (status != attnc_no_message)
    halide_free(call, memory);
  return status;
}

static int run(const attnc_variant *variant, const attnc_options *options, int64_t bytes,
               void **descriptors, const range *ranges) {
  attnc_context call;
  start(&call, options);
  char *memory = bytes == 0 ? nothing : options ? options->workspace : 0;
  int status = memory ? run_in(variant, memory, bytes, &call, descriptors, ranges)
                      : run_allocating(variant, &call, bytes, descriptors, ranges);
  attnc_free_kept(&call);
  return status;
}

/* The weights stay mapped for as long as the host function runs. */
static int run_with_weights(const attnc_variant *variant, const attnc_options *options,
                            int64_t bytes, void **descriptors, const range *ranges) {
  const attnc_weights *weights = attnc_the_signature.weights;
  if (!weights)
    return run(variant, options, bytes, descriptors, ranges);
  int64_t descriptor[vector_descriptor], stride = 1;
  char *data;
  int status = attnc_weights_begin(&data);
  if (status)
    return status;
  int64_t size = weights->file_bytes - weights->data_offset;
  describe(descriptor, data, 1, &size, &stride);
  descriptors[attnc_the_signature.count] = descriptor;
  status = run(variant, options, bytes, descriptors, ranges);
  attnc_weights_end();
  return status;
}

#endif
