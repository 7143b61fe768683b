//===- ReservedShared.cpp - shared memory that CUDA keeps -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReservedShared.h"

#include "attnc/Machine/GpuInfo.h"

using namespace mlir;
using namespace mlir::halide;
using namespace ::Halide;
using namespace ::Halide::Internal;

static int countElements(const Type &type) {
  return int(attn::GpuInfo::kReservedSharedBytes / type.element_of().bytes());
}

static Expr shift(const Expr &index, const Type &type) {
  return simplify(index + make_const(index.type(), countElements(type)));
}

static ModulusRemainder shift(const ModulusRemainder &alignment, const Type &type) {
  return alignment + ModulusRemainder(0, countElements(type));
}

Stmt ReservedShared::visit(const For *loop) {
  bool wasCuda = std::exchange(isCuda, isCuda || loop->device_api == DeviceAPI::CUDA);
  Stmt result = IRMutator::visit(loop);
  isCuda = wasCuda;
  return result;
}

Stmt ReservedShared::visit(const Allocate *allocate) {
  if (!isCuda || allocate->memory_type != MemoryType::GPUShared)
    return IRMutator::visit(allocate);
  shared.insert(allocate->name);
  int size = allocate->constant_allocation_size() + countElements(allocate->type);
  return Allocate::make(allocate->name, allocate->type, allocate->memory_type, {size},
                        allocate->condition, mutate(allocate->body));
}

Stmt ReservedShared::visit(const Store *store) {
  Stmt result = IRMutator::visit(store);
  if (!shared.count(store->name))
    return result;
  store = result.as<Store>();
  const Type &type = store->value.type();
  return Store::make(store->name, store->value, shift(store->index, type), store->param,
                     store->predicate, shift(store->alignment, type));
}

Expr ReservedShared::visit(const Load *load) {
  Expr result = IRMutator::visit(load);
  if (!shared.count(load->name))
    return result;
  load = result.as<Load>();
  return Load::make(load->type, load->name, shift(load->index, load->type), load->image,
                    load->param, load->predicate, shift(load->alignment, load->type));
}
