/*===- attnc_halide.h - declarations of Halide's runtime ------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*/

#ifndef ATTNC_HALIDE_H
#define ATTNC_HALIDE_H

#include "attnc_device.h"

/* From HalideRuntime.h. */
typedef struct halide_dimension_t {
  int32_t min, extent, stride;
  uint32_t flags;
} halide_dimension_t;
typedef struct halide_buffer_t {
  uint64_t device;
  const halide_device_interface_t *device_interface;
  uint8_t *host;
  uint64_t flags;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } type;
  int32_t dimensions;
  halide_dimension_t *dim;
  void *padding;
} halide_buffer_t;
enum { host_dirty = 1, device_dirty = 2 };

typedef struct halide_mutex {
  uintptr_t state;
} halide_mutex;
void halide_mutex_lock(halide_mutex *mutex);
void halide_mutex_unlock(halide_mutex *mutex);

#endif
