/*===- attnc_check_shapes.h - dtype, rank and dims of tensors -------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The first check of a call: later ones rely on ranks and pointers.
 *
 *===------------------------------------------------------------------------===*/

#ifndef ATTNC_CHECK_SHAPES_H
#define ATTNC_CHECK_SHAPES_H

#include "attnc_device.h"
#include "attnc_text.h"

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
  case kDLFloat8_e4m3fn:
    return "f8e4m3fn";
  default:
    return "dtype code ";
  }
}

static void put_dtype(text *message, uint8_t code, uint8_t bits, uint16_t lanes) {
  int is_named = code == kDLBool || code == kDLFloat8_e4m3fn;
  put(message, code_name(code));
  if (!is_named && (code > kDLBool || code == kDLOpaqueHandle)) {
    put_number(message, code);
    put(message, " of bits ");
  }
  if (!is_named || bits != 8)
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
  int is_code = dtype.code == spec->code ||
                (spec->code == kDLFloat8_e4m3fn && dtype.code == kDLUInt); /* numpy has no other */
  if (!is_code || dtype.bits != spec->bits || dtype.lanes != 1)
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

/* The tensors' ranks are already checked. */
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

#endif
