//===- Resize.cpp - ONNX's Resize -----------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Positions of images for other sizes, and features of several scales: each element is a
// weighted sum of its neighbours, one dimension after the other.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "Sizes.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

namespace {
/// A resized dimension.
struct Axis {
  int64_t dim;
  OpFoldResult from, to;
  /// None if sizes are given instead of scales.
  std::optional<double> scale;
};

/// The attributes that all dimensions share.
struct Resize {
  StringRef mode, place, nearest;
  double cubic;
  bool excludesOutside;

  /// Places near others only need the sizes' precision, and round as others do.
  Type getType(Body &at) const {
    return mode == "nearest" ? Type(at.b.getF32Type()) : Type(at.b.getF64Type());
  }
};

/// An element's neighbour along a dimension, not within the tensor as yet, and its weight.
struct Tap {
  Value index, weight;
};
} // namespace

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

static Value toFloat(Body &at, Value index, Type type) {
  return at.make<arith::SIToFPOp>(type, at.make<arith::IndexCastOp>(at.b.getI64Type(), index));
}

static Value toIndex(Body &at, Value number) {
  return at.make<arith::IndexCastOp>(at.b.getIndexType(),
                                     at.make<arith::FPToSIOp>(at.b.getI64Type(), number));
}

static Value add(Body &at, Value x, double y) {
  return at.make<arith::AddFOp>(x, floatConstant(at, x.getType(), y));
}

/// A place of the result as one of the input.
static Value unscale(Body &at, const Axis &axis, Value place) {
  if (axis.scale)
    return at.make<arith::DivFOp>(place, floatConstant(at, place.getType(), *axis.scale));
  Value from = toFloat(at, imports::toIndex(at, axis.from), place.getType());
  Value to = toFloat(at, imports::toIndex(at, axis.to), place.getType());
  return at.make<arith::DivFOp>(at.make<arith::MulFOp>(place, from), to);
}

/// `place` where the result has several elements along the axis, else 0.
static Value unlessSingle(Body &at, const Axis &axis, Value place) {
  Value isWide =
      at.make<arith::CmpIOp>(arith::CmpIPredicate::sgt, imports::toIndex(at, axis.to), at.index(1));
  return at.make<arith::SelectOp>(isWide, place, floatConstant(at, place.getType(), 0));
}

/// First on first and last on last.
static Value alignCorners(Body &at, const Axis &axis, Value index, Type type) {
  auto lastOf = [&](OpFoldResult size) {
    return at.make<arith::SubIOp>(imports::toIndex(at, size), at.index(1));
  };
  Value steps = at.make<arith::MaxSIOp>(lastOf(axis.to), at.index(1));
  Value product = at.make<arith::MulIOp>(index, lastOf(axis.from));
  return unlessSingle(at, axis,
                      at.make<arith::DivFOp>(toFloat(at, product, type), toFloat(at, steps, type)));
}

/// The distance between the centers of the input and of the result, whose size was rounded.
static Value getOffset(Body &at, const Axis &axis, Type type) {
  Value from = toFloat(at, imports::toIndex(at, axis.from), type);
  Value to = toFloat(at, imports::toIndex(at, axis.to), type);
  Value half = floatConstant(at, type, 0.5);
  return at.make<arith::MulFOp>(half, at.make<arith::SubFOp>(from, unscale(at, axis, to)));
}

/// The input coordinate of an index of the result.
static Value getPlace(Body &at, const Resize &resize, const Axis &axis, Value index) {
  Type type = resize.getType(at);
  if (resize.place == "align_corners")
    return alignCorners(at, axis, index, type);
  Value own = toFloat(at, index, type);
  if (resize.place == "asymmetric")
    return unscale(at, axis, own);
  Value middle = add(at, unscale(at, axis, add(at, own, 0.5)), -0.5);
  if (resize.place == "pytorch_half_pixel")
    return unlessSingle(at, axis, middle);
  if (resize.place == "half_pixel_symmetric")
    return at.make<arith::AddFOp>(middle, getOffset(at, axis, type));
  return middle;
}

//===----------------------------------------------------------------------===//
// Neighbours
//===----------------------------------------------------------------------===//

static Value roundPlace(Body &at, StringRef way, Value place) {
  if (way == "floor")
    return at.make<math::FloorOp>(place);
  if (way == "ceil")
    return at.make<math::CeilOp>(place);
  if (way == "round_prefer_ceil")
    return at.make<math::FloorOp>(add(at, place, 0.5));
  return at.make<math::CeilOp>(add(at, place, -0.5));
}

/// ((p · x + q) · x + r) · x + s
static Value evaluate(Body &at, Value x, ArrayRef<double> coefficients) {
  Value sum = floatConstant(at, x.getType(), coefficients.front());
  for (double next : coefficients.drop_front())
    sum = add(at, at.make<arith::MulFOp>(sum, x), next);
  return sum;
}

/// Keys' cubic convolution with parameter `a`, at a distance below 1 and one from 1 to 2.
static Value weighNear(Body &at, Value distance, double a) {
  return evaluate(at, distance, {a + 2, -(a + 3), 0, 1});
}
static Value weighFar(Body &at, Value distance, double a) {
  return evaluate(at, distance, {a, -5 * a, 8 * a, -4 * a});
}

/// Those with a weight, from the lowest on.
static SmallVector<Tap> getTaps(Body &at, const Resize &resize, Value place) {
  if (resize.mode == "nearest")
    return {{toIndex(at, roundPlace(at, resize.nearest, place)), nullptr}};
  Value below = at.make<math::FloorOp>(place), first = toIndex(at, below);
  Value up = at.make<arith::SubFOp>(place, below);
  Value down = at.make<arith::SubFOp>(floatConstant(at, up.getType(), 1), up);
  auto next = [&](int64_t steps) { return at.make<arith::AddIOp>(first, at.index(steps)); };
  if (resize.mode == "linear")
    return {{first, down}, {next(1), up}};
  double a = resize.cubic;
  return {{next(-1), weighFar(at, add(at, up, 1), a)},
          {first, weighNear(at, up, a)},
          {next(1), weighNear(at, down, a)},
          {next(2), weighFar(at, add(at, down, 1), a)}};
}

/// Nothing for neighbours outside of the tensor, and more for the others.
static void excludeOutside(Body &at, MutableArrayRef<Tap> taps, ArrayRef<Value> nearest) {
  Value sum;
  for (auto [tap, inside] : llvm::zip(taps, nearest)) {
    Value isIn = at.make<arith::CmpIOp>(arith::CmpIPredicate::eq, tap.index, inside);
    tap.weight =
        at.make<arith::SelectOp>(isIn, tap.weight, floatConstant(at, tap.weight.getType(), 0));
    sum = sum ? at.make<arith::AddFOp>(sum, tap.weight) : tap.weight;
  }
  for (Tap &tap : taps)
    tap.weight = at.make<arith::DivFOp>(tap.weight, sum);
}

/// The element of `source` that a place `shown` of the result has along the axis.
static Value interpolate(Body &at, const Resize &resize, const Axis &axis, const TensorRef &source,
                         ArrayRef<Value> shown) {
  SmallVector<Tap> taps = getTaps(at, resize, getPlace(at, resize, axis, shown[axis.dim]));
  Value last = at.make<arith::SubIOp>(imports::toIndex(at, axis.from), at.index(1));
  auto nearest = llvm::map_to_vector(taps, [&](const Tap &tap) -> Value {
    return at.make<arith::MaxSIOp>(at.make<arith::MinSIOp>(tap.index, last), at.index(0));
  });
  if (resize.excludesOutside && resize.mode == "cubic")
    excludeOutside(at, taps, nearest);
  Value sum;
  SmallVector<Value> own(shown);
  for (auto [tap, index] : llvm::zip(taps, nearest)) {
    own[axis.dim] = index;
    Value element = at.read(source, own);
    if (!tap.weight)
      return element;
    Value part = at.make<arith::MulFOp>(castScalar(at, element, tap.weight.getType()), tap.weight);
    sum = sum ? at.make<arith::AddFOp>(sum, part) : part;
  }
  return castScalar(at, sum, source->element);
}

//===----------------------------------------------------------------------===//
// The node
//===----------------------------------------------------------------------===//

static bool isGiven(const TensorRef &tensor) {
  return tensor && !(tensor->getRank() == 1 && getStatic(tensor->sizes[0]) == 0);
}

static FailureOr<Resize> getResize(Node &node) {
  auto check = [&](StringRef name, StringRef otherwise,
                   ArrayRef<StringRef> known) -> FailureOr<StringRef> {
    StringRef found = node.getString(name, otherwise);
    if (llvm::is_contained(known, found))
      return found;
    return node.error() << "expected attribute '" << name << "' " << llvm::join(known, ", ")
                        << ", found " << found;
  };
  auto mode = check("mode", "nearest", {"nearest", "linear", "cubic"});
  auto place = check(
      "coordinate_transformation_mode", "half_pixel",
      {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"});
  auto nearest = check("nearest_mode", "round_prefer_floor",
                       {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  auto policy = check("keep_aspect_ratio_policy", "stretch", {"stretch"});
  if (failed(mode) || failed(place) || failed(nearest) || failed(policy))
    return failure();
  if (node.getInt("antialias", 0))
    return node.error() << "expected no attribute 'antialias'";
  if (*mode != "nearest" && failed(checkFloat(node, node.input(0))))
    return failure();
  return Resize{*mode, *place, *nearest, node.getFloat("cubic_coeff_a", -0.75),
                node.getInt("exclude_outside", 0) != 0};
}

/// The size times a scale, in the scale's precision, rounded down.
static OpFoldResult scaleSize(Body &body, OpFoldResult size, float scale) {
  if (auto known = getStatic(size))
    return fixedSize(body.b.getContext(), int64_t(scale * float(*known)));
  if (scale == float(int64_t(scale)))
    return (Polynomial::of(size) * Polynomial::constant(int64_t(scale))).build(body);
  Type f32 = body.b.getF32Type();
  Value product = body.make<arith::MulFOp>(toFloat(body, cast<Value>(size), f32),
                                           floatConstant(body, f32, scale));
  return toIndex(body, product);
}

/// Dimension `dim`, resized by element `index` of the scales.
static FailureOr<Axis> getScaledAxis(Node &node, int64_t dim, size_t index) {
  TensorRef input = node.input(0), scales = node.input(2);
  auto scale = scales->elements ? getConstantFloat((*scales->elements)[index]) : std::nullopt;
  if (!scale)
    return node.error() << "expected scales to be known at compile time";
  if (!(*scale > 0 && *scale < 1 << 20))
    return node.error() << "expected scales from 0 to " << (1 << 20) << ", found " << *scale;
  return Axis{dim, input->sizes[dim], scaleSize(node.body, input->sizes[dim], *scale), *scale};
}

static FailureOr<SmallVector<Axis>> getResizedAxes(Node &node) {
  TensorRef input = node.input(0), scales = node.input(2);
  if (isGiven(scales) == isGiven(node.input(3)))
    return node.error() << "expected either scales or sizes";
  auto dims =
      node.getInts("axes").value_or(llvm::to_vector(llvm::seq<int64_t>(0, input->getRank())));
  TensorRef given = node.input(isGiven(scales) ? 2 : 3);
  if (given->getRank() != 1 || getStatic(given->sizes[0]) != int64_t(dims.size()))
    return node.error() << "expected " << dims.size() << " scales or sizes, found "
                        << given->getType();
  SmallVector<Value> sizes;
  if (!isGiven(scales)) {
    FailureOr<SmallVector<Value>> list = getList(node, 3, "sizes");
    if (failed(list))
      return failure();
    sizes = *list;
  }
  SmallVector<Axis> axes;
  for (auto [index, axis] : llvm::enumerate(dims)) {
    FailureOr<int64_t> dim = node.getDim(axis, input->getRank());
    if (failed(dim))
      return failure();
    FailureOr<Axis> resized = sizes.empty() ? getScaledAxis(node, *dim, index)
                                            : Axis{*dim, input->sizes[*dim],
                                                   toSize(node.body, sizes[index]), std::nullopt};
    if (failed(resized))
      return failure();
    axes.push_back(*resized);
  }
  return axes;
}

LogicalResult imports::importResize(Node &node) {
  FailureOr<Resize> resize = getResize(node);
  if (failed(resize))
    return failure();
  FailureOr<SmallVector<Axis>> axes = getResizedAxes(node);
  if (failed(axes))
    return failure();
  TensorRef result = node.input(0);
  for (const Axis &axis : *axes) {
    if (sameSize(axis.from, axis.to) && axis.scale.value_or(1) == 1)
      continue;
    SmallVector<OpFoldResult> sizes(result->sizes);
    sizes[axis.dim] = axis.to;
    result = makeGenerate(node.body, result->element, sizes, {result},
                          [=, resize = *resize, source = result](Body &at, ArrayRef<Value> shown) {
                            return interpolate(at, resize, axis, source, shown);
                          });
  }
  return node.setOutput(result);
}
