//===- Cases.h - sizes, inputs, and what is expected of them ----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rule for errors: the kernel may be twice as far from float64 as the plain
// computation in the same types is (summed from either end, whichever is worse), and
// 4 eps of the largest result on top.
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_TOOLS_ATTNC_CASES_H
#define ATTNC_TOOLS_ATTNC_CASES_H

#include "Evaluate.h"
#include "Inputs.h"

#include "attnc/Cost/Cost.h"
#include "attnc/Dialect/Attn/Sizes.h"

#include "llvm/ADT/MapVector.h"

namespace attnc {

/// The size of each symbol.
using Dims = llvm::MapVector<llvm::StringRef, int64_t>;

/// The same for inputs to be made; `source` is who says so.
Sizes makeSizes(const Dims &dims, llvm::StringRef source);

/// A symbol, and whether it stands in first places alone, as a batch does where it is not
/// named so.
struct Symbol {
  llvm::StringRef name;
  bool isOuter;
};

llvm::SmallVector<Symbol> getSymbols(const Signature &signature);

/// What `--size` gives one symbol.
struct SizeList {
  std::string symbol;
  llvm::SmallVector<int64_t> sizes;
};

/// `--size` in order, copied, since compiling resets the options.
mlir::FailureOr<std::vector<SizeList>> parseSizes();

/// An error where `--size` names no symbol of the spec.
llvm::LogicalResult checkSizes(llvm::ArrayRef<SizeList> lists, llvm::ArrayRef<Symbol> symbols);

/// All combinations, which refer to the lists; the last named size changes fastest.
std::vector<Dims> combine(llvm::ArrayRef<SizeList> lists);

/// Whether a spec, before any pass, names sizes.
bool hasDims(mlir::func::FuncOp function);

/// Ones; odd sizes; sizes that cross the tiles of kernels; smaller ones of each where these
/// are not `affordable`. Lengths of other names are other sizes, unless the spec names none:
/// then only equal ones are sure to fit together. Rows fit into the caches of `graph`.
std::vector<Dims> chooseDims(
    mlir::func::FuncOp graph, llvm::ArrayRef<Symbol> symbols, bool named, const Dims &given,
    llvm::function_ref<bool(const Dims &)> affordable = [](const Dims &) { return true; });

/// What a case costs, the inputs and the reference being the most of it.
class WorkEstimate {
public:
  explicit WorkEstimate(mlir::func::FuncOp graph);
  /// In multiplications.
  double get(const Dims &dims) const;

private:
  Cost cost;
};

/// Makes inputs for sizes of one's choice.
class InputMaker {
public:
  enum Lengths { RandomLengths, FullLengths };

  /// The graph outlives it; null where there is none any more.
  InputMaker(mlir::func::FuncOp graph, Signature signature, std::vector<InputOption> given,
             uint64_t seed, Lengths lengths = RandomLengths);

  /// Random where nothing is given; lengths of keys reach from 0 to all there are, or to what
  /// leaves room for more, or are as long as that, as far as a graph tells what is one. The
  /// inputs given add to the sizes.
  mlir::FailureOr<std::vector<Tensor>> make(Sizes &sizes);

  const Signature &getSignature() const { return signature; }
  /// Which inputs are given.
  llvm::ArrayRef<bool> getGiven() const { return isGiven; }

private:
  mlir::func::FuncOp graph;
  Signature signature;
  std::vector<InputOption> given;
  llvm::SmallVector<bool> isGiven;
  uint64_t seed;
  Lengths lengths;
  std::optional<mlir::attn::SizeTracer> tracer;
};

/// One result by the reference.
struct Expected {
  mlir::attn::reference::Array exact;
  /// By the plain computations.
  std::vector<mlir::attn::reference::Array> plain;

  int64_t size() const { return exact.size(); }
  double getWanted(int64_t at) const;
  /// Of the plain computations the one that is further off.
  double getRough(int64_t at) const;
  /// The error that a kernel may have in any element.
  double getAllowed() const;
};

/// What the graph's results on these inputs are to be.
mlir::FailureOr<std::vector<Expected>> expectResults(Graph &graph, llvm::ArrayRef<Tensor> inputs);

/// Whether both are NaN, or the same infinity.
bool isSameSpecial(double x, double y);

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_CASES_H
