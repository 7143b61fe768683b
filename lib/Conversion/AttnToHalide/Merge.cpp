//===- Merge.cpp - the pipeline of attn.merge -----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads each context once; the factors of a row are computed before its elements.
//
//===----------------------------------------------------------------------===//

#include "FunctionConverter.h"
#include "Rows.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

static constexpr double kInf = std::numeric_limits<double>::infinity();

namespace {
/// The lse's of a row's parts. Infinities are tested in their own type: LLVM may assume that a
/// conversion gives none.
struct RowLses {
  Scalar a, b;

  Scalar max() const { return attn::max(a, b); }
  /// exp(lse - max) of a part, in `acc`.
  Scalar factor(Scalar part, Type acc) const {
    return exp(convert(part, acc) - convert(max(), acc));
  }
  /// `ofA` if part b has no key, `ofB` if part a has none, else `ofBoth`.
  Scalar pick(Scalar ofA, Scalar ofB, Scalar ofBoth) const {
    return select(a == -kInf, ofB, select(b == -kInf, ofA, ofBoth));
  }
};
} // namespace

/// A factor of 0 contributes 0, even if the context is not finite.
static Scalar weigh(Scalar factor, Scalar context) {
  return select(factor == 0, factor, factor * convert(context, factor.getType()));
}

static LogicalResult lowerMerge(PipelineBuilder &p, MergeOp op, const CpuInfo &cpu) {
  RankedTensorType contextType = tensorType(op.getContext()), lseType = tensorType(op.getLse());
  Type element = contextType.getElementType(), lseElement = lseType.getElementType();
  Type acc = accumulatorType(lseElement.isF64() ? lseElement : element);
  Func contextA = p.input("context_a", op.getContextA()), lseA = p.input("lse_a", op.getLseA());
  Func contextB = p.input("context_b", op.getContextB()), lseB = p.input("lse_b", op.getLseB());
  StringRef vars[] = {"d", "q", "head", "batch"};
  ArrayRef<StringRef> rowVars = ArrayRef(vars).drop_front();
  auto buildFactor = [&](StringRef name, Scalar RowLses::*part) {
    return p.func(name, rowVars, acc, [&](ArrayRef<Scalar> row) {
      RowLses lses{lseA(row), lseB(row)};
      return strictFloat(lses.factor(lses.*part, acc));
    });
  };
  Func factorA = buildFactor("factor_a", &RowLses::a),
       factorB = buildFactor("factor_b", &RowLses::b);
  Func context = p.func("context", vars, element, [&](ArrayRef<Scalar> v) {
    ArrayRef<Scalar> row = v.drop_front();
    RowLses lses{lseA(row), lseB(row)};
    Scalar a = contextA(v), b = contextB(v), inA = factorA(row), inB = factorB(row);
    Scalar merged = (weigh(inA, a) + weigh(inB, b)) / (inA + inB);
    Scalar ofB = select(lses.b == -kInf, b.constant(0), b);
    // Strict: the order of the parts does not matter, bit for bit.
    return strictFloat(lses.pick(a, ofB, convert(merged, element)));
  });
  Func lse = p.func("lse", rowVars, lseElement, [&](ArrayRef<Scalar> row) {
    RowLses lses{lseA(row), lseB(row)};
    Scalar top = lses.max();
    Scalar sum = lses.factor(lses.a, acc) + lses.factor(lses.b, acc);
    Scalar merged = convert(convert(top, acc) + log(sum), lseElement);
    // Of inf and NaN the sum is NaN.
    return strictFloat(lses.pick(lses.a, lses.b, select(top == kInf, lses.a + lses.b, merged)));
  });
  p.output(context, contextType);
  p.output(lse, lseType);

  int64_t lanes = lanesFor(cpu, acc);
  OutputLoops out = scheduleOutput(p, context, lanes);
  computeAtRow(p, factorA, out);
  computeAtRow(p, factorB, out);
  scheduleOutput(p, lse, lanes);
  return success();
}

static LogicalResult convertMerge(MergeOp op, FunctionConverter &converter) {
  HostFunction &host = converter.getHost();
  Value destinations[] = {host.getDestination(op.getContext()), host.getDestination(op.getLse())};
  return converter.callOn(destinations, op.getLoc(), "merge", [&](PipelineBuilder &p) {
    return lowerMerge(p, op, converter.getCpu());
  });
}

void attn::addMergeLowerings(Lowerings &lowerings) { lowerings.addComputed(convertMerge); }
