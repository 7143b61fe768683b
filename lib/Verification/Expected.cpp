//===- Expected.cpp - reference results and allowed errors ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Verification/Expected.h"

#include <cmath>

using namespace mlir;
using namespace attnc;
using mlir::attn::reference::Arithmetic;
using mlir::attn::reference::Array;

static double getEps(Type type) {
  auto floatType = dyn_cast<FloatType>(type);
  return floatType ? std::ldexp(1.0, 1 - int(floatType.getFPMantissaWidth())) : 0;
}

static double get(const Array &array, int64_t at) {
  return array.isFloat() ? array.values[at].real : double(array.values[at].integer);
}

double Expected::getWanted(int64_t at) const { return get(exact, at); }

/// Infinite if one is special and the other differs.
static double getDistance(double x, double y) {
  if (isSameSpecial(x, y))
    return 0;
  return std::isfinite(x - y) ? std::abs(x - y) : INFINITY;
}

double Expected::getWorstPlain(int64_t at) const {
  double wanted = get(exact, at), worst = get(plain.front(), at);
  for (const Array &other : ArrayRef(plain).drop_front())
    if (getDistance(get(other, at), wanted) > getDistance(worst, wanted))
      worst = get(other, at);
  return worst;
}

double Expected::getAllowed() const {
  double plainError = 0, largest = 0;
  for (int64_t at = 0; at < size(); ++at) {
    double wanted = getWanted(at), worst = getWorstPlain(at);
    if (!std::isfinite(wanted) || !std::isfinite(worst))
      continue;
    plainError = std::max(plainError, std::abs(worst - wanted));
    largest = std::max(largest, std::abs(wanted));
  }
  // The plain computation treats f64 as f32.
  if (exact.elementType.isF64())
    plainError *= std::ldexp(1.0, 24 - 53);
  return 2 * plainError + 4 * getEps(exact.elementType) * largest;
}

FailureOr<std::vector<Expected>> attnc::expectResults(Graph &graph, ArrayRef<Tensor> inputs) {
  std::vector<Array> arrays = makeArrays(inputs);
  auto exact = graph.evaluate(arrays, Arithmetic::Exact);
  if (failed(exact)) // the others would fail with the same error
    return failure();
  std::vector<Expected> results(exact->size());
  for (auto [result, array] : llvm::zip_equal(results, *exact))
    result.exact = std::move(array);
  SmallVector<Arithmetic> plain = {Arithmetic::Plain, Arithmetic::PlainReversed,
                                   Arithmetic::PlainHalves, Arithmetic::PlainInOrder,
                                   Arithmetic::PlainLanes};
  if (mlir::attn::reference::hasUnstableSteps(graph.getFunction()))
    plain.append({Arithmetic::PlainAbove, Arithmetic::PlainBelow});
  for (Arithmetic arithmetic : plain) {
    auto computed = graph.evaluate(arrays, arithmetic);
    if (failed(computed))
      return failure();
    for (auto [result, array] : llvm::zip_equal(results, *computed))
      result.plain.push_back(std::move(array));
  }
  return results;
}

bool attnc::isSameSpecial(double x, double y) { return std::isnan(x) ? std::isnan(y) : x == y; }
