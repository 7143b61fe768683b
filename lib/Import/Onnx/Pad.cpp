//===- Pad.cpp - ONNX ops that fill triangles and borders -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "Sizes.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

//===----------------------------------------------------------------------===//
// Masks and borders
//===----------------------------------------------------------------------===//

static LogicalResult importTrilu(Node &node) {
  TensorRef input = node.input(0), offset = node.input(1);
  if (input->getRank() < 2)
    return node.error() << "expected a matrix, found rank " << input->getRank();
  if (offset && !offset->isSingle())
    return node.error() << "expected one diagonal, found " << offset->getType();
  bool upper = node.getInt("upper", 1);
  int64_t rank = input->getRank();
  Type element = input->element;
  return node.setOutput(makeGenerate(
      node.body, element, input->sizes, {input, offset}, [=](Body &at, ArrayRef<Value> indices) {
        Value row = indices[rank - 2], column = indices[rank - 1];
        if (offset)
          row = at.make<arith::AddIOp>(
              row, at.make<arith::IndexCastOp>(at.b.getIndexType(), at.readSingle(offset)));
        Value inside = at.make<arith::CmpIOp>(
            upper ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle, column, row);
        Value zero = arith::ConstantOp::create(at.b, at.loc, at.b.getZeroAttr(element));
        return at.make<arith::SelectOp>(inside, at.read(input, indices), zero);
      }));
}

static LogicalResult importEyeLike(Node &node) {
  TensorRef input = node.input(0);
  if (input->getRank() != 2)
    return node.error() << "expected a matrix, found rank " << input->getRank();
  FailureOr<Type> type = node.getType("dtype");
  if (failed(type))
    return failure();
  Type element = *type ? *type : input->element;
  int64_t offset = node.getInt("k", 0);
  return node.setOutput(
      makeGenerate(node.body, element, input->sizes, {}, [=](Body &at, ArrayRef<Value> indices) {
        Value wanted = at.make<arith::AddIOp>(indices[0], at.index(offset));
        Value isOn = at.make<arith::CmpIOp>(arith::CmpIPredicate::eq, indices[1], wanted);
        return castScalar(at, isOn, element);
      }));
}

/// The padding before and after each dimension.
static FailureOr<SmallVector<std::pair<OpFoldResult, OpFoldResult>>> getPads(Node &node) {
  TensorRef input = node.input(0);
  int64_t rank = input->getRank();
  FailureOr<SmallVector<Value>> pads = getList(node, 1, "pads");
  if (failed(pads))
    return failure();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (node.input(3)) {
    FailureOr<SmallVector<int64_t>> given = node.getConstants(3, "axes");
    if (failed(given))
      return failure();
    axes = *given;
  }
  if (pads->size() != 2 * axes.size())
    return node.error() << "expected " << 2 * axes.size() << " pads, found " << pads->size();
  SmallVector<std::pair<OpFoldResult, OpFoldResult>> result(
      rank, {fixedSize(node, 0), fixedSize(node, 0)});
  for (auto [index, axis] : llvm::enumerate(axes)) {
    FailureOr<int64_t> dim = node.getDim(axis, rank);
    if (failed(dim))
      return failure();
    result[*dim] = {toSize(node.body, (*pads)[index]),
                    toSize(node.body, (*pads)[index + axes.size()])};
  }
  return result;
}

static OpFoldResult add(Body &body, OpFoldResult a, OpFoldResult b) {
  if (getStatic(a) && getStatic(b))
    return (Polynomial::of(a) + Polynomial::of(b)).build(body);
  return body.make<arith::AddIOp>(toIndex(body, a), toIndex(body, b));
}

/// Maps an index of the result to one within the dimension, for modes edge, reflect and wrap.
using Repeat = Value (*)(Body &, Value place, Value length);

static Value clampPlace(Body &at, Value place, Value length) {
  Value last = at.make<arith::SubIOp>(length, at.index(1));
  return at.make<arith::MaxSIOp>(at.make<arith::MinSIOp>(place, last), at.index(0));
}

/// `place` modulo `length`, not negative.
static Value wrapPlace(Body &at, Value place, Value length) {
  Value rest = at.make<arith::RemSIOp>(place, length);
  return at.make<arith::RemSIOp>(at.make<arith::AddIOp>(rest, length), length);
}

/// There and back again, the elements at both ends once.
static Value reflectPlace(Body &at, Value place, Value length) {
  Value last = at.make<arith::SubIOp>(length, at.index(1));
  Value period = at.make<arith::MaxSIOp>(at.make<arith::AddIOp>(last, last), at.index(1));
  Value forth = wrapPlace(at, place, period);
  return at.make<arith::MinSIOp>(forth, at.make<arith::SubIOp>(period, forth));
}

static TensorRef makeRepeated(Node &node, ArrayRef<OpFoldResult> sizes,
                              ArrayRef<std::pair<OpFoldResult, OpFoldResult>> pads, Repeat repeat) {
  TensorRef input = node.input(0);
  SmallVector<std::pair<OpFoldResult, OpFoldResult>> around(pads);
  return makeGenerate(
      node.body, input->element, sizes, {input}, [=](Body &at, ArrayRef<Value> indices) {
        SmallVector<Value> own;
        for (auto [index, size, pad] : llvm::zip(indices, input->sizes, around)) {
          bool isSame = getStatic(pad.first) == 0 && getStatic(pad.second) == 0;
          Value place = isSame ? index : at.make<arith::SubIOp>(index, toIndex(at, pad.first));
          own.push_back(isSame ? index : repeat(at, place, toIndex(at, size)));
        }
        return at.read(input, own);
      });
}

/// A fill around the input.
static TensorRef makeFilled(Node &node, ArrayRef<OpFoldResult> sizes,
                            ArrayRef<std::pair<OpFoldResult, OpFoldResult>> pads) {
  TensorRef input = node.input(0), fill = node.input(2);
  SmallVector<std::pair<OpFoldResult, OpFoldResult>> around(pads);
  auto element = [=](Body &at, ArrayRef<Value> indices) -> Value {
    SmallVector<Value> own;
    Value inside;
    auto require = [&](arith::CmpIPredicate predicate, Value x, Value y) {
      Value condition = at.make<arith::CmpIOp>(predicate, x, y);
      inside = inside ? at.make<arith::AndIOp>(inside, condition) : condition;
    };
    for (auto [index, size, pad] : llvm::zip(indices, input->sizes, around)) {
      if (getStatic(pad.first) == 0 && getStatic(pad.second) == 0) {
        own.push_back(index);
        continue;
      }
      Value length = toIndex(at, size);
      Value place = at.make<arith::SubIOp>(index, toIndex(at, pad.first));
      require(arith::CmpIPredicate::sge, place, at.index(0));
      require(arith::CmpIPredicate::slt, place, length);
      own.push_back(clampPlace(at, place, length));
    }
    Value value = at.read(input, own);
    if (!inside)
      return value;
    Value outside =
        fill ? at.readSingle(fill)
             : Value(arith::ConstantOp::create(at.b, at.loc, at.b.getZeroAttr(input->element)));
    return at.make<arith::SelectOp>(inside, value, outside);
  };
  return makeGenerate(node.body, input->element, sizes, {input, fill}, element);
}

/// The same by `tensor.pad`, which reads nothing of an empty input; null where that may not be
/// empty, or pads are negative or not known.
static TensorRef makeFilledAround(Node &node, ArrayRef<OpFoldResult> sizes,
                                  ArrayRef<std::pair<OpFoldResult, OpFoldResult>> pads) {
  TensorRef input = node.input(0), fill = node.input(2);
  bool mayBeEmpty = false;
  SmallVector<OpFoldResult> before, after;
  for (auto [size, pad] : llvm::zip_equal(input->sizes, pads)) {
    auto low = getStatic(pad.first), high = getStatic(pad.second);
    if (!low || !high || *low < 0 || *high < 0)
      return {};
    mayBeEmpty |= (*low > 0 || *high > 0) && !getStatic(size);
    before.push_back(node.body.b.getIndexAttr(*low));
    after.push_back(node.body.b.getIndexAttr(*high));
  }
  if (!mayBeEmpty || !input->isData() || (fill && !fill->elements))
    return {};
  Value padding = fill ? fill->elements->front()
                       : Value(arith::ConstantOp::create(node.body.b, node.body.loc,
                                                         node.body.b.getZeroAttr(input->element)));
  return makeComputed(tensor::PadOp::create(node.body.b, node.body.loc,
                                            getTensorType(input->element, sizes),
                                            node.materialize(input), before, after, padding),
                      sizes);
}

static LogicalResult importPad(Node &node) {
  StringRef mode = node.getString("mode", "constant");
  Repeat repeat = llvm::StringSwitch<Repeat>(mode)
                      .Case("edge", clampPlace)
                      .Case("reflect", reflectPlace)
                      .Case("wrap", wrapPlace)
                      .Default(nullptr);
  if (!repeat && mode != "constant")
    return node.error() << "expected attribute 'mode' constant, edge, reflect or wrap, found "
                        << mode;
  if (TensorRef fill = node.input(2);
      fill && (!fill->isSingle() || fill->element != node.input(0)->element))
    return node.error() << "expected one " << node.input(0)->element << " to fill with, found "
                        << fill->getType();
  auto pads = getPads(node);
  if (failed(pads))
    return failure();
  Sizes sizes;
  for (auto [size, pad] : llvm::zip(node.input(0)->sizes, *pads)) {
    sizes.push_back(add(node.body, add(node.body, size, pad.first), pad.second));
    if (auto known = getStatic(sizes.back()); known && *known < 0)
      return node.error() << "expected sizes that are not negative, found " << *known;
    if (repeat && getStatic(size) == 0 && getStatic(sizes.back()) != 0)
      return node.error() << "expected elements to repeat, found a size of 0";
  }
  if (repeat)
    return node.setOutput(makeRepeated(node, sizes, *pads, repeat));
  TensorRef around = makeFilledAround(node, sizes, *pads);
  return node.setOutput(around ? around : makeFilled(node, sizes, *pads));
}

ArrayRef<OpEntry> imports::getPadOps() {
  static const OpEntry entries[] = {
      {"", "EyeLike", "x", "x", {{"dtype", Int}, {"k", Int}}, importEyeLike},
      {"", "Pad", "xix?i?", "x", {{"mode", String}}, importPad},
      {"", "Trilu", "xi?", "x", {{"upper", Int}}, importTrilu},
  };
  return entries;
}
