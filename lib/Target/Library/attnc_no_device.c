/*===- attnc_no_device.c - kernels run where tensors are ------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*/

#include "attnc_device.h"

int attnc_on_device(void) { return 0; }

int attnc_device_open(attnc_context *call) {
  (void)call;
  return 0;
}

int attnc_device_add(attnc_context *call, uintptr_t begin, uintptr_t end, int filled) {
  (void)call, (void)begin, (void)end, (void)filled;
  return 0;
}

int attnc_device_fetch(attnc_context *call, void *data, int32_t rank, const int64_t *shape,
                       const int64_t *strides, uint8_t bits) {
  (void)call, (void)data, (void)rank, (void)shape, (void)strides, (void)bits;
  return 0;
}

void attnc_device_close(attnc_context *call) { (void)call; }
