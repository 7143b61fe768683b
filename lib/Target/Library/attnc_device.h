/*===- attnc_device.h - where the tensors of a call are -------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the support code asks of a library's device: attnc_device.c and one of attnc_cuda.c
 * and attnc_opencl.c for a GPU, attnc_no_device.c where kernels run on the CPU. Functions return
 * Halide's status where nothing else is said.
 *
 *===------------------------------------------------------------------------===*/

#ifndef ATTNC_DEVICE_H
#define ATTNC_DEVICE_H

#include "attnc_support.h"

enum { halide_out_of_memory = -11, halide_no_device_memory = -16 };

/* DLPack's number of the memory that kernels read: kDLCPU where they run there. */
int attnc_device_type(void);

/* Finds the device: 0, or attnc_no_device with the reason told. */
int attnc_device_open(attnc_context *call);

/* Settles in which context and stream the call runs: 0, or attnc_refused with the reason. */
int attnc_device_context(attnc_context *call, int has_device_tensors);

/* What stands for the address of the first byte of a tensor on the device. */
uintptr_t attnc_device_address(const DLTensor *const *tensors, int32_t which);

/* Gives bytes of the host a place on the device, and copies them there if `filled`. */
int attnc_device_add(attnc_context *call, uintptr_t begin, uintptr_t end, int filled);

/* Takes memory of the caller's on the device as it is, under addresses that stand for it. */
int attnc_device_wrap(attnc_context *call, uintptr_t begin, uintptr_t end, void *handle);

/* Copies a tensor from the device to its place on the host. */
int attnc_device_fetch(attnc_context *call, void *data, int32_t rank, const int64_t *shape,
                       const int64_t *strides, uint8_t bits);

/* Frees what the call took of the device. */
void attnc_device_close(attnc_context *call);

/* Frees what is kept in the call's context: constants and kernels. */
void attnc_device_release(attnc_context *call);

/* attnc_cuda.c or attnc_opencl.c, for attnc_device.c. */
typedef struct halide_device_interface_t halide_device_interface_t;
const halide_device_interface_t *attnc_device_interface(void);
/* Where within a range a kernel's buffer may begin: at multiples of it. */
uint64_t attnc_device_alignment(void);

/* attnc_device.c, for those. */
void *halide_load_library(const char *name);
/* Takes a little memory of the device, and gives it back. */
int attnc_device_probe(attnc_context *call);

#endif
