//===- Verification.cpp - compare kernels with the reference --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Verification/Verification.h"

#include "attnc/Diagnostics/Terminal.h"
#include "attnc/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace attnc;

bool Case::isGood() const {
  return llvm::all_of(results, [](const Comparison &result) { return result.isGood(); });
}

Verification::Verification(Graph &graph, Graph &fused, const Signature &signature, bool named,
                           Kernel &kernel, VerifyOptions options)
    : graph(graph), fused(fused), signature(signature), named(named), kernel(kernel),
      options(std::move(options)),
      maker(graph.getFunction(), signature, this->options.given, this->options.seed),
      work(graph.getFunction()) {}

/// All combinations of `--size` with the sizes of given inputs; the usual sizes for other symbols.
FailureOr<std::vector<Dims>> Verification::chooseSizes() {
  Sizes ofInputs;
  if (failed(bindInputs(signature, options.given, ofInputs)))
    return failure();
  auto affordable = [&](const Dims &dims) { return options.allCases || isAffordable(work, dims); };
  SmallVector<Symbol> symbols = getSymbols(signature);
  std::vector<Dims> sizes;
  for (Dims wanted : combine(options.sizes)) {
    for (const Symbol &symbol : symbols)
      if (auto size = ofInputs.get(symbol.name); size && !wanted.count(symbol.name))
        wanted[symbol.name] = *size;
    llvm::append_range(sizes, chooseDims(graph.getFunction(), symbols, named, wanted, affordable));
  }
  return sizes;
}

/// Whether a call refuses other elements of the argument: it names pages that rows are appended to,
/// none twice, is offsets of packed rows, or counts the keys of last pages.
static bool isChecked(BlockArgument argument) {
  return llvm::any_of(argument.getUsers(), [&](Operation *user) {
    auto append = dyn_cast<mlir::attn::AppendPagesOp>(user);
    auto count = dyn_cast<mlir::attn::PageLengthsOp>(user);
    return (append && append.getTable() == argument) || (count && count.getLast() == argument) ||
           llvm::any_of(mlir::attn::getPackedRows(user),
                        [&](auto &packed) { return packed.offsets == argument; });
  });
}

static SmallVector<Comparison> compare(ArrayRef<Tensor> outputs, ArrayRef<Expected> expected) {
  SmallVector<Comparison> results;
  for (auto [ours, wanted] : llvm::zip_equal(outputs, expected))
    results.push_back(attnc::compare(ours, wanted));
  return results;
}

/// Takes the comparison with the fused graph if that is good: NaN + -inf is NaN, but a fused
/// attention masks the key.
LogicalResult Verification::acceptHidden(ArrayRef<Tensor> inputs, ArrayRef<Tensor> outputs,
                                         Case &tested) {
  FailureOr<std::vector<Expected>> expected = expectResults(fused, inputs);
  if (failed(expected))
    return failure();
  Case ofFused{tested.dims, tested.inputs, ::compare(outputs, *expected)};
  if (ofFused.isGood())
    tested = std::move(ofFused);
  return success();
}

FailureOr<Case> Verification::verify(const PlannedCase &planned) {
  Sizes sizes = makeSizes(planned.dims, "--size");
  FailureOr<std::vector<Tensor>> inputs = maker.make(sizes);
  if (failed(inputs))
    return failure();
  for (auto [index, tensor] : llvm::enumerate(*inputs))
    if (!maker.getGiven()[index] && !isChecked(graph.getFunction().getArgument(index)))
      planned.kind.apply(index, tensor);
  FailureOr<std::vector<Expected>> expected = expectResults(graph, *inputs);
  FailureOr<std::vector<Tensor>> outputs =
      makeOutputs(signature, sizes, graph.getFunction(), *inputs, graph.getPath());
  if (failed(expected) || failed(outputs) || failed(kernel.call(*inputs, *outputs)))
    return failure();
  Case result{planned.dims, planned.kind.describe(signature), ::compare(*outputs, *expected)};
  if (planned.kind.kind == InputKind::Special && !result.isGood() &&
      failed(acceptHidden(*inputs, *outputs, result)))
    return failure();
  return result;
}

FailureOr<std::vector<Case>> Verification::run(llvm::function_ref<void(const Case &)> seen) {
  FailureOr<std::vector<Dims>> sizes = chooseSizes();
  if (failed(sizes))
    return failure();
  std::vector<PlannedCase> planned = listCases(*sizes, getInputKinds(signature, maker.getGiven()));
  leftOut = options.allCases ? 0 : dropCases(planned, work);
  std::vector<Case> cases;
  for (const PlannedCase &next : planned) {
    if (!next.runs)
      continue;
    FailureOr<Case> tested = [&] {
      Progress progress("case " + Twine(cases.size() + 1) + " of " +
                        Twine(planned.size() - leftOut) + ": " + next.kind.describe(signature));
      return verify(next);
    }();
    if (failed(tested))
      return failure();
    seen(*tested);
    cases.push_back(std::move(*tested));
  }
  return cases;
}
