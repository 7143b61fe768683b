//===- Parts.cpp - ONNX ops that take tensors apart and join them ---------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "Sizes.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

/// A part of one dimension: its first index, its step and its size.
struct Part {
  Value start;
  int64_t step = 1;
  OpFoldResult size;
};

/// An index as a size is kept.
static OpFoldResult toFold(Value index) {
  if (auto known = getConstantInt(index))
    return fixedSize(index.getContext(), *known);
  return index;
}

static FailureOr<TensorRef> makePart(Node &node, const TensorRef &input, int64_t dim, Part part) {
  Sizes sizes(input->sizes);
  sizes[dim] = part.size;
  auto first = getConstantInt(part.start), count = getStatic(part.size);
  bool isList = input->elements && first && count;
  if (part.step == 1 && !isList)
    return makeSlice(node.body, input, dim, toFold(part.start), part.size);
  TensorRef result = makeGenerate(
      node.body, input->element, sizes, {input}, [=](Body &at, ArrayRef<Value> indices) {
        SmallVector<Value> own(indices);
        own[dim] = at.make<arith::AddIOp>(part.start,
                                          at.make<arith::MulIOp>(own[dim], at.index(part.step)));
        return at.read(input, own);
      });
  if (isList)
    result->elements = moveElements(*input, sizes, [&](ArrayRef<int64_t> indices) {
      SmallVector<int64_t> own(indices);
      own[dim] = *first + own[dim] * part.step;
      return own;
    });
  return result;
}

/// Whether a <= b in every call.
static bool isAtMost(const Polynomial &a, const Polynomial &b) {
  return (b + Polynomial::constant(-1) * a).isNonNegative();
}

/// A bound of a slice, counted from the end where negative, within [low, size + high].
static Value resolveBound(Body &body, Value bound, OpFoldResult size, int64_t low, int64_t high) {
  auto known = getConstantInt(bound), length = getStatic(size);
  if (known && length)
    return body.index(
        std::clamp(*known < 0 ? *known + *length : *known, low, std::max(low, *length + high)));
  if (known && *known == 0)
    return body.index(0);
  if (known && *known <= -INT32_MAX)
    return body.index(low);
  Polynomial whole = Polynomial::of(size), last = whole + Polynomial::constant(high);
  if (known && (*known >= INT32_MAX || (*known == -1 && high == -1)))
    return toIndex(body, last.build(body));
  Polynomial place = Polynomial::of(toSize(body, bound));
  if (known && *known < 0)
    place = place + whole;
  Value at = toIndex(body, place.build(body));
  bool mayBeNegative = !place.isNonNegative();
  if (mayBeNegative && !known) {
    Value isFromEnd = body.make<arith::CmpIOp>(arith::CmpIPredicate::slt, at, body.index(0));
    Value fromEnd = body.make<arith::AddIOp>(at, toIndex(body, size));
    at = body.make<arith::SelectOp>(isFromEnd, fromEnd, at);
  }
  if (!isAtMost(place, last))
    at = body.make<arith::MinSIOp>(at, toIndex(body, last.build(body)));
  return mayBeNegative ? body.make<arith::MaxSIOp>(at, body.index(low)) : at;
}

/// Whether a slice is of one element, unless the dimension is too short.
static bool isOneElement(Value start, Value end) {
  auto first = getConstantInt(start), last = getConstantInt(end);
  if (!first || !last)
    return false;
  bool isLast = *first == -1 && *last >= INT32_MAX, areSame = (*first < 0) == (*last < 0);
  return isLast || (areSame && *last - *first == 1);
}

static FailureOr<Part> resolvePart(Node &node, OpFoldResult size, Value start, Value end,
                                   int64_t step) {
  Body &body = node.body;
  Part part;
  part.step = step;
  int64_t offset = step < 0 ? -1 : 0; // backwards, -1 is before the first element
  part.start = resolveBound(body, start, size, 0, offset);
  Value last = resolveBound(body, end, size, offset, offset);
  auto first = getConstantInt(part.start), limit = getConstantInt(last);
  if (auto whole = getStatic(size); whole && first && limit) {
    int64_t count =
        step > 0 ? (*limit - *first + step - 1) / step : (*first - *limit - step - 1) / -step;
    part.size = fixedSize(node, std::clamp<int64_t>(count, 0, *whole));
    return part;
  }
  Polynomial from = Polynomial::of(step > 0 ? part.start : last),
             to = Polynomial::of(step > 0 ? last : part.start),
             distance = to + Polynomial::constant(-1) * from;
  part.size = distance.build(body);
  if (std::abs(step) > 1)
    part.size = body.make<arith::CeilDivSIOp>(toIndex(body, part.size), body.index(std::abs(step)));
  if (!distance.isNonNegative())
    part.size = body.make<arith::MaxSIOp>(toIndex(body, part.size), body.index(0));
  // The first element of an empty dimension is before its last one.
  if (step < 0 && !isAtMost(distance, Polynomial::of(size)))
    part.size = body.make<arith::MinSIOp>(toIndex(body, part.size), toIndex(body, size));
  if (isOneElement(start, end) || getStatic(size) == 1)
    part.size = atMostOne(body, part.size);
  return part;
}

static LogicalResult importSlice(Node &node) {
  TensorRef result = node.input(0);
  FailureOr<SmallVector<Value>> starts = getList(node, 1, "starts"),
                                ends = getList(node, 2, "ends");
  if (failed(starts) || failed(ends))
    return failure();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, starts->size()));
  SmallVector<int64_t> steps(starts->size(), 1);
  for (auto [index, list, what] : {std::tuple(3, &axes, "axes"), {4, &steps, "steps"}}) {
    if (!node.input(index))
      continue;
    FailureOr<SmallVector<int64_t>> given = node.getConstants(index, what);
    if (failed(given))
      return failure();
    *list = *given;
  }
  if (ends->size() != starts->size() || axes.size() != starts->size() ||
      steps.size() != starts->size())
    return node.error() << "expected starts, ends, axes and steps of one length";
  for (auto [start, end, axis, step] : llvm::zip(*starts, *ends, axes, steps)) {
    FailureOr<int64_t> dim = node.getDim(axis, result->getRank());
    if (failed(dim) || step == 0)
      return failed(dim) ? failure() : LogicalResult(node.error() << "expected a step, found 0");
    // Steps beyond any tensor's size are one.
    constexpr int64_t far = int64_t(1) << 41;
    FailureOr<Part> part =
        resolvePart(node, result->sizes[*dim], start, end, std::clamp(step, -far, far));
    if (failed(part))
      return failure();
    FailureOr<TensorRef> taken = makePart(node, result, *dim, *part);
    if (failed(taken))
      return failure();
    result = *taken;
  }
  return node.setOutput(result);
}

/// Parts are not negative and add up to the whole, where that is known.
static LogicalResult checkLengths(Node &node, ArrayRef<int64_t> lengths,
                                  std::optional<int64_t> whole) {
  int64_t sum = 0;
  for (int64_t length : lengths)
    if (length < 0 || llvm::AddOverflow(sum, length, sum))
      return node.error() << "expected parts that are not negative, found " << length;
  if (whole && sum != *whole)
    return node.error() << "expected parts of " << *whole << " together, found " << sum;
  return success();
}

static LogicalResult importSplit(Node &node) {
  TensorRef input = node.input(0);
  FailureOr<int64_t> dim = node.getDim(node.getInt("axis", 0), input->getRank());
  if (failed(dim))
    return failure();
  auto whole = getStatic(input->sizes[*dim]);
  int64_t parts = node.proto.output_size();
  SmallVector<int64_t> lengths;
  if (node.input(1)) {
    FailureOr<SmallVector<int64_t>> given = node.getConstants(1, "the split");
    if (failed(given))
      return failure();
    lengths = *given;
  } else if (whole) {
    int64_t length = (*whole + parts - 1) / parts;
    for (int64_t part = 0; part < parts; ++part)
      lengths.push_back(std::clamp<int64_t>(*whole - part * length, 0, length));
  }
  if (int64_t(lengths.size()) != parts)
    return node.error() << "expected the sizes of " << parts << " parts, found " << lengths.size();
  if (failed(checkLengths(node, lengths, whole)))
    return failure();
  int64_t start = 0;
  for (auto [index, length] : llvm::enumerate(lengths)) {
    FailureOr<TensorRef> part =
        makePart(node, input, *dim, {node.body.index(start), 1, fixedSize(node, length)});
    if (failed(part))
      return failure();
    node.setOutput(index, *part);
    start += length;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Concat
//===----------------------------------------------------------------------===//

static FailureOr<OpFoldResult> addSizes(Node &node, ArrayRef<TensorRef> tensors, int64_t dim) {
  int64_t known = 0;
  Value sum;
  for (const TensorRef &tensor : tensors) {
    if (auto size = getStatic(tensor->sizes[dim]))
      known += *size;
    else
      sum = sum ? node.body.make<arith::AddIOp>(sum, cast<Value>(tensor->sizes[dim]))
                : cast<Value>(tensor->sizes[dim]);
  }
  if (!sum)
    return fixedSize(node, known);
  return OpFoldResult(known == 0 ? sum
                                 : node.body.make<arith::AddIOp>(sum, node.body.index(known)));
}

static LogicalResult checkConcat(Node &node, ArrayRef<TensorRef> tensors, int64_t axis) {
  for (const TensorRef &tensor : tensors) {
    if (tensor->getRank() != tensors[0]->getRank() || tensor->element != tensors[0]->element)
      return node.error() << "expected operands of one type and rank, found "
                          << tensors[0]->getType() << " and " << tensor->getType();
    for (int64_t dim = 0; dim < tensor->getRank(); ++dim) {
      auto known = getStatic(tensors[0]->sizes[dim]), other = getStatic(tensor->sizes[dim]);
      if (dim != axis && known && other && *known != *other)
        return node.error() << "expected sizes " << *known << " in dimension " << dim << ", found "
                            << *other;
    }
  }
  return success();
}

/// Whether integers are concatenated to index tuples, as gathers and scatters take them.
static bool areTuples(ArrayRef<TensorRef> tensors, int64_t dim) {
  return tensors[0]->element.isInteger(64) && dim > 0 && dim == tensors[0]->getRank() - 1 &&
         llvm::all_of(tensors,
                      [&](const TensorRef &tensor) { return getStatic(tensor->sizes[dim]) == 1; });
}

/// Concatenates index tuples as an index expression.
static TensorRef makeTuples(Body &body, ArrayRef<TensorRef> tensors, const Sizes &sizes) {
  SmallVector<TensorRef> parts(tensors);
  return makeGenerate(
      body, parts[0]->element, sizes, parts, [parts](Body &at, ArrayRef<Value> indices) {
        SmallVector<Value> own(indices);
        own.back() = at.index(0);
        if (auto component = getConstantInt(indices.back()))
          return at.read(parts[*component], own);
        Value selected = at.read(parts.back(), own);
        for (int64_t i = parts.size() - 2; i >= 0; --i) {
          Value isHere =
              at.make<arith::CmpIOp>(arith::CmpIPredicate::eq, indices.back(), at.index(i));
          selected = at.make<arith::SelectOp>(isHere, at.read(parts[i], own), selected);
        }
        return selected;
      });
}

static LogicalResult importConcat(Node &node) {
  SmallVector<TensorRef> tensors;
  for (int index = 0; index < node.numInputs(); ++index)
    tensors.push_back(node.input(index));
  FailureOr<int64_t> dim = node.getDim(node.getInt("axis", 0), tensors[0]->getRank());
  if (failed(dim) || failed(checkConcat(node, tensors, *dim)))
    return failure();
  Sizes sizes(tensors[0]->sizes);
  FailureOr<OpFoldResult> total = addSizes(node, tensors, *dim);
  if (failed(total))
    return failure();
  sizes[*dim] = *total;
  auto length = getStatic(sizes[*dim]);
  bool known =
      sizes.size() == 1 && length && *length <= kMaxElements &&
      llvm::all_of(tensors, [](const TensorRef &tensor) { return tensor->elements.has_value(); });
  if (known) {
    SmallVector<Value> elements;
    for (const TensorRef &tensor : tensors)
      llvm::append_range(elements, *tensor->elements);
    return node.setOutput(makeElements(node.body, tensors[0]->element, elements, sizes));
  }
  // tensor.concat does not take empty operands.
  TensorRef empty = tensors[0];
  llvm::erase_if(tensors,
                 [&](const TensorRef &tensor) { return getStatic(tensor->sizes[*dim]) == 0; });
  if (tensors.size() <= 1)
    return node.setOutput(tensors.empty() ? empty : tensors[0]);
  if (areTuples(tensors, *dim))
    return node.setOutput(makeTuples(node.body, tensors, sizes));
  auto values = llvm::map_to_vector(
      tensors, [&](const TensorRef &tensor) { return node.materialize(tensor); });
  Value whole = tensor::ConcatOp::create(node.body.b, node.body.loc,
                                         getTensorType(tensors[0]->element, sizes), *dim, values);
  return node.setOutput(makeComputed(whole, sizes));
}

ArrayRef<OpEntry> imports::getPartOps() {
  static const OpEntry entries[] = {
      {"", "Concat", "x*", "x", {{"axis", Int}}, importConcat},
      {"", "Slice", "xiii?i?", "x", {}, importSlice},
      {"", "Split", "xi?", "x*", {{"axis", Int}, {"num_outputs", Int}}, importSplit},
  };
  return entries;
}
