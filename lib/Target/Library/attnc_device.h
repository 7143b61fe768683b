/*===- attnc_device.h - the device of a call ------------------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The interface of a library's device: attnc_device.c with attnc_cuda.c or attnc_opencl.c for a
 * GPU, attnc_no_device.c for the CPU. Functions return Halide's status unless stated otherwise.
 *
 *===------------------------------------------------------------------------===*/

#ifndef ATTNC_DEVICE_H
#define ATTNC_DEVICE_H

#include "attnc_support.h"

enum { halide_generic_error = -1, halide_out_of_memory = -11, halide_no_device_memory = -16 };

/* DLPack's device type of the kernels' memory: kDLCPU if they run on the CPU. */
int attnc_device_type(void);

/* Finds the device: 0, or attnc_no_device with an error message. */
int attnc_device_open(attnc_context *call);

/* Chooses the call's context and stream: 0, or attnc_refused with an error message. */
int attnc_device_context(attnc_context *call, int has_device_tensors);

/* CUDA's compute capability of the call's device as 10 major + minor; -1 if it is not known. */
int attnc_device_capability(attnc_context *call);

/* A virtual address for the first byte of a tensor on the device. */
uintptr_t attnc_device_address(const DLTensor *const *tensors, int32_t which);

/* Adds a device range for bytes of the host, and copies them there if `filled`. */
int attnc_device_add(attnc_context *call, uintptr_t begin, uintptr_t end, int filled);

/* Adds the caller's device memory as it is, under virtual addresses. */
int attnc_device_wrap(attnc_context *call, uintptr_t begin, uintptr_t end, void *handle);

/* Copies a tensor from the device to its place on the host. */
int attnc_device_fetch(attnc_context *call, void *data, int32_t rank, const int64_t *shape,
                       const int64_t *strides, uint8_t bits);

/* Frees the device memory of the call. */
void attnc_device_close(attnc_context *call);

/* Frees the constants and kernels kept in the call's context. */
void attnc_device_release(attnc_context *call);

/* attnc_cuda.c or attnc_opencl.c, used by attnc_device.c. */
typedef struct halide_device_interface_t halide_device_interface_t;
const halide_device_interface_t *attnc_device_interface(void);
/* Alignment of a kernel's buffer within a range. */
uint64_t attnc_device_alignment(void);

/* Frees the kernels of cuda.kernel in the call's context. */
void attnc_device_release_kernels(attnc_context *call);

/* attnc_device.c, used by those two. */
void *halide_load_library(const char *name);
/* Allocates a little device memory and frees it again. */
int attnc_device_probe(attnc_context *call);

#endif
