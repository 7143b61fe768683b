//===- Cases.cpp - cases for verifying a kernel ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Verification/Cases.h"

#include <cmath>

using namespace mlir;
using namespace attnc;

std::string InputKind::describe(const Signature &signature) const {
  static constexpr const char *names[] = {"normal", "large", "empty", "NaN and inf in "};
  return names[kind] + (kind == Special ? signature.inputs[input].name : "");
}

SmallVector<InputKind> attnc::getInputKinds(const Signature &signature, ArrayRef<bool> isGiven) {
  SmallVector<InputKind> kinds = {{InputKind::Normal}, {InputKind::Large}};
  bool hasIntegers = false;
  for (auto [index, input] : llvm::enumerate(signature.inputs))
    if (!isGiven[index] && isa<FloatType>(input.elementType))
      kinds.push_back({InputKind::Special, index});
    else
      hasIntegers |= !isGiven[index];
  if (hasIntegers)
    kinds.push_back({InputKind::Empty});
  return kinds;
}

void InputKind::apply(size_t index, Tensor &tensor) const {
  bool isFloat = isa<FloatType>(tensor.getElementType());
  // Products of two are about 1e4. Parameters, of rank 2 and below, would add to that. Floats of 8
  // bits end at 448.
  bool isWide = isFloat && tensor.getElementType().getIntOrFloatBitWidth() > 8;
  if (kind == Large && isWide && tensor.getShape().size() > 2)
    for (int64_t at = 0; at < tensor.size(); ++at)
      tensor.set(at, 100 * tensor.get(at));
  if (kind == Empty && !isFloat)
    for (int64_t at = 0; at < (tensor.size() + 1) / 2; ++at)
      tensor.set(at, 0);
  if (kind == Special && input == index && tensor.size() > 0) {
    tensor.set(tensor.size() - 1, NAN);
    if (tensor.size() > 2)
      tensor.set(tensor.size() / 2, INFINITY);
  }
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

/// Budget of all cases in multiplications: some seconds.
static constexpr double kBudget = 4e9;
/// Budget of one size, beside other sizes and kinds of inputs.
static constexpr double kBudgetOfSize = kBudget / 8;

std::vector<PlannedCase> attnc::listCases(ArrayRef<Dims> sizes, ArrayRef<InputKind> kinds) {
  std::vector<PlannedCase> cases;
  for (const Dims &dims : sizes) {
    // If all sizes are 1, there are no elements besides the NaN.
    bool single = !dims.empty() && llvm::all_of(dims, [](auto dim) { return dim.second == 1; });
    for (InputKind kind : kinds)
      if (!single || kind.kind != InputKind::Special)
        cases.push_back({dims, kind});
  }
  return cases;
}

bool attnc::isAffordable(const WorkEstimate &work, const Dims &dims) {
  return work.get(dims) <= kBudgetOfSize;
}

size_t attnc::dropCases(std::vector<PlannedCase> &cases, const WorkEstimate &work) {
  double spent = 0;
  for (auto kind : {InputKind::Normal, InputKind::Large, InputKind::Empty, InputKind::Special})
    for (PlannedCase &planned : cases) {
      if (planned.kind.kind != kind)
        continue;
      spent += work.get(planned.dims);
      planned.runs = kind == InputKind::Normal || spent <= kBudget;
    }
  return llvm::count_if(cases, [](const PlannedCase &planned) { return !planned.runs; });
}
