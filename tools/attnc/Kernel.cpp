//===- Kernel.cpp - a compiled library, loaded ----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "Report.h"

#include "dlpack.h"

#include <dlfcn.h>

using namespace mlir;
using namespace attnc;

static DLDataType getDLDataType(Type type) {
  DLDataType dtype;
  dtype.bits = getElementSize(type) * 8;
  dtype.lanes = 1;
  dtype.code = type.isInteger(1)          ? kDLBool
               : type.isBF16()            ? kDLBfloat
               : isa<FloatType>(type)     ? kDLFloat
               : type.isUnsignedInteger() ? kDLUInt
                                          : kDLInt;
  return dtype;
}

/// Borrows the tensor's memory and shape; strides are left out, as C order allows.
static DLTensor getDLTensor(const Tensor &tensor) {
  DLTensor result = {};
  result.data = tensor.data();
  result.device = {kDLCPU, 0};
  result.ndim = tensor.getShape().size();
  result.dtype = getDLDataType(tensor.getElementType());
  result.shape = const_cast<int64_t *>(tensor.getShape().data());
  return result;
}

static LogicalResult reportLibrary(StringRef path) {
  return reportInternal("cannot load " + path + ": " + ::dlerror());
}

LogicalResult attnc::callKernel(StringRef path, StringRef name, ArrayRef<Tensor> inputs,
                                ArrayRef<Tensor> outputs) {
  void *library = ::dlopen(path.str().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return reportLibrary(path);
  auto call = reinterpret_cast<int (*)(const void *, const DLTensor *const *)>(
      ::dlsym(library, (name + "_call").str().c_str()));
  auto lastError =
      reinterpret_cast<const char *(*)()>(::dlsym(library, (name + "_last_error").str().c_str()));
  if (!call || !lastError)
    return reportLibrary(path);

  SmallVector<DLTensor> tensors;
  for (const Tensor &tensor : llvm::concat<const Tensor>(inputs, outputs))
    tensors.push_back(getDLTensor(tensor));
  auto pointers = llvm::map_to_vector(tensors, [](const DLTensor &t) { return &t; });
  // The library stays loaded: its threads may still be asleep in it.
  if (call(/*options=*/nullptr, pointers.data()) != 0)
    return reportError(name, lastError());
  return success();
}
