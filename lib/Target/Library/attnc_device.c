/*===- attnc_device.c - tensors on a GPU ------------------------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Part of every library for a GPU. The host function computes with host addresses. Each range of
 * host memory that kernels access (a tensor, the workspace, a constant) has a copy on the device,
 * freed when the call ends. Inputs are copied there once, intermediate results stay there, and
 * results are copied back at the end. Tensors already on the device are used in place, and
 * constants stay there after the call.
 *
 *===------------------------------------------------------------------------===*/

#include "attnc_halide.h"

void *dlopen(const char *name, int flags);
enum { rtld_lazy = 1 };

/*===------------------------------------------------------------------------===*
 * Halide's runtime
 *===------------------------------------------------------------------------===*/

int halide_device_malloc(void *user_context, halide_buffer_t *buffer,
                         const halide_device_interface_t *interface);
int halide_device_free(void *user_context, halide_buffer_t *buffer);
int halide_copy_to_device(void *user_context, halide_buffer_t *buffer,
                          const halide_device_interface_t *interface);
int halide_copy_to_host(void *user_context, halide_buffer_t *buffer);
int halide_buffer_copy(void *user_context, halide_buffer_t *from,
                       const halide_device_interface_t *interface, halide_buffer_t *to);
int halide_device_crop(void *user_context, const halide_buffer_t *from, halide_buffer_t *to);
int halide_device_release_crop(void *user_context, halide_buffer_t *buffer);

int halide_device_sync_global(void *user_context, const halide_device_interface_t *interface);
void halide_device_release(void *user_context, const halide_device_interface_t *interface);
int halide_device_wrap_native(void *user_context, halide_buffer_t *buffer, uint64_t handle,
                              const halide_device_interface_t *interface);
int halide_device_detach_native(void *user_context, halide_buffer_t *buffer);

/* Drivers come without the unversioned link that compilers use. */
void *halide_load_library(const char *name) {
  void *library = dlopen(name, rtld_lazy);
  char versioned[64];
  size_t length = 0;
  while (name[length] && length + 3 < sizeof versioned) {
    versioned[length] = name[length];
    ++length;
  }
  versioned[length] = '.';
  versioned[length + 1] = '1';
  versioned[length + 2] = 0;
  return library ? library : dlopen(versioned, rtld_lazy);
}

/*===------------------------------------------------------------------------===*
 * Ranges
 *===------------------------------------------------------------------------===*/

/* Bytes from `begin` up to `end` of host memory, and their copy on the device. */
typedef struct device_range {
  struct device_range *next;
  uintptr_t begin, end;
  halide_buffer_t buffer;
  halide_dimension_t dim;
  void *context;  /* of constants: the caller's, or NULL */
  int is_callers; /* a caller's tensor on the device */
} device_range;

/* `bytes` in units such that their number fits into 32 bits. */
static void describe_bytes(halide_buffer_t *buffer, halide_dimension_t *dim, uintptr_t begin,
                           uint64_t bytes) {
  int unit = bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
  *dim = (halide_dimension_t){0, (int32_t)(bytes / (uint64_t)unit), 1, 0};
  *buffer = (halide_buffer_t){
      .host = (uint8_t *)begin, .type = {1, (uint8_t)(8 * unit), 1}, .dimensions = 1, .dim = dim};
}

static device_range *find_range(const attnc_context *call, uintptr_t begin, uintptr_t end) {
  for (device_range *range = call->device; range; range = range->next)
    if (range->begin <= begin && end <= range->end)
      return range;
  return 0;
}

static void start_range(device_range *range, uintptr_t begin, uintptr_t end) {
  *range = (device_range){.begin = begin, .end = end};
  describe_bytes(&range->buffer, &range->dim, begin, end > begin ? end - begin : 1);
}

/* Allocates device memory; copies the host's bytes to it if `filled`. */
static int fill_range(attnc_context *call, device_range *range, int filled) {
  if (!filled || range->end <= range->begin)
    return halide_device_malloc(call, &range->buffer, attnc_device_interface());
  range->buffer.flags = host_dirty;
  return halide_copy_to_device(call, &range->buffer, attnc_device_interface());
}

/* Adds a range to the call, without device memory yet. */
static device_range *add_range(attnc_context *call, uintptr_t begin, uintptr_t end) {
  device_range *range = halide_malloc(call, sizeof *range);
  if (!range)
    return 0;
  start_range(range, begin, end);
  range->next = call->device;
  return call->device = range;
}

int attnc_device_probe(attnc_context *call) {
  halide_buffer_t probe;
  halide_dimension_t dim;
  describe_bytes(&probe, &dim, 0, 64);
  int status = halide_device_malloc(call, &probe, attnc_device_interface());
  if (!status)
    halide_device_free(call, &probe);
  return status;
}

int attnc_device_add(attnc_context *call, uintptr_t begin, uintptr_t end, int filled) {
  if (find_range(call, begin, end))
    return 0;
  device_range *range = add_range(call, begin, end);
  return range ? fill_range(call, range, filled) : halide_out_of_memory;
}

int attnc_device_wrap(attnc_context *call, uintptr_t begin, uintptr_t end, void *handle) {
  device_range *range = add_range(call, begin, end);
  if (!range)
    return halide_out_of_memory;
  range->is_callers = 1;
  return halide_device_wrap_native(call, &range->buffer, (uint64_t)(uintptr_t)handle,
                                   attnc_device_interface());
}

void attnc_device_close(attnc_context *call) {
  for (device_range *range = call->device, *next; range; range = next) {
    next = range->next;
    if (!range->is_callers)
      halide_device_free(call, &range->buffer);
    else if (range->buffer.device)
      halide_device_detach_native(call, &range->buffer);
    halide_free(call, range);
  }
  call->device = 0;
}

/*===------------------------------------------------------------------------===*
 * Constants
 *===------------------------------------------------------------------------===*/

/* They stay on the device between calls: a copy in each context, for all threads. */
static device_range *constants;
static halide_mutex constants_lock;

static device_range *find_constant(const void *context, uintptr_t begin, uintptr_t end) {
  for (device_range *range = constants; range; range = range->next)
    if (range->context == context && range->begin <= begin && end <= range->end)
      return range;
  return 0;
}

/* Complete before a thread on another stream can find it. */
static int add_constant(attnc_context *call, uintptr_t begin, uintptr_t end,
                        const device_range **found) {
  device_range *range = halide_malloc(0, sizeof *range); /* longer than the call */
  if (!range)
    return halide_out_of_memory;
  start_range(range, begin, end);
  int status = fill_range(call, range, /*filled=*/1);
  if (!status)
    status = halide_device_sync_global(call, attnc_device_interface());
  if (status) {
    halide_device_free(call, &range->buffer);
    halide_free(0, range);
    return status;
  }
  range->context = call->gpu_context;
  range->next = constants;
  *found = constants = range;
  return 0;
}

static int get_constant(attnc_context *call, uintptr_t begin, uintptr_t end,
                        const device_range **found) {
  halide_mutex_lock(&constants_lock);
  *found = find_constant(call->gpu_context, begin, end);
  int status = *found ? 0 : add_constant(call, begin, end, found);
  halide_mutex_unlock(&constants_lock);
  return status;
}

void attnc_device_release(attnc_context *call) {
  attnc_device_release_kernels(call);
  halide_mutex_lock(&constants_lock);
  for (device_range **link = &constants, *range; (range = *link);) {
    if (range->context != call->gpu_context) {
      link = &range->next;
      continue;
    }
    *link = range->next;
    halide_device_free(call, &range->buffer);
    halide_free(0, range);
  }
  halide_mutex_unlock(&constants_lock);
  halide_device_release(call, attnc_device_interface());
}

/*===------------------------------------------------------------------------===*
 * Buffers
 *===------------------------------------------------------------------------===*/

static uint64_t count_bytes(const halide_buffer_t *buffer) {
  uint64_t last = 0;
  for (int32_t i = 0; i < buffer->dimensions; ++i) {
    if (buffer->dim[i].extent == 0)
      return 0;
    last += (uint64_t)(buffer->dim[i].extent - 1) * (uint64_t)buffer->dim[i].stride;
  }
  return (last + 1) * ((buffer->type.bits + 7u) / 8u);
}

/* Points `buffer` to its device memory, and returns the offset from the begin of its range. A
 * buffer in no range of the call is a constant. */
static int bind_buffer(attnc_context *call, halide_buffer_t *buffer, uint64_t *offset) {
  uintptr_t begin = (uintptr_t)buffer->host, end = begin + count_bytes(buffer);
  const device_range *range = find_range(call, begin, end);
  int status = range ? 0 : get_constant(call, begin, end, &range);
  if (status)
    return status;
  *offset = end > begin ? begin - range->begin : 0; /* an empty one may lie at the range's end */
  int unit = *offset % 8 == 0 ? 8 : *offset % 4 == 0 ? 4 : *offset % 2 == 0 ? 2 : 1;
  halide_buffer_t whole = range->buffer, part = range->buffer;
  halide_dimension_t whole_dim = {0, INT32_MAX, 1, 0}, part_dim = {0, 1, 1, 0};
  part_dim.min = (int32_t)(*offset / (uint64_t)unit);
  whole.type.bits = part.type.bits = (uint8_t)(8 * unit);
  whole.dim = &whole_dim;
  part.dim = &part_dim;
  part.device = 0;
  part.device_interface = 0;
  status = halide_device_crop(call, &whole, &part);
  buffer->device = part.device;
  buffer->device_interface = part.device_interface;
  return status;
}

/* A buffer of a kernel. A misaligned one is copied to an allocation of its own, and back if the
 * kernel wrote it. */
enum { max_rank = 8 };
typedef struct argument {
  halide_buffer_t buffer, copy;
  halide_dimension_t dims[max_rank];
} argument;

static int copy_aligned(attnc_context *call, argument *self) {
  int32_t stride = 1;
  self->copy = self->buffer;
  self->copy.device = 0;
  self->copy.device_interface = 0;
  self->copy.dim = self->dims;
  for (int32_t i = 0; i < self->buffer.dimensions; ++i) {
    self->dims[i] = (halide_dimension_t){0, self->buffer.dim[i].extent, stride, 0};
    stride *= self->buffer.dim[i].extent;
  }
  int status = halide_device_malloc(call, &self->copy, attnc_device_interface());
  self->buffer.flags = device_dirty;
  return status ? status
                : halide_buffer_copy(call, &self->buffer, attnc_device_interface(), &self->copy);
}

/* Passes the kernel's buffer in `given`. */
static int open_argument(attnc_context *call, argument *self, halide_buffer_t **given) {
  *given = &self->buffer;
  uint64_t offset;
  int status = bind_buffer(call, &self->buffer, &offset);
  if (status || offset % attnc_device_alignment() == 0)
    return status;
  *given = &self->copy;
  status = copy_aligned(call, self);
  self->copy.flags = 0;
  return status;
}

static int close_argument(attnc_context *call, argument *self) {
  int status = 0;
  if (self->copy.device) {
    if (self->copy.flags & device_dirty)
      status = halide_buffer_copy(call, &self->copy, attnc_device_interface(), &self->buffer);
    halide_device_free(call, &self->copy);
  }
  if (self->buffer.device)
    halide_device_release_crop(call, &self->buffer);
  return status;
}

int32_t attnc_device_call(void *user_context, int (*pipeline)(void **arguments),
                          halide_buffer_t *const *buffers, int32_t count) {
  void *given[count + 1];
  argument arguments[count];
  int32_t opened = 0;
  int status = 0;
  given[0] = &user_context;
  for (; opened < count && !status; ++opened) {
    arguments[opened].buffer = *buffers[opened];
    arguments[opened].copy.device = 0;
    status =
        open_argument(user_context, &arguments[opened], (halide_buffer_t **)&given[opened + 1]);
  }
  if (!status)
    status = pipeline(given);
  for (int32_t i = 0; i < opened; ++i) {
    int closed = close_argument(user_context, &arguments[i]);
    status = status ? status : closed;
  }
  return status;
}

/* Copies a buffer from the device to host memory at `to`. */
static int copy_to_host(attnc_context *call, halide_buffer_t *buffer, void *to) {
  uint64_t offset;
  int status = bind_buffer(call, buffer, &offset);
  if (!status) {
    buffer->host = to;
    buffer->flags = device_dirty;
    status = halide_copy_to_host(call, buffer);
  }
  if (buffer->device)
    halide_device_release_crop(call, buffer);
  return status;
}

/* For the host function: `from` may be a virtual address. */
int32_t attnc_device_read(void *user_context, void *to, const void *from, int64_t bytes) {
  halide_dimension_t dim;
  halide_buffer_t buffer;
  describe_bytes(&buffer, &dim, (uintptr_t)from, (uint64_t)bytes);
  return copy_to_host(user_context, &buffer, to);
}

/* Halide lists the innermost dimension first. A dim of size 1, which may have any stride, would
 * keep it from copying contiguous data at once. */
int attnc_device_fetch(attnc_context *call, void *data, int32_t rank, const int64_t *shape,
                       const int64_t *strides, uint8_t bits) {
  halide_dimension_t dims[rank + 1];
  int32_t count = 0;
  for (int32_t i = rank - 1; i >= 0; --i)
    if (shape[i] != 1)
      dims[count++] = (halide_dimension_t){0, (int32_t)shape[i], (int32_t)strides[i], 0};
  halide_buffer_t buffer = {.host = data, .type = {1, bits, 1}, .dimensions = count, .dim = dims};
  return count_bytes(&buffer) ? copy_to_host(call, &buffer, data) : 0;
}
