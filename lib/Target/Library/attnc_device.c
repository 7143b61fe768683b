/*===- attnc_device.c - tensors on a GPU ------------------------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Part of every library for a GPU. The host function computes with addresses of host
 * memory; to each range of it that kernels touch (a tensor, the workspace, a constant)
 * belongs a range on the device, made when a kernel first asks and freed when the call
 * ends. Kernels find what they read there: inputs and constants are copied once, what
 * one kernel leaves to the next stays, and results are copied back at the end.
 *
 *===------------------------------------------------------------------------===*/

#include "attnc_device.h"

void *dlopen(const char *name, int flags);
enum { rtld_lazy = 1 };

/*===------------------------------------------------------------------------===*
 * Halide's runtime
 *===------------------------------------------------------------------------===*/

/* Its names, from HalideRuntime.h. */
typedef struct halide_device_interface_t halide_device_interface_t;
typedef struct halide_dimension_t {
  int32_t min, extent, stride;
  uint32_t flags;
} halide_dimension_t;
typedef struct halide_buffer_t {
  uint64_t device;
  const halide_device_interface_t *device_interface;
  uint8_t *host;
  uint64_t flags;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } type;
  int32_t dimensions;
  halide_dimension_t *dim;
  void *padding;
} halide_buffer_t;
enum { host_dirty = 1, device_dirty = 2 };

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

/* The compiler gives it the name of the target's: halide_cuda_device_interface or another. */
const halide_device_interface_t *attnc_device_interface(void);

/* The driver's library, and what to say where there is none; built by the compiler. */
extern const char *const attnc_driver, *const attnc_driver_missing;
/* Where within a range a kernel's buffer may begin: at multiples of it. */
extern const uint64_t attnc_device_alignment;

/* Drivers come without the link that compilers use. */
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

/* Bytes from `begin` up to `end` of the host's memory, and their place on the device. */
typedef struct device_range {
  struct device_range *next;
  uintptr_t begin, end;
  halide_buffer_t buffer;
  halide_dimension_t dim;
} device_range;

/* `bytes` in units that make their number fit. */
static void describe_bytes(halide_buffer_t *buffer, halide_dimension_t *dim, uintptr_t begin,
                           uint64_t bytes) {
  int unit = bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : 1;
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

/* A range of its own on the device, with the host's bytes in it where they are `filled`. */
static int add_range(attnc_context *call, uintptr_t begin, uintptr_t end, int filled) {
  device_range *range = halide_malloc(call, sizeof *range);
  if (!range)
    return halide_out_of_memory;
  *range = (device_range){.next = call->device, .begin = begin, .end = end};
  describe_bytes(&range->buffer, &range->dim, begin, end > begin ? end - begin : 1);
  call->device = range;
  if (!filled || end <= begin)
    return halide_device_malloc(call, &range->buffer, attnc_device_interface());
  range->buffer.flags = host_dirty;
  return halide_copy_to_device(call, &range->buffer, attnc_device_interface());
}

int attnc_on_device(void) { return 1; }

/* A driver that finds no GPU says so when it is first asked for memory. */
int attnc_device_open(attnc_context *call) {
  if (!halide_load_library(attnc_driver)) {
    halide_error(call, attnc_driver_missing);
    return attnc_no_device;
  }
  halide_buffer_t probe;
  halide_dimension_t dim;
  describe_bytes(&probe, &dim, 0, 64);
  if (halide_device_malloc(call, &probe, attnc_device_interface()))
    return attnc_no_device;
  halide_device_free(call, &probe);
  return 0;
}

int attnc_device_add(attnc_context *call, uintptr_t begin, uintptr_t end, int filled) {
  return find_range(call, begin, end) ? 0 : add_range(call, begin, end, filled);
}

void attnc_device_close(attnc_context *call) {
  for (device_range *range = call->device, *next; range; range = next) {
    next = range->next;
    halide_device_free(call, &range->buffer);
    halide_free(call, range);
  }
  call->device = 0;
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

static uint64_t offset_in_range(const attnc_context *call, const halide_buffer_t *buffer) {
  uintptr_t begin = (uintptr_t)buffer->host;
  return begin - find_range(call, begin, begin + count_bytes(buffer))->begin;
}

/* Points `buffer` to its place on the device; what is in no range yet is a constant. */
static int bind_buffer(attnc_context *call, halide_buffer_t *buffer) {
  uintptr_t begin = (uintptr_t)buffer->host, end = begin + count_bytes(buffer);
  int status = attnc_device_add(call, begin, end, /*filled=*/1);
  if (status)
    return status;
  const device_range *range = find_range(call, begin, end);
  uint64_t offset = offset_in_range(call, buffer);
  int unit = offset % 8 == 0 ? 8 : offset % 4 == 0 ? 4 : 1;
  halide_buffer_t whole = range->buffer, part = range->buffer;
  halide_dimension_t whole_dim = {0, INT32_MAX, 1, 0}, part_dim = {0, 1, 1, 0};
  part_dim.min = (int32_t)(offset / (uint64_t)unit);
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

/* A buffer of a kernel. One that begins where kernels can't is copied to a place of its own,
 * and back when the kernel wrote it. */
enum { max_rank = 8 };
typedef struct argument {
  halide_buffer_t buffer, copy;
  halide_dimension_t dims[max_rank];
} argument;

static int copy_apart(attnc_context *call, argument *self) {
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

/* The buffer to hand to the kernel in `given`. */
static int open_argument(attnc_context *call, argument *self, halide_buffer_t **given) {
  *given = &self->buffer;
  int status = bind_buffer(call, &self->buffer);
  if (status || offset_in_range(call, &self->buffer) % attnc_device_alignment == 0)
    return status;
  *given = &self->copy;
  status = copy_apart(call, self);
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

/* Copies what the device holds to where the host looks for it. */
static int copy_to_host(attnc_context *call, halide_buffer_t *buffer) {
  int status = bind_buffer(call, buffer);
  if (!status) {
    buffer->flags = device_dirty;
    status = halide_copy_to_host(call, buffer);
  }
  if (buffer->device)
    halide_device_release_crop(call, buffer);
  return status;
}

int32_t attnc_device_to_host(void *user_context, void *begin, int64_t bytes) {
  halide_dimension_t dim;
  halide_buffer_t buffer;
  describe_bytes(&buffer, &dim, (uintptr_t)begin, (uint64_t)bytes);
  return copy_to_host(user_context, &buffer);
}

/* Halide lists the innermost dimension first. */
int attnc_device_fetch(attnc_context *call, void *data, int32_t rank, const int64_t *shape,
                       const int64_t *strides, uint8_t bits) {
  halide_dimension_t dims[rank + 1];
  for (int32_t i = 0; i < rank; ++i)
    dims[i] =
        (halide_dimension_t){0, (int32_t)shape[rank - 1 - i], (int32_t)strides[rank - 1 - i], 0};
  halide_buffer_t buffer = {.host = data, .type = {1, bits, 1}, .dimensions = rank, .dim = dims};
  return count_bytes(&buffer) ? copy_to_host(call, &buffer) : 0;
}
