//===- ThreadOrder.cpp - assign threads to warp lanes ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadOrder.h"

#include <map>

using namespace mlir::halide;
using namespace ::Halide;
using namespace ::Halide::Internal;

static bool isOverThreads(const For *loop) { return loop && loop->for_type == ForType::GPUThread; }

Stmt ThreadOrder::visit(const For *outer) {
  const For *inner = outer->body.as<For>();
  if (!isOverThreads(outer) || !isOverThreads(inner) || isOverThreads(inner->body.as<For>()))
    return IRMutator::visit(outer);
  auto width = as_const_int(inner->extent), height = as_const_int(outer->extent);
  if (!width || !height || *width % 4 != 0 || *height % 2 != 0)
    return outer;

  // The inner loop's number has the lowest bits of the lane's; swap its second bit with the lowest
  // bit of the outer loop's number.
  Expr low = Variable::make(Int(32), inner->name), high = Variable::make(Int(32), outer->name);
  Expr swap = high % 2 - low / 2 % 2, x = low + swap * 2, y = high - swap;
  std::string xName = unique_name("thread_x"), yName = unique_name("thread_y");
  Stmt body = substitute(std::map<std::string, Expr>{{inner->name, Variable::make(Int(32), xName)},
                                                     {outer->name, Variable::make(Int(32), yName)}},
                         inner->body);
  body = LetStmt::make(xName, x, LetStmt::make(yName, y, body));
  body = For::make(inner->name, inner->min, inner->extent, inner->for_type, inner->partition_policy,
                   inner->device_api, body);
  return For::make(outer->name, outer->min, outer->extent, outer->for_type, outer->partition_policy,
                   outer->device_api, body);
}
