/*===- attnc_cuda_launch.c - launches kernels of cuda.kernel --------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * In the context, stream and device memory of Halide's CUDA runtime, whose own launches give no
 * function to ask for more shared memory, and no reason of the driver for refusing PTX.
 *
 *===------------------------------------------------------------------------===*/

#include "attnc_cuda_kernel.h"
#include "attnc_text.h"

/* Of Halide's runtime. */
int halide_cuda_acquire_context(void *user_context, void **context, _Bool create);
int halide_cuda_release_context(void *user_context);
int halide_cuda_get_stream(void *user_context, void *context, void **stream);

/*===------------------------------------------------------------------------===*
 * The driver
 *===------------------------------------------------------------------------===*/

static struct {
  int (*push)(void *context);
  int (*pop)(void **context);
  int (*get_device)(int *device);
  int (*get_attribute)(int *value, int attribute, int device);
  int (*get_version)(int *version);
  int (*load)(void **module, const void *ptx);
  int (*unload)(void *module);
  int (*get_function)(void **function, void *module, const char *name);
  int (*set_attribute)(void *function, int attribute, int value);
  int (*launch)(void *function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                unsigned shared_bytes, void *stream, void **arguments, void **extra);
} cuda;

enum {
  max_shared_bytes = 97, /* CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
  capability_major = 75,
  capability_minor = 76,
  dynamic_shared_bytes = 8, /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
  unsupported_ptx = 222,
  free_shared_bytes = 48 * 1024 /* what every kernel may have */
};

static int find(attnc_context *call, void *to, const char *name) {
  void *function = halide_cuda_get_symbol(call, name);
  __builtin_memcpy(to, &function, sizeof function);
  if (function)
    return 0;
  char message[attnc_message_bytes];
  text words = {message, 0};
  put(&words, "expected a driver for CUDA with ");
  put(&words, name);
  put(&words, ", found none");
  halide_error(call, message);
  return halide_generic_error;
}

static halide_mutex cuda_lock;

/* Under the lock. */
static int find_driver(attnc_context *call) {
  if (cuda.launch)
    return 0;
  int status = find(call, &cuda.push, "cuCtxPushCurrent_v2");
  status = status ? status : find(call, &cuda.pop, "cuCtxPopCurrent_v2");
  status = status ? status : find(call, &cuda.get_device, "cuCtxGetDevice");
  status = status ? status : find(call, &cuda.get_attribute, "cuDeviceGetAttribute");
  status = status ? status : find(call, &cuda.get_version, "cuDriverGetVersion");
  status = status ? status : find(call, &cuda.load, "cuModuleLoadData");
  status = status ? status : find(call, &cuda.unload, "cuModuleUnload");
  status = status ? status : find(call, &cuda.get_function, "cuModuleGetFunction");
  status = status ? status : find(call, &cuda.set_attribute, "cuFuncSetAttribute");
  return status ? status : find(call, &cuda.launch, "cuLaunchKernel");
}

static int open_driver(attnc_context *call) {
  halide_mutex_lock(&cuda_lock);
  int status = find_driver(call);
  halide_mutex_unlock(&cuda_lock);
  return status;
}

static int fail(attnc_context *call, const char *message, int64_t number) {
  attnc_error_with_numbers(call, message, &number);
  return halide_generic_error;
}

static int ask_device(int attribute) {
  int device = 0, value = 0;
  return cuda.get_device(&device) || cuda.get_attribute(&value, attribute, device) ? 0 : value;
}

static int ask_capability(void) {
  return 10 * ask_device(capability_major) + ask_device(capability_minor);
}

int attnc_device_capability(attnc_context *call) {
  void *context;
  int capability = -1;
  if (open_driver(call) || halide_cuda_acquire_context(call, &context, 1))
    return capability;
  if (cuda.push(context) == 0) {
    capability = ask_capability();
    cuda.pop(&context);
  }
  halide_cuda_release_context(call);
  return capability;
}

/*===------------------------------------------------------------------------===*
 * Kernels, loaded once in a context
 *===------------------------------------------------------------------------===*/

typedef struct loaded_kernel {
  struct loaded_kernel *next;
  const attnc_cuda_kernel *kernel;
  void *context, *module, *function;
} loaded_kernel;

static loaded_kernel *loaded;
static halide_mutex loaded_lock;

static int refuse_capability(attnc_context *call, const attnc_cuda_kernel *kernel, int found) {
  int64_t numbers[] = {kernel->capability / 10, kernel->capability % 10, found / 10, found % 10};
  attnc_error_with_numbers(call,
                           kernel->is_exact
                               ? "expected a GPU of compute capability {}.{}, found {}.{}"
                               : "expected a GPU of compute capability {}.{} or above, found {}.{}",
                           numbers);
  return halide_generic_error;
}

static int check_device(attnc_context *call, const attnc_cuda_kernel *kernel) {
  int capability = ask_capability();
  if (kernel->is_exact ? capability != kernel->capability : capability < kernel->capability)
    return refuse_capability(call, kernel, capability);
  if (kernel->shared_bytes <= free_shared_bytes)
    return 0;
  int64_t numbers[] = {kernel->shared_bytes, ask_device(max_shared_bytes)};
  if (numbers[0] <= numbers[1])
    return 0;
  attnc_error_with_numbers(call, "expected a GPU with {} bytes of shared memory a block, found {}",
                           numbers);
  return halide_generic_error;
}

static int refuse_ptx(attnc_context *call, const attnc_cuda_kernel *kernel, int64_t error) {
  int version = 0;
  if (error != unsupported_ptx || cuda.get_version(&version))
    return fail(call, "expected CUDA to load a kernel, found its error {}", error);
  int64_t numbers[] = {kernel->cuda_version / 10,
                       kernel->cuda_version % 10,
                       kernel->ptx_version / 10,
                       kernel->ptx_version % 10,
                       version / 1000,
                       version % 1000 / 10};
  attnc_error_with_numbers(
      call, "expected a driver of CUDA {}.{} or later for PTX {}.{}, found one of {}.{}", numbers);
  return halide_generic_error;
}

static int load_kernel(attnc_context *call, loaded_kernel *self) {
  const attnc_cuda_kernel *kernel = self->kernel;
  int status = check_device(call, kernel);
  if (status)
    return status;
  int error = cuda.load(&self->module, kernel->ptx);
  if (error)
    return refuse_ptx(call, kernel, error);
  error = cuda.get_function(&self->function, self->module, kernel->name);
  if (!error && kernel->shared_bytes > free_shared_bytes)
    error = cuda.set_attribute(self->function, dynamic_shared_bytes, kernel->shared_bytes);
  if (!error)
    return 0;
  cuda.unload(self->module);
  return fail(call, "expected CUDA to give a kernel its shared memory, found its error {}", error);
}

static loaded_kernel *find_kernel(const attnc_cuda_kernel *kernel, const void *context) {
  for (loaded_kernel *each = loaded; each; each = each->next)
    if (each->kernel == kernel && each->context == context)
      return each;
  return 0;
}

static int add_kernel(attnc_context *call, const attnc_cuda_kernel *kernel, void *context,
                      void **function) {
  loaded_kernel *self = halide_malloc(0, sizeof *self); /* longer than the call */
  if (!self)
    return halide_out_of_memory;
  *self = (loaded_kernel){loaded, kernel, context, 0, 0};
  int status = load_kernel(call, self);
  if (status) {
    halide_free(0, self);
    return status;
  }
  loaded = self;
  *function = self->function;
  return 0;
}

static int get_function(attnc_context *call, const attnc_cuda_kernel *kernel, void *context,
                        void **function) {
  halide_mutex_lock(&loaded_lock);
  const loaded_kernel *found = find_kernel(kernel, context);
  int status = 0;
  if (found)
    *function = found->function;
  else
    status = add_kernel(call, kernel, context, function);
  halide_mutex_unlock(&loaded_lock);
  return status;
}

static void unload_kernels(void *context) {
  cuda.push(context);
  for (loaded_kernel **link = &loaded, *each; (each = *link);) {
    if (each->context != context) {
      link = &each->next;
      continue;
    }
    *link = each->next;
    cuda.unload(each->module);
    halide_free(0, each);
  }
  cuda.pop(&context);
}

void attnc_device_release_kernels(attnc_context *call) {
  void *context = 0;
  halide_mutex_lock(&loaded_lock);
  if (loaded && halide_cuda_acquire_context(call, &context, 0) == 0) {
    if (context)
      unload_kernels(context);
    halide_cuda_release_context(call);
  }
  halide_mutex_unlock(&loaded_lock);
}

/*===------------------------------------------------------------------------===*
 * Launch
 *===------------------------------------------------------------------------===*/

/* Dimension `dim` from the outermost; Halide lists the innermost first. */
static halide_dimension_t *dimension(const halide_buffer_t *buffer, int64_t dim) {
  return &buffer->dim[buffer->dimensions - 1 - dim];
}

static int multiply(attnc_context *call, int64_t *product, int64_t by) {
  *product *= by; /* of numbers below 2^31 and 2^32 */
  if (*product <= INT32_MAX)
    return 0;
  halide_error(call, "expected sizes of at most 2^31 - 1 blocks of threads, found more");
  return halide_generic_error;
}

static int count_blocks(attnc_context *call, const attnc_cuda_kernel *kernel,
                        halide_buffer_t *const *buffers, int64_t *count) {
  int status = 0;
  *count = 1;
  for (int32_t i = 0; i < kernel->block_count && !status; ++i) {
    const attnc_cuda_blocks *factor = &kernel->blocks[i];
    int64_t size = 1;
    for (int64_t dim = factor->dim; dim < factor->dim + factor->dims && !status; ++dim)
      status = multiply(call, &size, dimension(buffers[factor->buffer], dim)->extent);
    size = (size + factor->divisor - 1) / factor->divisor;
    if (factor->added_buffer >= 0)
      size += dimension(buffers[factor->added_buffer], factor->added_dim)->extent;
    if (!status)
      status = multiply(call, count, size);
  }
  return status;
}

/* Arguments are passed by address: of each buffer its device address, its sizes and its strides;
 * then the maps. Returns how many; NULL counts alone. */
static int32_t list_arguments(const attnc_cuda_kernel *kernel, halide_buffer_t *const *buffers,
                              attnc_cuda_encoded_map *maps, void **places) {
  int32_t count = 0;
  for (int32_t i = 0; i < kernel->buffer_count; ++i) {
    int32_t rank = buffers[i]->dimensions;
    if (places)
      places[count] = &buffers[i]->device;
    for (int32_t dim = 0; places && dim < rank; ++dim) {
      places[count + 1 + dim] = &dimension(buffers[i], dim)->extent;
      places[count + 1 + rank + dim] = &dimension(buffers[i], dim)->stride;
    }
    count += 1 + 2 * rank;
  }
  for (int32_t i = 0; i < kernel->map_count; ++i, ++count)
    if (places)
      places[count] = &maps[i];
  return count;
}

/* In the context, which is current. */
static int launch(attnc_context *call, const attnc_cuda_kernel *kernel, void *context,
                  halide_buffer_t *const *buffers, int64_t blocks) {
  void *function, *stream, *places[list_arguments(kernel, buffers, 0, 0) + 1];
  attnc_cuda_encoded_map maps[kernel->map_count + 1];
  int status = get_function(call, kernel, context, &function);
  if (!status)
    status = halide_cuda_get_stream(call, context, &stream);
  if (!status)
    status = attnc_cuda_encode_maps(call, kernel, buffers, maps);
  if (status)
    return status;
  list_arguments(kernel, buffers, maps, places);
  int error = cuda.launch(function, (unsigned)blocks, 1, 1, (unsigned)kernel->threads, 1, 1,
                          (unsigned)kernel->shared_bytes, stream, places, 0);
  for (int32_t i = kernel->input_count; i < kernel->buffer_count; ++i)
    buffers[i]->flags |= device_dirty;
  return error ? fail(call, "expected CUDA to launch a kernel, found its error {}", error) : 0;
}

static int refuse_layout(attnc_context *call) {
  halide_error(call, "expected tensors with elements, whose addresses and strides are multiples of "
                     "16 bytes");
  return halide_generic_error;
}

int32_t attnc_cuda_launch(const attnc_cuda_kernel *kernel, void **arguments) {
  attnc_context *call = *(void **)arguments[0];
  halide_buffer_t *const *buffers = (halide_buffer_t *const *)&arguments[1];
  if (!attnc_cuda_can_map(kernel, buffers))
    return kernel->fallback ? kernel->fallback(arguments) : refuse_layout(call);
  int64_t blocks;
  void *context;
  int status = count_blocks(call, kernel, buffers, &blocks);
  if (status || !blocks)
    return status;
  status = open_driver(call);
  if (status || (status = halide_cuda_acquire_context(call, &context, 1)))
    return status;
  int error = cuda.push(context);
  status = error ? fail(call, "expected a CUDA context, found error {}", error)
                 : launch(call, kernel, context, buffers, blocks);
  if (!error)
    cuda.pop(&context);
  halide_cuda_release_context(call);
  return status;
}
