//===- KernelOpInterface.cpp - ops that compile to a kernel ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Interfaces/KernelOpInterface.h"

using namespace mlir;
using namespace mlir::attn;

#include "attnc/Interfaces/KernelOpInterface.cpp.inc"

Type attn::getKernelType(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  return integer ? IntegerType::get(element.getContext(), integer.getWidth()) : element;
}

LogicalResult KernelOpInterface::compile(StringRef target, const ArtefactPaths &files) {
  if (auto kernel = dyn_cast<KernelTargetOpInterface>(getOperation()))
    return kernel.compileKernel(target, files);
  return emitOpError("expected a kernel that this build of attnc compiles");
}
