//===- QuantizeOps.cpp - keys and values in 8 bits ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/Attn.h"

#include "Formulas.h"
#include "Shapes.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

std::string attn::formatBlocks(Value rows, Value scales) {
  int64_t blocks = sizeOf(scales, 3), dims = sizeOf(rows, 3);
  if (blocks == 1 || ShapedType::isDynamic(dims))
    return ", one for each row";
  return ", one for every " + std::to_string(dims / blocks) + " columns";
}

/// Checks the sizes of a result of the op.
static LogicalResult verifySizesOf(AttnOpInterface op, Value result, StringRef what) {
  return verifyResult(op, result, what, {"batch", "heads", "len", "width"});
}

//===----------------------------------------------------------------------===//
// QuantizeOp
//===----------------------------------------------------------------------===//

LogicalResult QuantizeOp::verify() {
  // quantize_c3
  if (failed(verifyScaleBlocks(*this, getInput(), getScales())))
    return failure();
  // quantize_c2
  return failure(failed(verifySizesOf(*this, getResult(), "result")) ||
                 failed(verifySizesOf(*this, getScales(), "scales")));
}

SizeConstraints QuantizeOp::getSizeConstraints() { return {}; }

ResultSizes QuantizeOp::getResultSizes(unsigned result) {
  ResultSizes sizes = sizesLike(getInput());
  if (result == 1)
    sizes.back() = ResultSize(sizeOf(getScales(), 3));
  return sizes;
}

bool QuantizeOp::isDecomposed() { return false; }

void QuantizeOp::writeFormula(FormulaWriter &w) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(getResult()));
  w.add(getResult(), "quantized",
        "round(" + w.nameOf(getInput()) + " / scales) in 8 bits" + (isFloat ? " (e4m3)" : ""));
  w.add(getScales(), "scales",
        "max(abs(" + w.nameOf(getInput()) + (isFloat ? ")) / 448" : ")) / 127") +
            formatBlocks(getInput(), getScales()));
}

//===----------------------------------------------------------------------===//
// DequantizeOp
//===----------------------------------------------------------------------===//

LogicalResult DequantizeOp::verify() {
  Type stored = getInput().getType().getElementType(), element = getType().getElementType();
  // dequantize_c1
  if (!isNarrower(stored, element))
    return emitOpError("expected result elements of more bits than those of the input, ")
           << stored << ", found " << element;
  // dequantize_c3
  if (getScales() && failed(verifyScaleBlocks(*this, getInput(), getScales())))
    return failure();
  // dequantize_c2
  return failure(failed(verifySizes(*this)) || failed(verifySizesOf(*this, getResult(), "result")));
}

SizeConstraints DequantizeOp::getSizeConstraints() {
  SizeConstraints constraints;
  std::pair<StringRef, int64_t> dims[] = {{"batch", 0}, {"heads", 1}, {"len", 2}};
  for (auto [name, dim] : dims)
    if (getScales())
      constraints.push_back(
          {name.str(), {{"input", getInput(), dim}, {"scales", getScales(), dim}}});
  return constraints;
}

bool DequantizeOp::isDecomposed() { return false; }

void DequantizeOp::writeFormula(FormulaWriter &w) {
  std::string blocks = getScales() ? formatBlocks(getInput(), getScales()) : "";
  w.add(getResult(), "dequantized",
        w.nameOf(getInput()) + formatOptional(w, " * ", getScales()) + blocks);
}
