//===- FetchAhead.cpp - prefetches of input elements ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FetchAhead.h"

#include "KernelReader.h"

using namespace ::Halide;
using namespace ::Halide::Internal;

static constexpr char kMark[] = "fetch_ahead";

Expr mlir::halide::fetchAhead(const Expr &value, const Expr &element) {
  return Call::make(value.type(), kMark, {value, element}, Call::PureExtern);
}

static Expr getFirstLane(const Expr &index) {
  if (const Ramp *ramp = index.as<Ramp>())
    return getFirstLane(ramp->base);
  if (const Broadcast *broadcast = index.as<Broadcast>())
    return getFirstLane(broadcast->value);
  return index.type().is_scalar() ? index : Shuffle::make_extract_element(index, 0);
}

Expr mlir::halide::FetchAheadPass::visit(const Call *call) {
  if (call->name != kMark)
    return IRMutator::visit(call);
  Expr value = mutate(call->args[0]);
  std::vector<const Load *> loads = findLoads(call->args[1]);
  if (loads.empty())
    return value;
  const Load *load = loads.front();
  Expr prefetch = Call::make(
      load->type.element_of(), Call::prefetch,
      {Variable::make(Handle(), load->name), getFirstLane(load->index), 1, 1}, Call::Intrinsic);
  return Call::make(value.type(), Call::return_second, {prefetch, value}, Call::PureIntrinsic);
}
