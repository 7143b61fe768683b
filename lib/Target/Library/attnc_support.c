/*===- attnc_support.c - checks a call and runs the host function ---------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Part of every emitted library. Nothing a caller passes is trusted: what is
 * wrong is a status and a message, before any tensor is touched. No output, no
 * abort and no state but the message, which is the thread's own.
 *
 *===------------------------------------------------------------------------===*/

#include "attnc_device.h"
#include "attnc_text.h"

enum { workspace_alignment = 64 };

/*===------------------------------------------------------------------------===*
 * The message
 *===------------------------------------------------------------------------===*/

static _Thread_local char last_error[attnc_message_bytes];

text attnc_start_message(const char *subject) {
  text message = {last_error, 0};
  put(&message, subject);
  if (*subject)
    put(&message, ": ");
  return message;
}

int attnc_refuse(const char *subject, const part *parts) {
  text message = attnc_start_message(subject);
  for (; parts->words; ++parts) {
    put(&message, parts->words);
    if (parts->number)
      put_number(&message, *parts->number);
  }
  return attnc_invalid;
}

const char *attnc_last_error(void) { return last_error; }

/*===------------------------------------------------------------------------===*
 * Dtype, rank and dims
 *===------------------------------------------------------------------------===*/

static const char *code_name(uint8_t code) {
  switch (code) {
  case kDLInt:
    return "i";
  case kDLUInt:
    return "u";
  case kDLFloat:
    return "f";
  case kDLBfloat:
    return "bf";
  case kDLComplex:
    return "complex";
  case kDLBool:
    return "bool";
  default:
    return "dtype code ";
  }
}

static void put_dtype(text *message, uint8_t code, uint8_t bits, uint16_t lanes) {
  put(message, code_name(code));
  if (code > kDLBool || code == kDLOpaqueHandle) {
    put_number(message, code);
    put(message, " of bits ");
  }
  if (code != kDLBool || bits != 8)
    put_number(message, bits);
  if (lanes != 1) {
    put(message, "x");
    put_number(message, lanes);
  }
}

static int refuse_dtype(const attnc_tensor *spec, DLDataType found) {
  text message = attnc_start_message(spec->name);
  put(&message, "expected ");
  put_dtype(&message, spec->code, spec->bits, 1);
  put(&message, ", found ");
  put_dtype(&message, found.code, found.bits, found.lanes);
  return attnc_invalid;
}

static int check_kind(const attnc_tensor *spec, const DLTensor *tensor) {
  if (!tensor)
    return REFUSE(spec->name, {"expected a tensor, found a null pointer", 0});
  int64_t device = tensor->device.device_type, own = attnc_device_type();
  if (device != kDLCPU && own == kDLCPU)
    return REFUSE(spec->name, {"expected memory of the CPU, found DLPack device type ", &device});
  if (device != kDLCPU && device != own)
    return REFUSE(spec->name, {"expected memory of the CPU or of DLPack device type ", &own},
                  {", found ", &device});
  DLDataType dtype = tensor->dtype;
  if (dtype.code != spec->code || dtype.bits != spec->bits || dtype.lanes != 1)
    return refuse_dtype(spec, dtype);
  int64_t rank = spec->rank, found = tensor->ndim;
  if (found != rank)
    return REFUSE(spec->name, {"expected ", &rank}, {" dims, found ", &found});
  if (rank > 0 && !tensor->shape)
    return REFUSE(spec->name, {"expected a shape, found a null pointer", 0});
  return 0;
}

/* "dim 2 (kv_len)". */
static void put_dim(text *message, int32_t index, const attnc_dim *dim) {
  put(message, "dim ");
  put_number(message, index);
  if (dim->symbol) {
    put(message, " (");
    put(message, dim->symbol);
    put(message, ")");
  }
}

static int refuse_extent(const attnc_tensor *spec, int32_t index, const char *expected,
                         const int64_t *number, const char *like, int64_t found) {
  text message = attnc_start_message(spec->name);
  put(&message, "expected ");
  put_dim(&message, index, &spec->dims[index]);
  put(&message, expected);
  if (number)
    put_number(&message, *number);
  if (like) {
    put(&message, " as in ");
    put(&message, like);
  }
  put(&message, ", found ");
  put_number(&message, found);
  return attnc_invalid;
}

/* `tensors` are known to have their ranks. */
static int check_dims(const DLTensor *const *tensors, int32_t which) {
  const attnc_tensor *specs = attnc_the_signature.tensors, *spec = &specs[which];
  for (int32_t i = 0; i < spec->rank; ++i) {
    const attnc_dim *dim = &spec->dims[i];
    int64_t extent = tensors[which]->shape[i];
    if (extent < 0 || extent > INT32_MAX)
      return refuse_extent(spec, i, " to be from 0 to 2147483647", 0, 0, extent);
    if (dim->extent >= 0 && extent != dim->extent)
      return refuse_extent(spec, i, " to be ", &dim->extent, 0, extent);
    if (dim->like_tensor < 0)
      continue;
    int64_t like = tensors[dim->like_tensor]->shape[dim->like_dim];
    if (extent != like)
      return refuse_extent(spec, i, " to be ", &like, specs[dim->like_tensor].name, extent);
  }
  return 0;
}

/*===------------------------------------------------------------------------===*
 * Memory
 *===------------------------------------------------------------------------===*/

/* Where a tensor's elements are: bytes from `begin` up to `end`. */
typedef struct range {
  uintptr_t begin, end;
  uintptr_t whole; /* where the memory begins that a tensor on the device lies in */
  void *handle;    /* the device's name of it, or NULL for memory of the host */
} range;

static int is_empty(const DLTensor *tensor) {
  for (int32_t i = 0; i < tensor->ndim; ++i)
    if (tensor->shape[i] == 0)
      return 1;
  return 0;
}

/* The stride of each dim. One that is never taken is 1 for the innermost dim and
 * 0 for others; those of an empty tensor are never taken. */
static int read_strides(const attnc_tensor *spec, const DLTensor *tensor, int64_t *strides) {
  int64_t compact = 1;
  int empty = is_empty(tensor);
  for (int32_t i = spec->rank - 1; i >= 0; --i) {
    int64_t extent = tensor->shape[i], innermost = i == spec->rank - 1;
    int64_t index = i;
    if (extent == 1 || empty) {
      strides[i] = innermost;
      continue;
    }
    strides[i] = tensor->strides ? tensor->strides[i] : compact;
    if (innermost && strides[i] != 1)
      return REFUSE(spec->name, {"expected dim ", &index},
                    {" to have stride 1, found ", &strides[i]});
    if (strides[i] > INT32_MAX || strides[i] < -INT32_MAX)
      return REFUSE(spec->name, {"expected dim ", &index},
                    {" to have a stride within 31 bits, found ", &strides[i]});
    /* Below 2^31 each, and refused when the product exceeds it. */
    compact *= extent;
    if (compact > INT32_MAX && !tensor->strides)
      return REFUSE(spec->name, {"expected at most 2147483647 elements, found more", 0});
    if (compact > INT32_MAX)
      compact = INT32_MAX;
  }
  return 0;
}

/* Extents and strides are below 2^31, so that no step overflows. */
static int find_range(const attnc_tensor *spec, const DLTensor *tensor, const int64_t *strides,
                      range *bytes) {
  int64_t low = 0, high = 0;
  for (int32_t i = 0; i < spec->rank; ++i) {
    int64_t reach = (tensor->shape[i] - 1) * strides[i];
    *(reach < 0 ? &low : &high) += reach;
    if (high - low >= INT32_MAX)
      return REFUSE(
          spec->name,
          {"expected its elements to lie within 2147483647 of each other, found more", 0});
  }
  int64_t size = spec->bits / 8;
  uintptr_t data = (uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset;
  uint64_t before = (uint64_t)(-low * size), after = (uint64_t)((high + 1) * size);
  if (before > data || after > UINTPTR_MAX - data)
    return REFUSE(spec->name, {"expected its elements to lie in memory, found some beyond", 0});
  bytes->begin = data - (uintptr_t)before;
  bytes->end = data + (uintptr_t)after;
  return 0;
}

static int64_t magnitude(int64_t number) { return number < 0 ? -number : number; }

/* The dim of the smallest stride among those not yet `taken`, or -1. */
static int32_t next_dim(const DLTensor *tensor, const int64_t *strides, uint64_t taken) {
  int32_t next = -1;
  for (int32_t i = 0; i < tensor->ndim; ++i) {
    if (tensor->shape[i] == 1 || (taken >> i & 1))
      continue;
    if (next < 0 || magnitude(strides[i]) < magnitude(strides[next]))
      next = i;
  }
  return next;
}

/* Whether a dim, in the order of strides, fails to step over all that lies within. */
static int shares_elements(const DLTensor *tensor, const int64_t *strides) {
  uint64_t taken = 0;
  int64_t covered = 0;
  for (int32_t i; (i = next_dim(tensor, strides, taken)) >= 0; taken |= UINT64_C(1) << i) {
    if (magnitude(strides[i]) <= covered)
      return 1;
    covered += (tensor->shape[i] - 1) * magnitude(strides[i]);
  }
  return 0;
}

static int check_memory(const attnc_tensor *spec, const DLTensor *tensor, int64_t *strides,
                        range *bytes) {
  bytes->begin = bytes->end = 0;
  int status = read_strides(spec, tensor, strides);
  if (status || is_empty(tensor))
    return status;
  if (!tensor->data)
    return REFUSE(spec->name, {"expected data, found a null pointer", 0});
  if (tensor->byte_offset > INTPTR_MAX ||
      (uintptr_t)tensor->byte_offset > UINTPTR_MAX - (uintptr_t)tensor->data)
    return REFUSE(spec->name, {"expected a byte offset within memory, found one beyond", 0});
  int64_t size = spec->bits / 8;
  int64_t past =
      (int64_t)(((uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset) % (uintptr_t)size);
  if (past)
    return REFUSE(spec->name, {"expected data aligned to ", &size},
                  {" bytes, found an address ", &past}, {" past that", 0});
  status = find_range(spec, tensor, strides, bytes);
  if (!status && spec->is_output && shares_elements(tensor, strides))
    return REFUSE(spec->name, {"expected every element in a place of its own, found strides that "
                               "share one",
                               0});
  return status;
}

/*===------------------------------------------------------------------------===*
 * Tensors on the device
 *===------------------------------------------------------------------------===*/

enum { most_byte_offset = INT32_MAX };

/* `placed` are the tensors with an address that stands for each one's memory. */
static int place_tensors(const DLTensor *const *tensors, DLTensor *placed, range *ranges) {
  for (int32_t i = 0; i < attnc_the_signature.count; ++i) {
    placed[i] = *tensors[i];
    ranges[i].handle = 0;
    ranges[i].whole = 0;
    if (placed[i].device.device_type == kDLCPU || !placed[i].data)
      continue;
    int64_t most = most_byte_offset;
    if (placed[i].byte_offset > (uint64_t)most)
      return REFUSE(attnc_the_signature.tensors[i].name,
                    {"expected a byte_offset of at most ", &most}, {" on a device, found more", 0});
    ranges[i].handle = placed[i].data;
    ranges[i].whole = attnc_device_address(tensors, i);
    placed[i].data = (void *)ranges[i].whole;
  }
  return 0;
}

/* A call has one device, and strides of at least 0 there. */
static int check_device(const DLTensor *placed, int32_t which, int32_t device_id,
                        const int64_t *strides) {
  const attnc_tensor *spec = &attnc_the_signature.tensors[which];
  for (int64_t dim = 0; dim < spec->rank; ++dim)
    if (strides[dim] < 0)
      return REFUSE(spec->name, {"expected dim ", &dim},
                    {" to have a stride of at least 0 for a GPU, found ", &strides[dim]});
  int64_t expected = device_id, found = placed[which].device.device_id;
  if (placed[which].device.device_type != kDLCPU && found != expected)
    return REFUSE(spec->name, {"expected memory of device ", &expected}, {", found ", &found});
  return 0;
}

static const DLTensor *find_device_tensor(const DLTensor *placed) {
  for (int32_t i = 0; i < attnc_the_signature.count; ++i)
    if (placed[i].device.device_type != kDLCPU)
      return &placed[i];
  return 0;
}

/*===------------------------------------------------------------------------===*
 * Checks in order: what a later one reads, an earlier one has seen
 *===------------------------------------------------------------------------===*/

static int check_shapes(const DLTensor *const *tensors) {
  int64_t count = attnc_the_signature.count;
  if (!tensors)
    return REFUSE("", {"expected an array of ", &count}, {" tensors, found a null pointer", 0});
  int status = 0;
  for (int32_t i = 0; i < count && !status; ++i)
    status = check_kind(&attnc_the_signature.tensors[i], tensors[i]);
  for (int32_t i = 0; i < count && !status; ++i)
    status = check_dims(tensors, i);
  return status;
}

static int check_options(const attnc_options *options) {
  if (!options)
    return 0;
  int64_t size = offsetof(attnc_options, context), found = (int64_t)options->size;
  if (found < size)
    return REFUSE("options", {"expected size to be at least ", &size}, {", found ", &found});
  int64_t threads = options->threads;
  if (threads < 0)
    return REFUSE("options", {"expected threads to be at least 0, found ", &threads});
  if (!options->allocate != !options->deallocate)
    return REFUSE("options", {"expected both allocate and deallocate or none, found one", 0});
  if (!options->workspace && options->workspace_bytes)
    return REFUSE("options", {"expected a workspace, found a null pointer and its bytes", 0});
  return 0;
}

static int refuse_memory(int64_t bytes) {
  REFUSE("", {"expected ", &bytes}, {" bytes for a workspace, found no memory", 0});
  return attnc_no_memory;
}

/* A caller's workspace holds `bytes` and no part of a tensor. */
static int check_workspace(const attnc_options *options, int64_t bytes, const range *ranges) {
  if (bytes < 0)
    return refuse_memory(bytes);
  if (!options || !options->workspace)
    return 0;
  int64_t found = (int64_t)options->workspace_bytes;
  if (options->workspace_bytes < (size_t)bytes)
    return REFUSE("options", {"expected a workspace of ", &bytes}, {" bytes, found ", &found});
  uintptr_t begin = (uintptr_t)options->workspace, end = begin + (uintptr_t)bytes;
  for (int32_t i = 0; i < attnc_the_signature.count; ++i)
    if (begin < ranges[i].end && ranges[i].begin < end)
      return REFUSE("options", {"expected a workspace apart from ", 0},
                    {attnc_the_signature.tensors[i].name, 0}, {", found an overlap", 0});
  return 0;
}

static int outputs_are_empty(const DLTensor *const *tensors) {
  for (int32_t i = 0; i < attnc_the_signature.count; ++i)
    if (attnc_the_signature.tensors[i].is_output && !is_empty(tensors[i]))
      return 0;
  return 1;
}

/*===------------------------------------------------------------------------===*
 * The variant
 *===------------------------------------------------------------------------===*/

static int has_device(void) {
  attnc_context call = {0};
  return attnc_device_type() != kDLCPU && attnc_device_open(&call) == 0;
}

/* The best one for this machine, or NULL. Two threads that ask at once find the same. */
static const attnc_variant *find_variant(void) {
  static const attnc_variant *kept;
  const attnc_variant *variant = __atomic_load_n(&kept, __ATOMIC_ACQUIRE);
  if (variant)
    return variant;
  uint64_t features = attnc_cpu_features() | (has_device() ? attnc_gpu : 0);
  for (int32_t i = 0; i < attnc_the_signature.variant_count; ++i) {
    variant = &attnc_the_signature.variants[i];
    if (variant->features & ~features)
      continue;
    __atomic_store_n(&kept, variant, __ATOMIC_RELEASE);
    return variant;
  }
  return 0;
}

const char *attnc_target(void) {
  const attnc_variant *variant = find_variant();
  return variant ? variant->target : 0;
}

/* The last one asks for the least. */
static int refuse_machine(void) {
  const attnc_signature *spec = &attnc_the_signature;
  attnc_context call = {0};
  if (attnc_device_type() != kDLCPU && attnc_device_open(&call)) {
    text message = attnc_start_message("");
    put(&message, call.message);
    return attnc_no_device;
  }
  REFUSE("", {"expected a CPU that can run ", 0},
         {spec->variants[spec->variant_count - 1].target, 0}, {", found one that can't", 0});
  return attnc_failed;
}

/*===------------------------------------------------------------------------===*
 * The run
 *===------------------------------------------------------------------------===*/

/* MLIR's descriptor of a memref, its length given by the rank: two pointers, allocated and
 * aligned, before the numbers. */
enum {
  descriptor_offset = 2 * sizeof(void *) / sizeof(int64_t),
  descriptor_sizes = descriptor_offset + 1,
  vector_descriptor = descriptor_sizes + 2
};

static void describe(int64_t *to, void *data, int32_t rank, const int64_t *shape,
                     const int64_t *strides) {
  void *const pointers[2] = {data, data};
  __builtin_memcpy(to, pointers, sizeof pointers);
  to[descriptor_offset] = 0;
  for (int32_t i = 0; i < rank; ++i) {
    to[descriptor_sizes + i] = shape[i];
    to[descriptor_sizes + rank + i] = strides[i];
  }
}

static void *data_of(const int64_t *descriptor) {
  void *pointers[2];
  __builtin_memcpy(pointers, descriptor, sizeof pointers);
  return pointers[1];
}

/* Whether two tensors of one spec's type have every element in the same place. */
static int is_same(const int64_t *a, const int64_t *b, int32_t rank) {
  for (int32_t i = 0; i < descriptor_sizes + 2 * rank; ++i)
    if (a[i] != b[i])
      return 0;
  return 1;
}

/* No result lies in another tensor's memory, but for a cache that grows in place. */
static int check_overlap(const range *ranges, void *const *descriptors) {
  const attnc_tensor *specs = attnc_the_signature.tensors;
  for (int32_t i = 0; i < attnc_the_signature.count; ++i)
    for (int32_t j = 0; specs[i].is_output && j < i; ++j)
      if (ranges[i].begin < ranges[j].end && ranges[j].begin < ranges[i].end &&
          !(specs[i].in_place == j && is_same(descriptors[i], descriptors[j], specs[i].rank)))
        return REFUSE(specs[i].name, {"expected memory apart from that of ", 0}, {specs[j].name, 0},
                      {", found an overlap", 0});
  return 0;
}

/* Kernels ask for an address even where there is nothing to read. */
static _Alignas(workspace_alignment) char nothing[workspace_alignment];

static void *address_of(const DLTensor *tensor) {
  return is_empty(tensor) ? nothing : (char *)tensor->data + tensor->byte_offset;
}

/* Bytes to hand in so that an aligned workspace fits at any address. */
static int64_t workspace_bytes(const attnc_variant *variant, void *const *descriptors) {
  int64_t bytes = variant->workspace(descriptors);
  if (bytes > INT64_MAX - workspace_alignment)
    return INT64_MAX;
  return bytes > 0 ? bytes + workspace_alignment - 1 : bytes;
}

static int report(const attnc_context *call, int32_t status) {
  if (status == 0)
    return 0;
  int64_t number = status;
  text message = attnc_start_message("");
  put(&message, call->message);
  if (!message.length) {
    put(&message, "expected a kernel to end with status 0, found ");
    put_number(&message, number);
  }
  if (status == attnc_refused)
    return attnc_invalid;
  int no_memory = status == halide_out_of_memory || status == halide_no_device_memory;
  return no_memory ? attnc_no_memory : attnc_failed;
}

/* Whether the kernels of the variant can reach the tensors. */
static int check_devices(const attnc_variant *variant, const DLTensor *placed,
                         void *const *descriptors) {
  const attnc_signature *spec = &attnc_the_signature;
  const DLTensor *first = find_device_tensor(placed);
  if (!(variant->features & attnc_gpu)) {
    int64_t type = first ? first->device.device_type : kDLCPU;
    if (first)
      return REFUSE(
          spec->tensors[first - placed].name,
          {"expected memory of the CPU, as there is no GPU, found DLPack device type ", &type});
    return 0;
  }
  int status = 0;
  for (int32_t i = 0; i < spec->count && !status; ++i)
    status =
        check_device(placed, i, first ? first->device.device_id : 0,
                     (const int64_t *)descriptors[i] + descriptor_sizes + spec->tensors[i].rank);
  return status;
}

/* Descriptors follow those of the tensors: that of the weights where they lie beside the
 * library, and last the workspace's. */
enum { more_descriptors = 2 };

static int32_t workspace_index(void) {
  return attnc_the_signature.count + (attnc_the_signature.weights != 0);
}

/* Gives each tensor and the workspace a place on the device. */
static int open_tensors(attnc_context *call, void *const *descriptors, const range *ranges) {
  const attnc_signature *spec = &attnc_the_signature;
  const int64_t *workspace = descriptors[workspace_index()];
  uintptr_t begin = (uintptr_t)data_of(workspace);
  int has_device_tensors = 0;
  for (int32_t i = 0; i < spec->count; ++i)
    has_device_tensors |= ranges[i].handle != 0;
  int32_t status = attnc_device_context(call, has_device_tensors);
  for (int32_t i = 0; i < spec->count && !status; ++i)
    if (ranges[i].handle)
      status = attnc_device_wrap(call, ranges[i].whole, ranges[i].end, ranges[i].handle);
    else
      status = attnc_device_add(call, ranges[i].begin, ranges[i].end, !spec->tensors[i].is_output);
  return status ? status
                : attnc_device_add(call, begin, begin + (uintptr_t)workspace[descriptor_sizes], 0);
}

/* Copies results to the host's memory where they are to be there. */
static int fetch_results(attnc_context *call, void *const *descriptors, const range *ranges) {
  const attnc_signature *spec = &attnc_the_signature;
  int32_t status = 0;
  for (int32_t i = 0; i < spec->count && !status; ++i) {
    const attnc_tensor *tensor = &spec->tensors[i];
    const int64_t *descriptor = descriptors[i], *sizes = descriptor + descriptor_sizes;
    if (tensor->is_output && !ranges[i].handle)
      status = attnc_device_fetch(call, data_of(descriptor), tensor->rank, sizes,
                                  sizes + tensor->rank, tensor->bits);
  }
  return status;
}

static int32_t run_on_device(const attnc_variant *variant, attnc_context *call, void **descriptors,
                             const range *ranges) {
  int32_t status = open_tensors(call, descriptors, ranges);
  if (!status)
    status = variant->host(call, descriptors);
  if (!status)
    status = fetch_results(call, descriptors, ranges);
  attnc_device_close(call);
  return status;
}

/* `memory` holds `bytes`. */
static int run_in(const attnc_variant *variant, char *memory, int64_t bytes, attnc_context *call,
                  void **descriptors, const range *ranges) {
  uintptr_t begin = ((uintptr_t)memory + workspace_alignment - 1) & -(uintptr_t)workspace_alignment;
  int64_t descriptor[vector_descriptor], stride = 1;
  describe(descriptor, (void *)begin, 1, &bytes, &stride);
  descriptors[workspace_index()] = descriptor;
  return report(call, variant->features & attnc_gpu
                          ? run_on_device(variant, call, descriptors, ranges)
                          : variant->host(call, descriptors));
}

static void start(attnc_context *call, const attnc_options *options) {
  static const attnc_options none;
  if (!options)
    options = &none;
  call->threads = options->threads;
  call->parallel = options->parallel;
  call->pool = options->pool;
  call->allocate = options->allocate;
  call->deallocate = options->deallocate;
  call->allocator = options->allocator;
  int has_context = options->size >= sizeof *options;
  call->gpu_context = has_context ? options->context : 0;
  call->gpu_stream = has_context ? options->stream : 0;
  call->device = 0;
  call->in_loop = call->claimed = 0;
  call->message[0] = 0;
}

static int run(const attnc_variant *variant, const attnc_options *options, int64_t bytes,
               void **descriptors, const range *ranges) {
  attnc_context call;
  start(&call, options);
  if (bytes == 0)
    return run_in(variant, nothing, bytes, &call, descriptors, ranges);
  if (options && options->workspace)
    return run_in(variant, options->workspace, bytes, &call, descriptors, ranges);
  char *memory = 0;
  if ((uint64_t)bytes > SIZE_MAX)
    return refuse_memory(bytes);
  if (!(memory = halide_malloc(&call, (size_t)bytes)))
    return refuse_memory(bytes);
  int status = run_in(variant, memory, bytes, &call, descriptors, ranges);
  halide_free(&call, memory);
  return status;
}

/* The weights stay mapped for as long as the host function runs. */
static int run_with_weights(const attnc_variant *variant, const attnc_options *options,
                            int64_t bytes, void **descriptors, const range *ranges) {
  const attnc_weights *weights = attnc_the_signature.weights;
  if (!weights)
    return run(variant, options, bytes, descriptors, ranges);
  int64_t descriptor[vector_descriptor], stride = 1;
  char *data;
  int status = attnc_weights_begin(&data);
  if (status)
    return status;
  int64_t size = weights->file_bytes - weights->data_offset;
  describe(descriptor, data, 1, &size, &stride);
  descriptors[attnc_the_signature.count] = descriptor;
  status = run(variant, options, bytes, descriptors, ranges);
  attnc_weights_end();
  return status;
}

int attnc_call(const attnc_options *options, const DLTensor *const *tensors) {
  const attnc_signature *spec = &attnc_the_signature;
  int status = check_options(options);
  if (!status)
    status = check_shapes(tensors);
  if (status)
    return status;

  range ranges[spec->count];
  DLTensor placed[spec->count];
  int64_t strides[spec->max_rank + 1];
  int64_t storage[spec->count][descriptor_sizes + 2 * spec->max_rank];
  void *descriptors[spec->count + more_descriptors];
  status = place_tensors(tensors, placed, ranges);
  if (status)
    return status;
  for (int32_t i = 0; i < spec->count; ++i) {
    status = check_memory(&spec->tensors[i], &placed[i], strides, &ranges[i]);
    if (status)
      return status;
    describe(storage[i], address_of(&placed[i]), spec->tensors[i].rank, placed[i].shape, strides);
    descriptors[i] = storage[i];
  }
  status = check_overlap(ranges, descriptors);
  if (status || outputs_are_empty(tensors))
    return status;
  const attnc_variant *variant = find_variant();
  if (!variant)
    return refuse_machine();
  if ((status = check_devices(variant, placed, descriptors)))
    return status;
  int64_t bytes = workspace_bytes(variant, descriptors);
  status = check_workspace(options, bytes, ranges);
  return status ? status : run_with_weights(variant, options, bytes, descriptors, ranges);
}

int64_t attnc_workspace(const DLTensor *const *tensors) {
  const attnc_signature *spec = &attnc_the_signature;
  const attnc_variant *variant = find_variant();
  int status = variant ? check_shapes(tensors) : refuse_machine();
  if (status)
    return status;
  int64_t storage[spec->count][descriptor_sizes + 2 * spec->max_rank];
  int64_t no_weights[vector_descriptor] = {0};
  void *descriptors[spec->count + more_descriptors];
  for (int32_t i = 0; i < spec->count; ++i) {
    /* Sizes follow from shapes alone; any strides do. */
    describe(storage[i], 0, spec->tensors[i].rank, tensors[i]->shape, tensors[i]->shape);
    descriptors[i] = storage[i];
  }
  descriptors[spec->count] = no_weights;
  return workspace_bytes(variant, descriptors);
}

void attnc_release(const attnc_options *options) {
  attnc_context call;
  start(&call, options);
  if (find_variant() && attnc_device_type() != kDLCPU)
    attnc_device_release(&call);
}
