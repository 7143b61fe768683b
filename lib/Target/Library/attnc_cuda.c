/*===- attnc_cuda.c - CUDA's part of a device -----------------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A call runs in the caller's context and stream if given, else in the current context, which is
 * the one of tensors on the device, else in the library's own.
 *
 *===------------------------------------------------------------------------===*/

#include "attnc_device.h"

/* Of Halide's runtime. */
const halide_device_interface_t *halide_cuda_device_interface(void);
void *halide_cuda_get_symbol(void *user_context, const char *name);
int halide_default_cuda_acquire_context(void *user_context, void **context, _Bool create);

int attnc_device_type(void) { return kDLCUDA; }

const halide_device_interface_t *attnc_device_interface(void) {
  return halide_cuda_device_interface();
}

uint64_t attnc_device_alignment(void) { return 1; }

/* CUDA addresses are unique across host and devices. */
uintptr_t attnc_device_address(const DLTensor *const *tensors, int32_t which) {
  return (uintptr_t)tensors[which]->data;
}

/* Makes no context: the call may bring its own. */
int attnc_device_open(attnc_context *call) {
  if (!halide_load_library("libcuda.so")) {
    halide_error(call, "expected a driver for CUDA, found no libcuda.so.1");
    return attnc_no_device;
  }
  int (*start)(unsigned) = (int (*)(unsigned))halide_cuda_get_symbol(call, "cuInit");
  int (*count_devices)(int *) = (int (*)(int *))halide_cuda_get_symbol(call, "cuDeviceGetCount");
  int count = 0;
  if (start && count_devices && start(0) == 0 && count_devices(&count) == 0 && count > 0)
    return 0;
  halide_error(call, "expected a GPU that CUDA can use, found none");
  return attnc_no_device;
}

int attnc_device_context(attnc_context *call, int has_device_tensors) {
  if (call->gpu_context || (!has_device_tensors && !call->gpu_stream))
    return 0;
  int (*get_current)(void **) = (int (*)(void **))halide_cuda_get_symbol(call, "cuCtxGetCurrent");
  if (get_current && get_current(&call->gpu_context) == 0 && call->gpu_context)
    return 0;
  halide_error(call,
               "expected a CUDA context in the options or current in this thread, found none");
  return attnc_refused;
}

/* Replaces Halide's. */
int halide_cuda_acquire_context(void *user_context, void **context, _Bool create) {
  attnc_context *call = user_context;
  if (!call || !call->gpu_context)
    return halide_default_cuda_acquire_context(user_context, context, create);
  *context = call->gpu_context;
  return 0;
}

int halide_cuda_get_stream(void *user_context, void *context, void **stream) {
  (void)context;
  *stream = user_context ? ((attnc_context *)user_context)->gpu_stream : 0;
  return 0;
}
