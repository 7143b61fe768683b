//===- MaskPicture.cpp - draw the keys that a mask shows ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference evaluates a small mask, or some rows of each line of the picture of a large one,
// for all their keys, as a tensor that takes the attention's place in a copy of its function.
//
//===----------------------------------------------------------------------===//

#include "MaskPicture.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace attnc;
using mlir::attn::AttentionOp;
using mlir::attn::reference::Array;

static constexpr int64_t kMostColumns = 64, kMostLines = 32, kRowsOfLine = 4,
                         kPairsOfWholeMask = 1 << 19;

/// The mask of row `sample` · qLen / samples and each key: an i1 tensor [samples, kvLen].
static Value buildSamples(AttentionOp op, int64_t samples, int64_t qLen, int64_t kvLen) {
  OpBuilder builder(op);
  auto type = RankedTensorType::get({samples, kvLen}, builder.getI1Type());
  auto build = [&](OpBuilder &b, Location loc, ValueRange at) {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, loc, value);
    };
    Value row = arith::DivUIOp::create(b, loc, arith::MulIOp::create(b, loc, at[0], constant(qLen)),
                                       constant(samples));
    IRMapping map;
    map.map(op.getMask().getArguments(), ValueRange{constant(0), constant(0), row, at[1]});
    for (Operation &each : op.getMask().front().without_terminator())
      b.clone(each, map);
    Value visible = op.getMask().front().getTerminator()->getOperand(0);
    tensor::YieldOp::create(b, loc, map.lookupOrDefault(visible));
  };
  return tensor::GenerateOp::create(builder, op.getLoc(), type, ValueRange(), build);
}

/// Makes the function return `result` alone, and drops what it does not depend on.
static void returnOnly(func::FuncOp function, Value result) {
  Operation *end = function.front().getTerminator();
  end->setOperands(result);
  function.removeResAttrsAttr();
  function.setType(
      FunctionType::get(function.getContext(), function.getArgumentTypes(), result.getType()));
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (&op != end && op.use_empty())
      op.erase();
}

llvm::BitVector attnc::findMaskInputs(AttentionOp op) {
  llvm::SetVector<Value> read;
  getUsedValuesDefinedAbove(op.getMask(), read);
  auto function = op->getParentOfType<func::FuncOp>();
  llvm::BitVector inputs(function.getNumArguments());
  for (size_t at = 0; at < read.size(); ++at) {
    Operation *source = read[at].getDefiningOp();
    if (auto argument = dyn_cast<BlockArgument>(read[at]);
        argument && argument.getOwner()->getParentOp() == function)
      inputs.set(argument.getArgNumber());
    if (!source)
      continue;
    read.insert(source->operand_begin(), source->operand_end());
    getUsedValuesDefinedAbove(source->getRegions(), read);
  }
  return inputs;
}

static StringRef getGlyph(double visible) {
  static constexpr StringLiteral shades[] = {"░", "▒", "▓"};
  if (visible == 0 || visible == 1)
    return visible == 0 ? " " : "█";
  return shades[std::min(2, int(3 * visible))];
}

/// The rows of `mask` are spread over the lines.
static std::vector<std::string> draw(const Array &mask, int64_t lines, int64_t columns) {
  int64_t keys = mask.shape[1], rows = mask.shape[0];
  std::vector<std::string> picture;
  for (int64_t line = 0; line < lines; ++line) {
    std::string text;
    int64_t first = line * rows / lines, last = (line + 1) * rows / lines;
    for (int64_t column = 0; column < columns; ++column) {
      int64_t begin = column * keys / columns, end = (column + 1) * keys / columns, seen = 0;
      for (int64_t row = first; row < last; ++row)
        for (int64_t key = begin; key < end; ++key)
          seen += mask.values[row * keys + key].integer;
      text += getGlyph(double(seen) / ((last - first) * (end - begin)));
    }
    picture.push_back(text);
  }
  return picture;
}

FailureOr<MaskPicture> attnc::drawMask(AttentionOp op, ArrayRef<Array> inputs, int64_t qLen,
                                       int64_t kvLen) {
  int64_t columns = std::min(kvLen, kMostColumns);
  // A character is about twice as high as it is wide.
  int64_t lines = std::clamp<int64_t>(llvm::divideCeil(columns * qLen, 2 * kvLen), 1,
                                      std::min(qLen, kMostLines));
  int64_t samples = std::min(qLen, std::max(lines * kRowsOfLine, kPairsOfWholeMask / kvLen));
  IRMapping map;
  OwningOpRef<func::FuncOp> copy(
      cast<func::FuncOp>(op->getParentOfType<func::FuncOp>()->clone(map)));
  auto copied = cast<AttentionOp>(map.lookup(op.getOperation()));
  returnOnly(*copy, buildSamples(copied, samples, qLen, kvLen));
  std::vector<Array> read;
  llvm::BitVector unread(inputs.size());
  for (auto [index, input] : llvm::enumerate(inputs))
    if (copy->getArgument(index).use_empty())
      unread.set(index);
    else
      read.push_back(input);
  if (failed(copy->eraseArguments(unread)))
    return failure();
  auto results = mlir::attn::reference::evaluate(*copy, read);
  if (failed(results))
    return failure();
  const Array &mask = results->front();
  int64_t visible = 0;
  for (mlir::attn::reference::Scalar element : mask.values)
    visible += element.integer;
  return MaskPicture{qLen, kvLen, double(visible) / mask.size(), samples,
                     draw(mask, lines, columns)};
}
