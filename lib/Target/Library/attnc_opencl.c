/*===- attnc_opencl.c - OpenCL's part of a device -------------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A call runs in the caller's context and queue if given, else in the library's own. An OpenCL
 * buffer has no address: it gets a virtual one that no host memory has.
 *
 *===------------------------------------------------------------------------===*/

#include "attnc_device.h"

/* Part of Halide's runtime, which supports only its own context and queue:
 * halide_acquire_cl_context has to be replaced as a whole. */
const halide_device_interface_t *halide_opencl_device_interface(void);
extern void *halide_context __asm__("_ZN6Halide7Runtime8Internal6OpenCL7contextE");
extern void *halide_queue __asm__("_ZN6Halide7Runtime8Internal6OpenCL13command_queueE");
extern volatile char halide_lock __asm__("_ZN6Halide7Runtime8Internal6OpenCL11thread_lockE");
int halide_create_context(void *user_context, void **context, void **queue) __asm__(
    "_ZN6Halide7Runtime8Internal6OpenCL21create_opencl_contextEPvPP11_cl_contextPP17_cl_command_"
    "queue");

int attnc_device_type(void) { return kDLOpenCL; }

const halide_device_interface_t *attnc_device_interface(void) {
  return halide_opencl_device_interface();
}

uint64_t attnc_device_alignment(void) { return attnc_opencl_alignment; }

/* Above all addresses of a process; the same for all tensors in one buffer. */
uintptr_t attnc_device_address(const DLTensor *const *tensors, int32_t which) {
  int32_t first = 0;
  while (tensors[first]->device.device_type == kDLCPU ||
         tensors[first]->data != tensors[which]->data)
    ++first;
  return ((uintptr_t)1 << 63) + ((uintptr_t)first << 40);
}

int attnc_device_open(attnc_context *call) {
  if (!halide_load_library("libOpenCL.so")) {
    halide_error(call, "expected a driver for OpenCL, found no libOpenCL.so.1");
    return attnc_no_device;
  }
  /* A driver without a GPU fails at the first allocation. */
  return attnc_device_probe(call) ? attnc_no_device : 0;
}

int attnc_device_context(attnc_context *call, int has_device_tensors) {
  if (call->gpu_context && call->gpu_stream)
    return 0;
  if (!has_device_tensors && !call->gpu_context && !call->gpu_stream)
    return 0;
  halide_error(call, "expected the context and the stream of OpenCL buffers in the options, found "
                     "none");
  return attnc_refused;
}

/* Replaces Halide's. Holds Halide's lock until halide_release_cl_context. */
int halide_acquire_cl_context(void *user_context, void **context, void **queue, _Bool create) {
  attnc_context *call = user_context;
  while (__atomic_test_and_set(&halide_lock, __ATOMIC_ACQUIRE))
    ;
  if (call && call->gpu_context) {
    *context = call->gpu_context;
    *queue = call->gpu_stream;
    return 0;
  }
  int status = 0;
  if (!halide_context && create)
    status = halide_create_context(user_context, &halide_context, &halide_queue);
  *context = halide_context;
  *queue = halide_queue;
  if (status)
    __atomic_clear(&halide_lock, __ATOMIC_RELEASE);
  return status;
}

/* Kernels are Halide's alone. */
void attnc_device_release_kernels(attnc_context *call) { (void)call; }

int attnc_device_capability(attnc_context *call) {
  (void)call;
  return -1;
}
