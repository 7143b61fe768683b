/*===- attnc_choose_variant.h - the best variant for this machine ---------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*/

#ifndef ATTNC_CHOOSE_VARIANT_H
#define ATTNC_CHOOSE_VARIANT_H

#include "attnc_device.h"
#include "attnc_text.h"

static int has_device(void) {
  attnc_context call = {0};
  return attnc_device_type() != kDLCPU && attnc_device_open(&call) == 0;
}

static int count_gpu_variants(void) {
  int count = 0;
  for (int32_t i = 0; i < attnc_the_signature.variant_count; ++i)
    count += (attnc_the_signature.variants[i].features & attnc_gpu) != 0;
  return count;
}

/* Compute capabilities are compared where there are several to choose from. A device that can't be
 * asked refuses the kernels of any. */
static int runs_on(const attnc_variant *variant, int capability) {
  if (!(variant->features & attnc_gpu) || count_gpu_variants() < 2 || capability < 0)
    return 1;
  return variant->is_exact ? capability == variant->capability : capability >= variant->capability;
}

static const attnc_variant *find_best(uint64_t features, int capability) {
  for (int32_t i = 0; i < attnc_the_signature.variant_count; ++i) {
    const attnc_variant *variant = &attnc_the_signature.variants[i];
    if (!(variant->features & ~features) && runs_on(variant, capability))
      return variant;
  }
  return 0;
}

/* Of the device of a call. */
static int find_capability(const attnc_options *options, int has_device_tensors) {
  attnc_context call = {0};
  if (options && options->size >= offsetof(attnc_options, exchange)) {
    call.gpu_context = options->context;
    call.gpu_stream = options->stream;
  }
  return attnc_device_context(&call, has_device_tensors) ? -1 : attnc_device_capability(&call);
}

/* The best variant for this machine and the call's device, or NULL. Concurrent threads find the
 * same one. */
static const attnc_variant *find_variant(const attnc_options *options, int has_device_tensors) {
  static const attnc_variant *kept;
  const attnc_variant *variant = __atomic_load_n(&kept, __ATOMIC_ACQUIRE);
  if (variant)
    return variant;
  uint64_t features = attnc_cpu_features() | (has_device() ? attnc_gpu : 0);
  int is_by_device = features & attnc_gpu && count_gpu_variants() > 1;
  variant = find_best(features, is_by_device ? find_capability(options, has_device_tensors) : 0);
  if (variant && !is_by_device)
    __atomic_store_n(&kept, variant, __ATOMIC_RELEASE);
  return variant;
}

/* A machine with a GPU that runs none of several. */
static int refuse_capability(const attnc_options *options, int has_device_tensors) {
  const attnc_signature *spec = &attnc_the_signature;
  int least = INT32_MAX, found = find_capability(options, has_device_tensors);
  for (int32_t i = 0; i < spec->variant_count; ++i)
    if (spec->variants[i].features & attnc_gpu && spec->variants[i].capability < least)
      least = spec->variants[i].capability;
  int64_t numbers[] = {least / 10, least % 10, found / 10, found % 10};
  REFUSE("", {"expected a GPU of compute capability ", &numbers[0]}, {".", &numbers[1]},
         {" or above, found ", &numbers[2]}, {".", &numbers[3]});
  return attnc_failed;
}

/* The last variant needs the least. */
static int refuse_machine(const attnc_options *options, int has_device_tensors) {
  const attnc_signature *spec = &attnc_the_signature;
  attnc_context call = {0};
  if (attnc_device_type() != kDLCPU && attnc_device_open(&call)) {
    text message = attnc_start_message("");
    put(&message, call.message);
    return attnc_no_device;
  }
  if (count_gpu_variants() > 1)
    return refuse_capability(options, has_device_tensors);
  REFUSE("", {"expected a CPU that can run ", 0},
         {spec->variants[spec->variant_count - 1].target, 0}, {", found one that can't", 0});
  return attnc_failed;
}

#endif
