/*===- attnc_cuda_maps.c - tensor maps of a kernel's buffers --------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A tensor map tells the copies of a GPU (TMA) where the boxes of a tensor are. It takes addresses
 * and strides that are multiples of 16 bytes.
 *
 *===------------------------------------------------------------------------===*/

#include "attnc_cuda_kernel.h"

enum { map_alignment = 16 };

/* Where there is one element, any stride does; a stride of 0 repeats elements, which is not known
 * to work. */
static int can_stride(const halide_buffer_t *buffer, int32_t i) {
  const halide_dimension_t *dim = &buffer->dim[i];
  return i == 0 ? dim->stride == 1 || dim->extent == 1
                : dim->extent == 1 ||
                      (dim->stride > 0 &&
                       (int64_t)dim->stride * buffer->type.bits / 8 % map_alignment == 0);
}

static int can_map(const halide_buffer_t *buffer) {
  int fits = buffer->device % map_alignment == 0;
  for (int32_t i = 0; i < buffer->dimensions; ++i)
    fits &= buffer->dim[i].extent > 0 && can_stride(buffer, i);
  return fits;
}

int attnc_cuda_can_map(const attnc_cuda_kernel *kernel, halide_buffer_t *const *buffers) {
  int fits = 1;
  for (int32_t i = 0; i < kernel->map_count; ++i)
    fits &= can_map(buffers[kernel->maps[i].buffer]);
  return fits;
}

/* cuTensorMapEncodeTiled, and its enumerations. */
typedef int encode_tiled(void *map, int type, unsigned rank, void *address, const uint64_t *sizes,
                         const uint64_t *stride_bytes, const uint32_t *box,
                         const uint32_t *element_strides, int interleave, int swizzle,
                         int promotion, int out_of_bounds);
enum {
  type_u8,
  type_u16,
  type_u32,
  no_interleave = 0,
  swizzle_128 = 3,
  promote_128 = 2,
  zeros = 0
};

/* Dimensions of a map are counted from the innermost, as Halide's are. */
static int encode_map(encode_tiled *encode, const attnc_cuda_map *map,
                      const halide_buffer_t *buffer, attnc_cuda_encoded_map *encoded) {
  uint64_t sizes[attnc_cuda_most_dims], strides[attnc_cuda_most_dims];
  uint32_t box[attnc_cuda_most_dims], ones[attnc_cuda_most_dims];
  int32_t rank = buffer->dimensions, bytes = buffer->type.bits / 8;
  for (int32_t i = 0; i < rank; ++i) {
    sizes[i] = (uint64_t)buffer->dim[i].extent;
    box[i] = (uint32_t)map->box[rank - 1 - i];
    ones[i] = 1;
    if (i > 0) /* that of the innermost one is not passed */
      strides[i - 1] = buffer->dim[i].extent == 1
                           ? map_alignment
                           : (uint64_t)buffer->dim[i].stride * (uint64_t)bytes;
  }
  int type = bytes == 1 ? type_u8 : bytes == 2 ? type_u16 : type_u32;
  return encode(encoded, type, (unsigned)rank, (void *)(uintptr_t)buffer->device, sizes, strides,
                box, ones, no_interleave, swizzle_128, promote_128, zeros);
}

int attnc_cuda_encode_maps(attnc_context *call, const attnc_cuda_kernel *kernel,
                           halide_buffer_t *const *buffers, attnc_cuda_encoded_map *maps) {
  if (!kernel->map_count)
    return 0;
  encode_tiled *encode = (encode_tiled *)halide_cuda_get_symbol(call, "cuTensorMapEncodeTiled");
  int64_t error = encode ? 0 : -1;
  for (int32_t i = 0; i < kernel->map_count && !error; ++i)
    error = encode_map(encode, &kernel->maps[i], buffers[kernel->maps[i].buffer], &maps[i]);
  if (error)
    attnc_error_with_numbers(
        call, "expected CUDA to describe a tensor for copies to shared memory, found its error {}",
        &error);
  return error ? halide_generic_error : 0;
}
