/*===- attnc_support.c - the public functions of a library ----------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Part of every emitted library. A caller's arguments are not trusted: errors are a status and a
 * message, before any tensor is touched. No output, no abort and no state but the message, which is
 * thread-local. Headers hold the steps of a call as static functions, so that a library is small.
 *
 *===------------------------------------------------------------------------===*/

#include "attnc_check_devices.h"
#include "attnc_check_memory.h"
#include "attnc_check_options.h"
#include "attnc_check_overlap.h"
#include "attnc_check_shapes.h"
#include "attnc_choose_variant.h"
#include "attnc_run.h"

/*===------------------------------------------------------------------------===*
 * The message
 *===------------------------------------------------------------------------===*/

static _Thread_local char last_error[attnc_message_bytes];

text attnc_start_message(const char *subject) {
  text message = {last_error, 0};
  put(&message, subject);
  if (*subject)
    put(&message, ": ");
  return message;
}

int attnc_refuse(const char *subject, const part *parts) {
  text message = attnc_start_message(subject);
  for (; parts->words; ++parts) {
    put(&message, parts->words);
    if (parts->number)
      put_number(&message, *parts->number);
  }
  return attnc_invalid;
}

const char *attnc_last_error(void) { return last_error; }

/*===------------------------------------------------------------------------===*
 * The message of a kernel
 *===------------------------------------------------------------------------===*/

static const char *name_of(int32_t argument) {
  const attnc_signature *spec = &attnc_the_signature;
  if (argument >= 0 && argument < spec->count)
    return spec->tensors[argument].name;
  return argument < 0 || (spec->weights && argument == spec->count) ? "a constant" : "a temporary";
}

/* The rest of `text` after its prefix `word`; NULL if it has another. */
static const char *skip(const char *text, const char *word) {
  for (; *word; ++text, ++word)
    if (*text != *word)
      return 0;
  return text;
}

static int is_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Halide's messages begin with "Input buffer NAME" or "Output buffer NAME". */
static const char *skip_kind(const char *text) {
  const char *name = skip(text, "Input buffer ");
  return name ? name : skip(text, "Output buffer ");
}

void attnc_name_tensors(void *user_context, const char *parameters, const int32_t *arguments) {
  attnc_context *call = user_context;
  char *begin = call->message;
  while (*begin && !skip_kind(begin))
    ++begin;
  if (!*begin)
    return;
  for (; *parameters; ++arguments) {
    const char *end = skip(skip_kind(begin), parameters);
    if (end && !is_in_name(*end)) {
      char rest[attnc_message_bytes];
      text message = {rest, 0};
      put(&message, end);
      message = (text){call->message, (size_t)(begin - call->message)};
      put(&message, name_of(*arguments));
      put(&message, rest);
      return;
    }
    while (*parameters++)
      ;
  }
}

/*===------------------------------------------------------------------------===*
 * A call
 *===------------------------------------------------------------------------===*/

const char *attnc_target(void) {
  const attnc_variant *variant = find_variant(0, 0);
  return variant ? variant->target : 0;
}

/* Whether the call has nothing to do: of a spread sequence, other ranks may have rows. */
static int is_done(const attnc_options *options, const DLTensor *const *tensors) {
  if (options && options->size >= sizeof *options && options->exchange)
    return 0;
  for (int32_t i = 0; i < attnc_the_signature.count; ++i)
    if (attnc_the_signature.tensors[i].is_output && !is_empty(tensors[i]))
      return 0;
  return 1;
}

int attnc_call(const attnc_options *options, const DLTensor *const *tensors) {
  const attnc_signature *spec = &attnc_the_signature;
  int status = check_options(options);
  if (!status)
    status = check_shapes(tensors);
  if (status)
    return status;

  range ranges[spec->count];
  DLTensor placed[spec->count];
  int64_t strides[spec->max_rank + 1];
  int64_t storage[spec->count][descriptor_sizes + 2 * spec->max_rank];
  void *descriptors[spec->count + extra_descriptors];
  status = place_tensors(tensors, placed, ranges);
  if (status)
    return status;
  for (int32_t i = 0; i < spec->count; ++i) {
    status = check_memory(&spec->tensors[i], &placed[i], strides, &ranges[i]);
    if (status)
      return status;
    describe(storage[i], address_of(&placed[i]), spec->tensors[i].rank, placed[i].shape, strides);
    descriptors[i] = storage[i];
  }
  status = check_overlap(ranges, descriptors);
  if (status || is_done(options, tensors))
    return status;
  int has_device_tensors = find_device_tensor(placed) != 0;
  const attnc_variant *variant = find_variant(options, has_device_tensors);
  if (!variant)
    return refuse_machine(options, has_device_tensors);
  if ((status = check_devices(variant, placed, descriptors)))
    return status;
  int64_t bytes = workspace_bytes(variant, descriptors);
  status = check_workspace(options, bytes, ranges);
  return status ? status : run_with_weights(variant, options, bytes, descriptors, ranges);
}

int64_t attnc_workspace(const DLTensor *const *tensors) {
  const attnc_signature *spec = &attnc_the_signature;
  const attnc_variant *variant = find_variant(0, 0);
  int status = variant ? check_shapes(tensors) : refuse_machine(0, 0);
  if (status)
    return status;
  int64_t storage[spec->count][descriptor_sizes + 2 * spec->max_rank];
  int64_t no_weights[vector_descriptor] = {0};
  void *descriptors[spec->count + extra_descriptors];
  for (int32_t i = 0; i < spec->count; ++i) {
    /* Sizes follow from shapes alone; strides don't matter. */
    describe(storage[i], 0, spec->tensors[i].rank, tensors[i]->shape, tensors[i]->shape);
    descriptors[i] = storage[i];
  }
  descriptors[spec->count] = no_weights;
  return most_workspace_bytes(variant, descriptors);
}

void attnc_release(const attnc_options *options) {
  attnc_context call;
  start(&call, options);
  if (find_variant(options, 0) && attnc_device_type() != kDLCPU)
    attnc_device_release(&call);
  attnc_free_kept(&call);
}
