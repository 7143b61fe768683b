/* CUDA tensors, with a driver that computes nothing and tells what was asked of it: kernels
 * have to be launched in the caller's context and stream, on its memory, without a copy. */

#include "device-calls.h"

#include "../../../Integration/CUDA/Inputs/devices.h"

#include <stdlib.h>

enum { no_memory = 2 };

static handle launch_context, launch_stream;
static int uploads, downloads, launches, allocated, is_full, has_given;
static uintptr_t given;

NOTHING(cuModuleUnload)
NOTHING(cuMemcpy3D_v2)
int cuModuleLoadData(handle *module) { return *module = &created, 0; }
int cuModuleLoadDataEx(handle *module) { return *module = &created, 0; }
int cuModuleGetFunction(handle *function) { return *function = &created, 0; }

int cuMemAlloc_v2(uint64_t *memory, size_t bytes) {
  if (is_full)
    return no_memory;
  ++allocated;
  return (*memory = (uintptr_t)malloc(bytes)) == 0;
}

int cuMemFree_v2(uint64_t memory) { return --allocated, free((void *)(uintptr_t)memory), 0; }

static int copy(int *count, void *to, const void *from, size_t bytes) {
  return ++*count, memcpy(to, from, bytes), 0;
}
int cuMemcpyHtoD_v2(void *to, const void *from, size_t n) { return copy(&uploads, to, from, n); }
int cuMemcpyDtoH_v2(void *to, const void *from, size_t n) { return copy(&downloads, to, from, n); }
int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t n) {
  return copy(&uploads, to, from, n);
}
int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t n) {
  return copy(&downloads, to, from, n);
}
NOTHING(cuMemcpyDtoD_v2)
NOTHING(cuMemcpyDtoDAsync_v2)

/* Arguments end with NULL; one of them is the address of a tensor's memory. */
int cuLaunchKernel(handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, handle stream, void **arguments) {
  (void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared;
  ++launches;
  cuCtxGetCurrent(&launch_context);
  launch_stream = stream;
  for (; *arguments; ++arguments) {
    uint64_t argument = 0;
    memcpy(&argument, *arguments, sizeof(int));
    if ((uint32_t)argument != (uint32_t)given)
      continue;
    memcpy(&argument, *arguments, sizeof argument);
    has_given |= argument == given;
  }
  return 0;
}

static int call_there(const layer_options *options, int32_t device_of_y) {
  DLTensor a = tensor(x, kDLCUDA, x_shape, 0), b = tensor(residual, kDLCUDA, y_shape, 0),
           c = tensor(y, kDLCUDA, y_shape, 0);
  c.device.device_id = device_of_y;
  given = (uintptr_t)y;
  has_given = launches = uploads = downloads = 0;
  launch_context = launch_stream = NULL;
  return call(options, a, b, c);
}

int main(void) {
  fill();
  handle context = &depth, stream = &launches;
  expect(-1, call_there(NULL, 0), "no context");
  expect_text("expected a CUDA context in the options or current in this thread, found none");
  expect(0, created, "contexts of the library's own");

  layer_options options = {.size = sizeof options, .context = context, .stream = stream};
  expect(0, call_there(&options, 0), "a context and a stream");
  expect(1, launches > 0 && launch_context == context && launch_stream == stream, "launched there");
  expect(1, has_given, "the tensor's memory");
  expect(1, uploads, "uploads of the constant");
  expect(0, call_there(&options, 0), "again");
  expect(0, uploads + downloads, "copies");
  expect(-1, call_there(&options, 1), "another device");
  expect_text("y: expected memory of device 0, found 1");

  cuCtxPushCurrent_v2(context);
  expect(0, call_there(NULL, 0), "the current context");
  expect(1, launches > 0 && launch_context == context && launch_stream == NULL, "launched there");
  cuCtxPopCurrent_v2(&context);
  expect(0, created, "contexts of the library's own");
  int kept = allocated;
  expect(0, call_there(&options, 0), "again");
  expect(kept, allocated, "memory that is kept");
  layer_release(&options);
  expect(0, allocated, "memory that is left");

  expect(1, call_here(NULL), "host tensors, computed by nobody");
  expect(1, created, "contexts of the library's own");
  layer_release(NULL);
  is_full = 1;
  expect(-2, call_here(NULL), "no memory");
  is_full = 0;
  layer_release(NULL);
  expect(0, allocated + depth, "memory and contexts that are left");
  printf("%d wrong\n", wrong);
  return wrong != 0;
}
