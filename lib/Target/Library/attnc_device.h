/*===- attnc_device.h - where the tensors of a call are -------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the support code asks of a library's device: attnc_device.c for a GPU,
 * attnc_no_device.c where kernels run on the CPU. Functions return Halide's status where
 * nothing else is said.
 *
 *===------------------------------------------------------------------------===*/

#ifndef ATTNC_DEVICE_H
#define ATTNC_DEVICE_H

#include "attnc_support.h"

enum { halide_out_of_memory = -11, halide_no_device_memory = -16 };

/* Whether kernels run on a GPU. */
int attnc_on_device(void);

/* Finds the device: 0, or attnc_no_device with the reason told. */
int attnc_device_open(attnc_context *call);

/* Gives bytes of the host a place on the device, and copies them there if `filled`. */
int attnc_device_add(attnc_context *call, uintptr_t begin, uintptr_t end, int filled);

/* Copies a tensor from the device to its place on the host. */
int attnc_device_fetch(attnc_context *call, void *data, int32_t rank, const int64_t *shape,
                       const int64_t *strides, uint8_t bits);

/* Frees what the call took of the device. */
void attnc_device_close(attnc_context *call);

#endif
