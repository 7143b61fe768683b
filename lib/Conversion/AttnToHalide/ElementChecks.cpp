//===- ElementChecks.cpp - checks of a tensor's elements ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementChecks.h"

#include "Rows.h"

#include "attnc/Dialect/Attn/Attributes.h"
#include "attnc/Dialect/Attn/Elements.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult attn::lowerFirstWrong(PipelineBuilder &p, Func tensor, ArrayRef<Reduction> reductions,
                                    function_ref<CheckedElement(ArrayRef<Scalar>)> check) {
  Type i32 = p.b().getI32Type();
  Func left = p.func("left", {"x"}, i32, [&](ArrayRef<Scalar>) { return p.i32(0); });
  p.update(left, {"x"}, reductions, [&](ArrayRef<Scalar> v, ArrayRef<Scalar> r) -> Update {
    Scalar own = p.i32(1), size = own;
    CheckedElement element = check(r);
    for (auto [dim, coord] : llvm::enumerate(element.coords)) {
      Scalar extent = p.extent(tensor, dim);
      own = own + (extent - 1 - coord) * size;
      size = size * extent;
    }
    return max(left(v), select(element.isWrong, own, p.i32(0)));
  });
  p.output(left, RankedTensorType::get({1}, i32));
  return success();
}

LogicalResult
attn::lowerFirstWrong(PipelineBuilder &p, Func tensor,
                      function_ref<Scalar(ArrayRef<Scalar> coords, Scalar element)> isWrong) {
  return lowerFirstWrong(p, tensor, reduceAll(p, tensor), [&](ArrayRef<Scalar> at) {
    return CheckedElement{SmallVector<Scalar>(at), isWrong(at, tensor(at))};
  });
}

/// The name of the tensor, if it is an argument with one; else `otherwise`, and the name of the
/// argument that it is moved or computed from, element by element.
static std::string describeArgument(Value tensor, StringRef otherwise) {
  Value source = tensor;
  for (Operation *op = source.getDefiningOp();
       op && op->getNumOperands() > 0 && (isMove(op) || isElementwiseOnTensors(op));
       op = source.getDefiningOp())
    source = op->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(source);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  auto name = function ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr)
                       : StringAttr();
  if (!name)
    return otherwise.str();
  return source == tensor ? name.str() : (otherwise + " from " + name.getValue()).str();
}

/// "[{}, {}]", filled in when a call fails.
static std::string describeIndices(int64_t rank) {
  SmallVector<StringRef> places(rank, "{}");
  std::string text = llvm::join(places, ", ");
  return rank == 1 ? text : "[" + text + "]";
}

LogicalResult attn::requireElements(CheckedTensor checked, StringRef kind, const Twine &expected,
                                    FunctionConverter::Lower lower, FunctionConverter &converter) {
  auto [op, tensor, name] = checked;
  return converter.requireNoneWrong(
      op->getLoc(), kind, tensor,
      "expected element " + describeIndices(tensorType(tensor).getRank()) + " of " +
          describeArgument(tensor, name) + " of " + op->getName().getStringRef() + " " + expected,
      lower);
}
