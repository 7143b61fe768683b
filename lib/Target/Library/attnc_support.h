/*===- attnc_support.h - interface of the support code ------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The names that the support code and the compiler agree on. The compiler builds
 * the signature as constants with these layouts and renames the public functions to
 * NAME, NAME_call and so on; everything else becomes local to the library.
 *
 *===------------------------------------------------------------------------===*/

#ifndef ATTNC_SUPPORT_H
#define ATTNC_SUPPORT_H

#include "attnc_exchange.h"
#include "dlpack.h"

#include <stddef.h>
#include <stdint.h>

/* Statuses of every call other than 0. */
enum {
  attnc_invalid = -1,    /* a tensor or an option contradicts the spec */
  attnc_no_memory = -2,  /* no memory for the workspace or for a kernel */
  attnc_failed = -3,     /* a kernel reported an error */
  attnc_no_device = -4,  /* no GPU, or no GPU driver */
  attnc_no_weights = -5, /* the weights file is not loaded, or can't be */
  attnc_no_message = -6  /* a message of another rank did not arrive */
};

/* Statuses of the host function and the device, besides Halide's errors, which are negative: the
 * call is invalid, and nothing was written; or a message failed. */
enum { attnc_refused = 1, attnc_message_failed = 2 };

/* One dimension of a tensor. */
typedef struct attnc_dim {
  int64_t extent;                /* -1 if dynamic */
  const char *symbol;            /* its name in the spec, or NULL */
  int32_t like_tensor, like_dim; /* an earlier dimension it equals; -1 for none */
} attnc_dim;

/* One tensor of the spec. */
typedef struct attnc_tensor {
  const char *name;
  const attnc_dim *dims;
  int32_t rank;
  uint8_t code, bits; /* DLDataType */
  uint8_t is_output;
  int32_t in_place; /* the input whose memory an output may reuse, -1 for none */
} attnc_tensor;

/* CPU features that code may need. Some are groups of features that CPUs have together. */
enum {
  attnc_sse41 = 1 << 0,
  attnc_sse42 = 1 << 1,
  attnc_avx = 1 << 2,
  attnc_f16c = 1 << 3,
  attnc_fma = 1 << 4,
  attnc_avx2 = 1 << 5,
  attnc_bits = 1 << 6, /* bmi, bmi2, lzcnt, movbe */
  attnc_avxvnni = 1 << 7,
  attnc_avx512 = 1 << 8,       /* f, cd */
  attnc_avx512_er = 1 << 9,    /* er, pf */
  attnc_avx512_vl = 1 << 10,   /* vl, bw, dq */
  attnc_avx512_ifma = 1 << 11, /* ifma, vbmi */
  attnc_avx512_bf16 = 1 << 12, /* bf16, vbmi2, vnni, bitalg, vpopcntdq */
  attnc_avx512_intersect = 1 << 13,
  attnc_avx512_fp16 = 1 << 14,
  attnc_amx = 1 << 15, /* tile, bf16, int8 */
  attnc_fma4 = 1 << 16,
  attnc_apx = 1 << 17,
  attnc_gpu = 1 << 18 /* not the CPU's: a device, and its driver */
};

/* The function as compiled for one target. A descriptor is MLIR's: allocated, aligned, offset,
 * sizes[rank], strides[rank]. The tensors' descriptors are followed by the weights file's, if there
 * is one, and for `host` by the workspace's. */
typedef struct attnc_variant {
  const char *target;
  uint64_t features; /* needed to run */
  int32_t (*host)(void *user_context, void *const *descriptors);
  int64_t (*workspace)(void *const *descriptors);
  /* CUDA's compute capability as 10 major + minor, or 0; whether no later one runs it. */
  int32_t capability, is_exact;
} attnc_variant;

/* The file with a library's large constants, written by Weights.cpp: safetensors whose JSON begins
 * with this and the hash of the data. */
#define attnc_weights_start "{\"__metadata__\":{\"attnc_weights\":\"1\",\"sha256\":\""
enum { attnc_hash_digits = 64 };

typedef struct attnc_weights {
  const char *library; /* NAME */
  const char *sha256;
  int64_t data_offset, file_bytes;
} attnc_weights;

/* The spec: inputs first, then outputs; the variants, best first. */
typedef struct attnc_signature {
  const attnc_tensor *tensors;
  const attnc_variant *variants;
  const attnc_weights *weights; /* NULL if all constants are inside */
  int32_t count, variant_count;
  int32_t max_rank;
} attnc_signature;

/* Options of one call, as the emitted header documents them. */
typedef struct attnc_options {
  size_t size;
  void *workspace;
  size_t workspace_bytes;
  int threads;
  void (*parallel)(void *pool, void (*task)(void *state, int index), void *state, int count);
  void *pool;
  void *(*allocate)(void *allocator, size_t bytes);
  void (*deallocate)(void *allocator, void *memory);
  void *allocator;
  /* Libraries for CPUs end here. */
  void *context;
  void *stream;
  /* Those for a GPU end here. */
  const attnc_exchange *exchange;
} attnc_options;

/* The strictest OpenCL driver's alignment of a buffer within another. */
enum { attnc_opencl_alignment = 512 };

enum { attnc_message_bytes = 512 };

/* The most messages under way. */
enum { attnc_most_messages = 32 };

/* The most pieces of freed memory that a call keeps. */
enum { attnc_most_kept = 64 };

/* One call, passed to kernels as Halide's user context and used by any of their threads: the
 * options that they need, and the first error. */
typedef struct attnc_context {
  int threads;
  void (*parallel)(void *pool, void (*task)(void *state, int index), void *state, int count);
  void *pool;
  void *(*allocate)(void *allocator, size_t bytes);
  void (*deallocate)(void *allocator, void *memory);
  void *allocator;
  void *gpu_context, *gpu_stream; /* NULL: the library's own */
  struct device_range *device;    /* attnc_device.c's */
  const attnc_exchange *exchange; /* NULL: one rank */
  int messages[attnc_most_messages], message_count, exchange_status;
  struct attnc_temporary *temporaries; /* of attnc_allocate */
  void *kept[attnc_most_kept];         /* freed by halide_free, for the next halide_malloc */
  int in_loop, claimed;
  char message[attnc_message_bytes];
} attnc_context;

/* attnc_weights.c, or attnc_no_weights.c if all constants are inside. Returns the mapped data,
 * which stays until the call ends: 0, or attnc_no_weights with an error message. */
int attnc_weights_begin(char **data);
void attnc_weights_end(void);

/* attnc_runtime.c: the message of an error; the first one is kept. */
void halide_error(void *user_context, const char *message);
/* The same; each {} of the message is the next number. */
void attnc_error_with_numbers(void *user_context, const char *message, const int64_t *numbers);
/* Memory of the caller's allocator, aligned for kernels. What a call frees it keeps for its next
 * tasks, until it ends. */
void *halide_malloc(void *user_context, size_t bytes);
void halide_free(void *user_context, void *memory);
void attnc_free_kept(attnc_context *call);

/* attnc_support.c: zeros for a temporary, until the call ends; 0, or a status. */
int32_t attnc_allocate(void *user_context, const int64_t *sizes, int32_t count, int64_t bytes,
                       void **memory);

/* attnc_support.c: puts the names of tensors into a kernel's message. `parameters` are the kernel's
 * names, an empty one last; `arguments` which tensor of the signature each is. Behind those come
 * weights and workspace; -1 is a constant. */
void attnc_name_tensors(void *user_context, const char *parameters, const int32_t *arguments);

/* Built by the compiler. */
extern const attnc_signature attnc_the_signature;

/* attnc_cpu_ARCH.c, or none if no features are tested. */
uint64_t attnc_cpu_features(void);

/* Public. */
int attnc_call(const attnc_options *options, const DLTensor *const *tensors);
int64_t attnc_workspace(const DLTensor *const *tensors);
const char *attnc_last_error(void);
const char *attnc_target(void);
void attnc_release(const attnc_options *options);
int attnc_load(const char *path);
int attnc_load_unchecked(const char *path);
int attnc_unload(void);

#endif
