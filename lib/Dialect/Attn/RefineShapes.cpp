//===- RefineShapes.cpp - types that say which sizes are known ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A spec may leave a size open that its op's operands tell. Passes match types, and rebuild ops
// with inferred ones: with exact types everywhere, both see the same.
//
//===----------------------------------------------------------------------===//

#include "Shapes.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNREFINESHAPES
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// `type` with the open sizes that are known; 0 stays open, as a slice of a known 0 is invalid.
static RankedTensorType refine(RankedTensorType type, ArrayRef<int64_t> known) {
  SmallVector<int64_t> shape(type.getShape());
  for (auto [size, found] : llvm::zip(shape, known))
    if (ShapedType::isDynamic(size) && found > 0)
      size = found;
  return type.clone(shape);
}

/// The sizes of an expanded tensor: of each group one may follow from the others.
static SmallVector<int64_t> inferShape(tensor::ExpandShapeOp op) {
  SmallVector<int64_t> shape(op.getResultType().getShape());
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    int64_t rest = op.getSrcType().getDimSize(dim);
    int64_t *open = nullptr;
    for (int64_t part : group) {
      bool isOpen = ShapedType::isDynamic(shape[part]);
      if (ShapedType::isDynamic(rest) || (isOpen && open) ||
          (!isOpen && (shape[part] == 0 || rest % shape[part] != 0)))
        rest = ShapedType::kDynamic;
      else if (isOpen)
        open = &shape[part];
      else
        rest /= shape[part];
    }
    if (open)
      *open = rest;
  }
  return shape;
}

/// The sizes of a result as its op's operands tell them; empty if they don't.
static SmallVector<int64_t> inferShape(OpResult result) {
  Operation *op = result.getOwner();
  if (auto attn = dyn_cast<AttnOpInterface>(op))
    return getStaticSizes(attn.getResultSizes(result.getResultNumber()));
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return inferShape(expand);
  RankedTensorType type;
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    type = tensor::CollapseShapeOp::inferCollapsedType(collapse.getSrcType(),
                                                       collapse.getReassociationMaps());
  else if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    type = tensor::ConcatOp::inferResultType(concat.getDim(), concat.getInputs().getTypes());
  else if (isa<tensor::CastOp>(op) || OpTrait::hasElementwiseMappableTraits(op))
    for (Value operand : op->getOperands())
      if (auto ranked = dyn_cast<RankedTensorType>(operand.getType()))
        type = ranked;
  return type ? SmallVector<int64_t>(type.getShape()) : SmallVector<int64_t>();
}

/// Whether an op may have operands of more exact types.
static bool takesExactTypes(Operation *op) {
  auto hasTensors = [](Region &region) {
    return !region.empty() &&
           llvm::any_of(region.getArgumentTypes(), llvm::IsaPred<RankedTensorType>);
  };
  if (isa<AttnOpInterface>(op))
    return llvm::none_of(op->getRegions(), hasTensors);
  return isa<tensor::DimOp, tensor::ExtractOp, tensor::ExtractSliceOp, tensor::CastOp,
             tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::ConcatOp>(op) ||
         (OpTrait::hasElementwiseMappableTraits(op) && op->getNumRegions() == 0);
}

namespace {
class ShapeRefiner {
public:
  explicit ShapeRefiner(func::FuncOp function)
      : function(function), builder(function.getContext()) {}

  void run();

private:
  void visit(Operation *op);
  bool refineResults(Operation *op);
  void restoreOperands(Operation *op);
  bool isValid(Operation *op);

  func::FuncOp function;
  OpBuilder builder;
  /// The types that the spec gives refined values.
  llvm::DenseMap<Value, Type> given;
};
} // namespace

/// Types that contradict each other are found here; errors are those of later checks. MLIR prints
/// one type for all operands of an elementwise op.
bool ShapeRefiner::isValid(Operation *op) {
  auto shapeOf = [](Type type) { return cast<RankedTensorType>(type).getShape(); };
  if (OpTrait::hasElementwiseMappableTraits(op)) {
    SmallVector<Type> types(op->getOperandTypes());
    llvm::append_range(types, op->getResultTypes());
    llvm::erase_if(types, [](Type type) { return !isa<RankedTensorType>(type); });
    if (!llvm::all_equal(llvm::map_range(types, shapeOf)))
      return false;
  }
  ScopedDiagnosticHandler quiet(op->getContext(), [](Diagnostic &) { return success(); });
  return succeeded(verify(op, /*verifyRecursively=*/false));
}

void ShapeRefiner::restoreOperands(Operation *op) {
  builder.setInsertionPoint(op);
  for (OpOperand &operand : op->getOpOperands())
    if (auto type = given.find(operand.get()); type != given.end())
      operand.set(tensor::CastOp::create(builder, op->getLoc(), type->second, operand.get()));
}

/// Whether the op's results have the sizes that its operands tell, which may be none.
bool ShapeRefiner::refineResults(Operation *op) {
  for (OpResult result : op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    SmallVector<int64_t> shape = type ? inferShape(result) : SmallVector<int64_t>();
    if (!type || int64_t(shape.size()) != type.getRank())
      continue;
    RankedTensorType refined = refine(type, shape);
    if (refined == type)
      continue;
    given[result] = type;
    result.setType(refined);
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
      SmallVector<OpFoldResult> sizes = expand.getMixedOutputShape();
      for (auto [size, known] : llvm::zip(sizes, refined.getShape()))
        if (!ShapedType::isDynamic(known))
          size = builder.getIndexAttr(known);
      auto [numbers, values] = decomposeMixedValues(sizes);
      expand.setStaticOutputShape(numbers);
      expand.getOutputShapeMutable().assign(values);
    }
  }
  return isValid(op);
}

void ShapeRefiner::visit(Operation *op) {
  if (!takesExactTypes(op))
    return restoreOperands(op);
  Operation *before = op->clone();
  if (!refineResults(op)) {
    for (auto [result, old] : llvm::zip(op->getResults(), before->getResults())) {
      result.setType(old.getType());
      given.erase(result);
    }
    op->setAttrs(before->getAttrDictionary());
    op->setOperands(before->getOperands());
    restoreOperands(op);
  }
  before->destroy();
}

void ShapeRefiner::run() {
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
    visit(&op);
  // Casts that say no less any more are in the way of passes that match ops.
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
    if (auto cast = dyn_cast<tensor::CastOp>(op);
        cast && cast.getSource().getType() == cast.getType()) {
      cast.replaceAllUsesWith(cast.getSource());
      cast.erase();
    }
}

/// MLIR's verifier compares only the operands of `output_shape` with the result's type.
static WalkResult checkOutputShape(tensor::ExpandShapeOp expand) {
  ArrayRef<int64_t> given = expand.getStaticOutputShape();
  if (given == expand.getResultType().getShape())
    return success();
  return expand.emitError("expected an output_shape of ") << expand.getResultType();
}

namespace {
struct AttnRefineShapesPass : attn::impl::AttnRefineShapesBase<AttnRefineShapesPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.walk(checkOutputShape).wasInterrupted())
      return signalPassFailure();
    if (!function.isDeclaration())
      ShapeRefiner(function).run();
  }
};
} // namespace
