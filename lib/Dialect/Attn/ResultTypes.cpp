//===- ResultTypes.cpp - result types that a spec need not write ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands have not been verified yet: a type follows from operands of the right ranks only, and
// the verifier says what else is wrong with them.
//
//===----------------------------------------------------------------------===//

#include "ResultTypes.h"

#include "Shapes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

/// A tensor of `rank`, or of any rank that is not 0; null otherwise.
static RankedTensorType getTensor(Type type, std::optional<int64_t> rank = std::nullopt) {
  auto tensor = dyn_cast_or_null<RankedTensorType>(type);
  bool fits = tensor && (rank ? tensor.getRank() == *rank : tensor.getRank() > 0);
  return fits ? tensor : RankedTensorType();
}

static RankedTensorType getLike(RankedTensorType source, ArrayRef<int64_t> sizes) {
  return RankedTensorType::get(sizes, source.getElementType());
}

static int64_t knownSize(int64_t a, int64_t b) { return ShapedType::isDynamic(a) ? b : a; }

static ParseResult parseOrInfer(OpAsmParser &parser, Type &result,
                                llvm::function_ref<Type()> infer) {
  if (succeeded(parser.parseOptionalArrow()))
    return parser.parseType(result);
  if ((result = infer()))
    return success();
  return parser.emitError(parser.getNameLoc(),
                          "expected '->' and a result type, for none follows from these operands");
}

void attn::printResultType(OpAsmPrinter &printer, Type type) { printer << "-> " << type; }

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

ParseResult attn::parseScoreType(OpAsmParser &parser, Type &score, Type queryType, Type keyType) {
  return parseOrInfer(parser, score, [&]() -> Type {
    auto query = getTensor(queryType, 4), key = getTensor(keyType, 4);
    if (!query || !key)
      return {};
    return getLike(query, {knownSize(query.getDimSize(0), key.getDimSize(0)), query.getDimSize(1),
                           query.getDimSize(2), key.getDimSize(2)});
  });
}

ParseResult attn::parseContextType(OpAsmParser &parser, Type &context, Type probType,
                                   Type valueType) {
  return parseOrInfer(parser, context, [&]() -> Type {
    auto prob = getTensor(probType, 4), value = getTensor(valueType, 4);
    if (!prob || !value)
      return {};
    return getLike(prob, {knownSize(prob.getDimSize(0), value.getDimSize(0)), prob.getDimSize(1),
                          prob.getDimSize(2), value.getDimSize(3)});
  });
}

ParseResult attn::parseLseType(OpAsmParser &parser, Type &lse, Type scoreType) {
  return parseOrInfer(parser, lse, [&]() -> Type {
    auto score = getTensor(scoreType);
    return score ? getLike(score, score.getShape().drop_back()) : Type();
  });
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

ParseResult attn::parseLinearType(OpAsmParser &parser, Type &result, Type inputType,
                                  Type weightType) {
  return parseOrInfer(parser, result, [&]() -> Type {
    auto input = getTensor(inputType), weight = getTensor(weightType, 2);
    if (!input || !weight)
      return {};
    SmallVector<int64_t> sizes(input.getShape());
    sizes.back() = weight.getDimSize(0);
    return getLike(input, sizes);
  });
}

ParseResult attn::parseHeadsType(OpAsmParser &parser, Type &heads, Type inputType,
                                 IntegerAttr numHeads, LayoutAttr layout) {
  return parseOrInfer(parser, heads, [&]() -> Type {
    auto input = getTensor(inputType, 3);
    int64_t count = numHeads.getInt();
    if (!input || count <= 0)
      return {};
    int64_t batch = input.getDimSize(0), len = input.getDimSize(1), width = input.getDimSize(2);
    if (layout && layout.getValue() == Layout::time_first)
      std::swap(batch, len);
    int64_t headDim = ShapedType::isDynamic(width) ? width : width / count;
    return getLike(input, {batch, count, len, headDim});
  });
}

ParseResult attn::parseMergedType(OpAsmParser &parser, Type &merged, Type headsType,
                                  LayoutAttr layout) {
  return parseOrInfer(parser, merged, [&]() -> Type {
    auto heads = getTensor(headsType, 4);
    if (!heads)
      return {};
    int64_t batch = heads.getDimSize(0), len = heads.getDimSize(2), width = ShapedType::kDynamic;
    if (layout && layout.getValue() == Layout::time_first)
      std::swap(batch, len);
    bool fits = bothStatic(heads.getDimSize(1), heads.getDimSize(3)) &&
                !llvm::MulOverflow(heads.getDimSize(1), heads.getDimSize(3), width);
    return getLike(heads, {batch, len, fits ? width : ShapedType::kDynamic});
  });
}

ParseResult attn::parseRowsType(OpAsmParser &parser, Type &rows, Type tableType, Type idsType) {
  return parseOrInfer(parser, rows, [&]() -> Type {
    auto table = getTensor(tableType, 2);
    auto ids = dyn_cast_or_null<RankedTensorType>(idsType);
    if (!table || !ids)
      return {};
    SmallVector<int64_t> sizes(ids.getShape());
    sizes.push_back(table.getDimSize(1));
    return getLike(table, sizes);
  });
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

ParseResult attn::parseProductType(OpAsmParser &parser, Type &product, Type leftType,
                                   Type rightType) {
  return parseOrInfer(parser, product, [&]() -> Type {
    auto left = getTensor(leftType), right = getTensor(rightType);
    if (!left || !right || left.getRank() < 2 || right.getRank() < 2)
      return {};
    SmallVector<int64_t> sizes(left.getShape().drop_back(2));
    if (broadcastInto(sizes, right.getShape().drop_back(2)))
      return {};
    sizes.append({left.getDimSize(left.getRank() - 2), right.getShape().back()});
    return getLike(left, sizes);
  });
}

ParseResult attn::parseMapType(OpAsmParser &parser, Type &result, ArrayRef<Type> inputs,
                               Region &body) {
  return parseOrInfer(parser, result, [&]() -> Type {
    SmallVector<int64_t> sizes;
    for (Type input : inputs) {
      auto tensor = dyn_cast_or_null<RankedTensorType>(input);
      if (!tensor || broadcastInto(sizes, tensor.getShape()))
        return {};
    }
    auto yield =
        body.empty() || body.front().empty() ? YieldOp() : dyn_cast<YieldOp>(body.front().back());
    if (inputs.empty() || !yield)
      return {};
    Type element = yield.getValue().getType();
    return RankedTensorType::isValidElementType(element) ? RankedTensorType::get(sizes, element)
                                                         : Type();
  });
}

ParseResult attn::parseReducedAxes(OpAsmParser &parser, DenseI64ArrayAttr &axes,
                                   UnitAttr &keepDims) {
  axes = dyn_cast_or_null<DenseI64ArrayAttr>(DenseI64ArrayAttr::parse(parser, Type()));
  if (axes && succeeded(parser.parseOptionalKeyword("keep_dims")))
    keepDims = parser.getBuilder().getUnitAttr();
  return success(axes != nullptr);
}

void attn::printReducedAxes(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr axes,
                            UnitAttr keepDims) {
  axes.print(printer);
  if (keepDims)
    printer << " keep_dims";
}

ParseResult attn::parseReducedType(OpAsmParser &parser, Type &result, Type inputType,
                                   DenseI64ArrayAttr axes, UnitAttr keepDims) {
  return parseOrInfer(parser, result, [&]() -> Type {
    auto input = dyn_cast_or_null<RankedTensorType>(inputType);
    if (!input)
      return {};
    SmallVector<bool> isReduced(input.getRank(), false);
    for (int64_t axis : axes.asArrayRef()) {
      if (axis < -input.getRank() || axis >= input.getRank())
        return {};
      isReduced[axis < 0 ? axis + input.getRank() : axis] = true;
    }
    SmallVector<int64_t> sizes;
    for (auto [size, reduced] : llvm::zip_equal(input.getShape(), isReduced))
      if (!reduced || keepDims)
        sizes.push_back(reduced ? 1 : size);
    return getLike(input, sizes);
  });
}

ParseResult attn::parseTransposedType(OpAsmParser &parser, Type &result, Type inputType,
                                      DenseI64ArrayAttr permutation) {
  return parseOrInfer(parser, result, [&]() -> Type {
    auto input = dyn_cast_or_null<RankedTensorType>(inputType);
    if (!input)
      return {};
    SmallVector<int64_t> sizes;
    for (int64_t dim : permutation.asArrayRef()) {
      if (dim < 0 || dim >= input.getRank())
        return {};
      sizes.push_back(input.getDimSize(dim));
    }
    return getLike(input, sizes);
  });
}
