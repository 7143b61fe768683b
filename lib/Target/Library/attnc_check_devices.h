/*===- attnc_check_devices.h - tensors in the memory of a GPU -------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*/

#ifndef ATTNC_CHECK_DEVICES_H
#define ATTNC_CHECK_DEVICES_H

#include "attnc_check_memory.h"
#include "attnc_descriptor.h"
#include "attnc_device.h"

enum { most_byte_offset = INT32_MAX };

/* `placed` are the tensors with a virtual address for device memory. */
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

/* All device tensors of a call are on one device, with non-negative strides. */
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

/* Checks that the kernels of the variant can reach the tensors. */
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

#endif
