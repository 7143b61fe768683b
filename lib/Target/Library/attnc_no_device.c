/*===- attnc_no_device.c - kernels on the CPU -----------------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*/

#include "attnc_device.h"

int attnc_device_type(void) { return kDLCPU; }

int attnc_device_open(attnc_context *call) {
  (void)call;
  return 0;
}

int attnc_device_context(attnc_context *call, int has_device_tensors) {
  (void)call, (void)has_device_tensors;
  return 0;
}

int attnc_device_capability(attnc_context *call) {
  (void)call;
  return -1;
}

uintptr_t attnc_device_address(const DLTensor *const *tensors, int32_t which) {
  return (uintptr_t)tensors[which]->data;
}

int attnc_device_wrap(attnc_context *call, uintptr_t begin, uintptr_t end, void *handle) {
  (void)call, (void)begin, (void)end, (void)handle;
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

void attnc_device_release(attnc_context *call) { (void)call; }
