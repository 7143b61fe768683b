/* OpenCL buffers as tensors, in a context and a queue of this program's; what the library asks
 * of the driver is counted on its way there. */

#define _GNU_SOURCE
#include "device-calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

/* Of CL/cl.h, which need not be installed. */
typedef void *handle;
int clGetPlatformIDs(unsigned, handle *, unsigned *);
int clGetPlatformInfo(handle, unsigned, size_t, void *, size_t *);
int clGetDeviceIDs(handle, uint64_t, unsigned, handle *, unsigned *);
handle clCreateContext(const intptr_t *, unsigned, const handle *, handle, handle, int *);
handle clCreateCommandQueue(handle, handle, uint64_t, int *);
int clEnqueueReadBuffer(handle, handle, unsigned, size_t, size_t, void *, unsigned, const handle *,
                        handle *);
int clReleaseMemObject(handle);
enum { any_device = -1, blocking = 1, read_write = 1, platform_name = 0x902 };

static int writes, reads, is_full;

#define NEXT(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

int clEnqueueWriteBuffer(handle queue, handle memory, unsigned blocks, size_t offset, size_t bytes,
                         const void *from, unsigned count, const handle *events, handle *event) {
  __atomic_fetch_add(&writes, 1, __ATOMIC_RELAXED);
  return NEXT(clEnqueueWriteBuffer)(queue, memory, blocks, offset, bytes, from, count, events,
                                    event);
}

int clEnqueueReadBuffer(handle queue, handle memory, unsigned blocks, size_t offset, size_t bytes,
                        void *to, unsigned count, const handle *events, handle *event) {
  __atomic_fetch_add(&reads, 1, __ATOMIC_RELAXED);
  return NEXT(clEnqueueReadBuffer)(queue, memory, blocks, offset, bytes, to, count, events, event);
}

handle clCreateBuffer(handle context, uint64_t flags, size_t bytes, void *host, int *error) {
  if (!is_full)
    return NEXT(clCreateBuffer)(context, flags, bytes, host, error);
  *error = -4; /* CL_MEM_OBJECT_ALLOCATION_FAILURE */
  return NULL;
}

static handle context, queue;

/* On the platform that the library is told to take. */
static void open_device(void) {
  handle platforms[8], device = NULL;
  unsigned count = 0;
  clGetPlatformIDs(8, platforms, &count);
  for (unsigned i = 0; i < count; ++i) {
    char name[256] = "";
    clGetPlatformInfo(platforms[i], platform_name, sizeof name, name, NULL);
    if (strstr(name, getenv("HL_OCL_PLATFORM_NAME")))
      clGetDeviceIDs(platforms[i], (uint64_t)any_device, 1, &device, NULL);
  }
  context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  queue = clCreateCommandQueue(context, device, 0, NULL);
}

static handle upload(const void *data, size_t bytes, size_t offset) {
  int error;
  handle memory = NEXT(clCreateBuffer)(context, read_write, offset + bytes, NULL, &error);
  NEXT(clEnqueueWriteBuffer)(queue, memory, blocking, offset, bytes, data, 0, NULL, NULL);
  return memory;
}

/* `offset` bytes into buffers that are longer. */
static int call_there(const layer_options *options, size_t offset) {
  handle from = upload(x, sizeof x, offset), add = upload(residual, sizeof residual, offset),
         to = upload(x, sizeof y, offset);
  int status =
      call(options, tensor(from, kDLOpenCL, x_shape, offset),
           tensor(add, kDLOpenCL, y_shape, offset), tensor(to, kDLOpenCL, y_shape, offset));
  float result[rows * columns];
  NEXT(clEnqueueReadBuffer)(queue, to, blocking, offset, sizeof result, result, 0, NULL, NULL);
  clReleaseMemObject(from);
  clReleaseMemObject(add);
  clReleaseMemObject(to);
  return status ? status : !is_right(result);
}

static int call_both(const layer_options *options) {
  handle from = upload(x, sizeof x, 0);
  int status = call(options, tensor(from, kDLOpenCL, x_shape, 0),
                    tensor(residual, kDLCPU, y_shape, 0), tensor(y, kDLCPU, y_shape, 0));
  clReleaseMemObject(from);
  return status ? status : !is_right(y);
}

static int count_writes(int status) {
  int count = writes;
  writes = 0;
  return status ? status : count;
}

static void *call_often(void *options) {
  int64_t bad = 0;
  for (int i = 0; i < 10; ++i)
    bad += call_there(options, 0) != 0;
  return (void *)(intptr_t)bad;
}

static void test_threads(layer_options *options) {
  pthread_t threads[4];
  layer_release(options);
  for (int i = 0; i < 4; ++i)
    pthread_create(&threads[i], NULL, call_often, options);
  for (int i = 0; i < 4; ++i) {
    void *bad;
    pthread_join(threads[i], &bad);
    expect(0, (intptr_t)bad, "wrong calls of a thread");
  }
}

/* Where there is no device, memory of one is nothing that the CPU's kernel could read. */
static int call_fallback(void) {
  expect(0, call_here(NULL), "on the CPU");
  expect(-1,
         call(NULL, tensor(&context, kDLOpenCL, x_shape, 0), tensor(x, kDLCPU, y_shape, 0),
              tensor(y, kDLCPU, y_shape, 0)),
         "a device's memory on the CPU");
  expect_text("x: expected memory of the CPU, as there is no GPU, found DLPack device type 4");
  printf("%d wrong\n", wrong);
  return wrong != 0;
}

int main(int count, char **arguments) {
  (void)arguments;
  fill();
  if (count > 1)
    return call_fallback();
  open_device();
  expect(3, count_writes(call_here(NULL)), "writes of inputs and the constant");
  expect(2, count_writes(call_here(NULL)), "writes of inputs");

  layer_options options = {.size = sizeof options};
  expect(-1, call_there(&options, 0), "no context");
  expect_text("expected the context and the stream of OpenCL buffers in the options, found none");
  options.context = context;
  options.stream = queue;
  expect(1, count_writes(call_there(&options, 0)), "writes of the constant");
  reads = 0;
  expect(0, count_writes(call_there(&options, 0)), "writes of nothing");
  expect(0, reads, "reads");
  expect(0, call_there(&options, 4), "buffers that begin anywhere");
  expect(0, call_both(&options), "a mix");
  expect(0, call_here(&options), "the host's tensors in another context");
  count_writes(0);
  test_threads(&options);
  expect(1, count_writes(0), "writes of the constant, released before");

  is_full = 1;
  expect(-2, call_here(&options), "no memory");
  is_full = 0;
  expect(0, call_here(&options), "memory again");
  expect(-1,
         call(&options, tensor(x, kDLCUDA, x_shape, 0), tensor(x, kDLCPU, y_shape, 0),
              tensor(y, kDLCPU, y_shape, 0)),
         "another device");
  expect_text("x: expected memory of the CPU or of DLPack device type 4, found 2");
  printf("%d wrong\n", wrong);
  return wrong != 0;
}
