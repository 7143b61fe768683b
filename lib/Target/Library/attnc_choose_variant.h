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

/* The best variant for this machine, or NULL. Concurrent threads find the same one. */
static const attnc_variant *find_variant(void) {
  static const attnc_variant *kept;
  const attnc_variant *variant = __atomic_load_n(&kept, __ATOMIC_ACQUIRE);
  if (variant)
    return variant;
  uint64_t features = attnc_cpu_features() | (has_device() ? attnc_gpu : 0);
  for (int32_t i = 0; i < attnc_the_signature.variant_count; ++i) {
    variant = &attnc_the_signature.variants[i];
    if (variant->features & ~features)
      continue;
    __atomic_store_n(&kept, variant, __ATOMIC_RELEASE);
    return variant;
  }
  return 0;
}

/* The last variant needs the least. */
static int refuse_machine(void) {
  const attnc_signature *spec = &attnc_the_signature;
  attnc_context call = {0};
  if (attnc_device_type() != kDLCPU && attnc_device_open(&call)) {
    text message = attnc_start_message("");
    put(&message, call.message);
    return attnc_no_device;
  }
  REFUSE("", {"expected a CPU that can run ", 0},
         {spec->variants[spec->variant_count - 1].target, 0}, {", found one that can't", 0});
  return attnc_failed;
}

#endif
