//===- Cases.cpp - sizes, inputs, and what is expected of them ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include "Options.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Attributes.h"

#include "llvm/ADT/StringExtras.h"

#include <array>
#include <cmath>
#include <random>

using namespace mlir;
using namespace attnc;
using mlir::attn::reference::Arithmetic;
using mlir::attn::reference::Array;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

Sizes attnc::makeSizes(const Dims &dims, StringRef source) {
  Sizes sizes;
  for (auto [symbol, size] : dims)
    sizes.set(symbol, size, source);
  return sizes;
}

SmallVector<Symbol> attnc::getSymbols(const Signature &signature) {
  llvm::MapVector<StringRef, bool> found;
  for (const Parameter &input : signature.inputs)
    for (auto [dim, symbol] : llvm::enumerate(input.symbols))
      if (!symbol.empty() && ShapedType::isDynamic(input.shape[dim]))
        found.insert({symbol, true}).first->second &= dim == 0 || symbol == "batch";
  return llvm::map_to_vector(found, [](auto entry) { return Symbol{entry.first, entry.second}; });
}

/// `len=256,512`; a symbol stands before the first of its sizes.
static LogicalResult parseSizes(StringRef text, std::vector<SizeList> &lists) {
  StringRef symbol;
  for (StringRef word : llvm::split(text, ',')) {
    if (word.contains('=')) {
      std::tie(symbol, word) = word.split('=');
      if (llvm::any_of(lists, [&](const SizeList &list) { return list.symbol == symbol; }))
        return reportUsage("--size", "expected '" + symbol + "' once, found it twice");
      lists.push_back({symbol.str(), {}});
    }
    int64_t size;
    if (symbol.empty() || word.getAsInteger(10, size) || size < 0)
      return reportUsage("--size", "expected SYMBOL=SIZE,…, found '" + text + "'");
    lists.back().sizes.push_back(size);
  }
  return success();
}

FailureOr<std::vector<SizeList>> attnc::parseSizes() {
  std::vector<SizeList> lists;
  for (StringRef text : sizeTexts)
    if (failed(::parseSizes(text, lists)))
      return failure();
  return lists;
}

LogicalResult attnc::checkSizes(ArrayRef<SizeList> lists, ArrayRef<Symbol> symbols) {
  auto names = llvm::map_range(symbols, [](const Symbol &symbol) { return symbol.name; });
  for (const SizeList &list : lists)
    if (!llvm::is_contained(names, list.symbol))
      return reportError("--size", "expected " +
                                       (symbols.empty() ? "no sizes, as all are fixed"
                                                        : "one of " + llvm::join(names, ", ")) +
                                       ", found '" + list.symbol + "'");
  return success();
}

std::vector<Dims> attnc::combine(ArrayRef<SizeList> lists) {
  std::vector<Dims> all(1);
  for (const SizeList &list : lists) {
    std::vector<Dims> longer;
    for (const Dims &dims : all)
      for (int64_t size : list.sizes) {
        longer.push_back(dims);
        longer.back()[list.symbol] = size;
      }
    all = std::move(longer);
  }
  return all;
}

bool attnc::hasDims(func::FuncOp function) {
  return llvm::any_of(llvm::seq(function.getNumArguments()), [&](unsigned arg) {
    return function.getArgAttr(arg, mlir::attn::kDimsAttr);
  });
}

/// The size of a tensor as far as it follows from those of symbols.
static std::optional<int64_t> getSize(Value tensor, int64_t dim, mlir::attn::SizeTracer &tracer,
                                      llvm::function_ref<std::optional<int64_t>(StringRef)> get) {
  std::optional<mlir::attn::Size> size = tracer.trace(tensor, dim);
  if (!size)
    return std::nullopt;
  if (size->isConstant())
    return size->constant;
  StringAttr symbol = tracer.getSymbol(*size);
  return symbol ? get(symbol) : std::nullopt;
}

/// No more rows than a cache has room for, where `given` leaves the choice.
static void makeRoom(func::FuncOp graph, Dims &dims, const Dims &given) {
  mlir::attn::SizeTracer tracer(graph);
  auto get = [&](StringRef symbol) {
    auto known = dims.find(symbol);
    return known == dims.end() ? std::nullopt : std::optional(known->second);
  };
  auto getFree = [&](Value tensor) -> int64_t * {
    std::optional<mlir::attn::Size> size = tracer.trace(tensor, 2);
    StringAttr symbol = size && !size->isConstant() ? tracer.getSymbol(*size) : StringAttr();
    auto known = symbol && !given.count(symbol) ? dims.find(symbol) : dims.end();
    return known == dims.end() ? nullptr : &known->second;
  };
  graph.walk([&](mlir::attn::AppendCacheOp op) {
    auto rows = getSize(op.getRows(), 2, tracer, get),
         room = getSize(op.getCache(), 2, tracer, get);
    if (!rows || !room || *rows <= *room)
      return;
    if (int64_t *free = getFree(op.getRows()))
      *free = *room;
    else if (int64_t *free = getFree(op.getCache()))
      *free = *rows;
  });
}

std::vector<Dims> attnc::chooseDims(func::FuncOp graph, ArrayRef<Symbol> symbols, bool named,
                                    const Dims &given,
                                    llvm::function_ref<bool(const Dims &)> affordable) {
  static constexpr int64_t outer[] = {1, 2, 1};
  static constexpr std::array<int64_t, 3> inner[] = {{1, 1, 1}, {33, 21, 40}, {130, 197, 150}};
  std::vector<Dims> all;
  for (auto sizes : llvm::zip(outer, inner)) {
    int64_t outerSize = std::get<0>(sizes);
    std::array<int64_t, 3> innerSizes = std::get<1>(sizes);
    auto make = [&] {
      Dims dims;
      unsigned next = 0;
      for (const Symbol &symbol : symbols) {
        auto wanted = given.find(symbol.name);
        if (wanted != given.end())
          dims[symbol.name] = wanted->second;
        else
          dims[symbol.name] = symbol.isOuter ? outerSize : innerSizes[named ? next++ % 3 : 0];
      }
      makeRoom(graph, dims, given);
      return dims;
    };
    while (!affordable(make()) && llvm::any_of(innerSizes, [](int64_t size) { return size > 2; }))
      for (int64_t &size : innerSizes)
        size = std::min(size, size / 2 + 1);
    Dims dims = make();
    if (all.empty() ||
        llvm::any_of(dims, [&](auto dim) { return all.back()[dim.first] != dim.second; }))
      all.push_back(dims);
  }
  return all;
}

WorkEstimate::WorkEstimate(func::FuncOp graph) {
  CostModel costs(graph);
  graph.walk([&](Operation *op) {
    Cost each = costs.get(op);
    cost.flops.add(each.flops);
    cost.bytes.add(each.bytes);
  });
}

/// An element is made, converted and handed on at about the cost of 12 multiplications.
static constexpr double kWorkPerByte = 3;

double WorkEstimate::get(const Dims &dims) const {
  int64_t largest = 1;
  for (auto [symbol, size] : dims)
    largest = std::max(largest, size);
  auto getSize = [&](StringRef symbol) -> std::optional<int64_t> {
    auto known = dims.find(symbol);
    return known == dims.end() ? largest : known->second; // a computed one
  };
  return *cost.flops.evaluate(getSize) / 2 + kWorkPerByte * *cost.bytes.evaluate(getSize);
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// The most that a length may be which `user` reads: as many keys as the region that it is in
/// compares it with, or what leaves room in a cache.
static std::optional<int64_t> getLongest(Operation *user, const Sizes &sizes,
                                         mlir::attn::SizeTracer &tracer) {
  auto get = [&](Value tensor, int64_t dim) {
    return getSize(tensor, dim, tracer, [&](StringRef symbol) { return sizes.get(symbol); });
  };
  if (auto append = dyn_cast<mlir::attn::AppendCacheOp>(user)) {
    auto rows = get(append.getRows(), 2), all = get(append.getCache(), 2);
    return rows && all ? std::optional(std::max<int64_t>(*all - *rows, 0)) : std::nullopt;
  }
  Operation *op = user->getParentOp();
  if (isa<mlir::attn::MaskOp, mlir::attn::ModifyScoreOp>(op))
    return get(op->getOperand(0), 3);
  if (auto attention = dyn_cast<mlir::attn::AttentionOp>(op))
    return get(attention.getKey(), 2);
  return std::nullopt;
}

/// The most that the argument may be if it is a length. Other integers are best left as they
/// are: below what consumes them.
static std::optional<int64_t> getLongest(BlockArgument argument, const Sizes &sizes,
                                         mlir::attn::SizeTracer &tracer) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  if (!type || type.getRank() != 1 || isa<FloatType>(type.getElementType()))
    return std::nullopt;
  std::optional<int64_t> longest;
  for (Operation *user : argument.getUsers())
    if (std::optional<int64_t> most = getLongest(user, sizes, tracer))
      longest = std::min(longest.value_or(*most), *most);
  return longest;
}

static void fillLengths(Tensor &tensor, int64_t longest, InputMaker::Lengths lengths,
                        uint64_t seed) {
  std::mt19937_64 bits(seed);
  for (int64_t index = 0; index < tensor.size(); ++index)
    tensor.set(index, lengths == InputMaker::FullLengths ? longest : bits() % (longest + 1));
}

/// A mask without a single 1 would hide all that lies behind it.
static void avoidZeros(Tensor &tensor, int64_t bound) {
  auto indices = llvm::seq(tensor.size());
  if (isa<FloatType>(tensor.getElementType()) || bound < 2 || tensor.size() == 0 ||
      !llvm::all_of(indices, [&](int64_t index) { return tensor.get(index) == 0; }))
    return;
  tensor.set(tensor.size() - 1, 1);
}

InputMaker::InputMaker(func::FuncOp graph, Signature signature, std::vector<InputOption> given,
                       uint64_t seed, Lengths lengths)
    : graph(graph), signature(std::move(signature)), given(std::move(given)), seed(seed),
      lengths(lengths) {
  if (graph)
    tracer.emplace(graph);
  isGiven = llvm::map_to_vector(this->signature.inputs, [&](const Parameter &input) {
    return llvm::any_of(this->given, [&](const InputOption &o) { return o.name == input.name; });
  });
}

FailureOr<std::vector<Tensor>> InputMaker::make(Sizes &sizes) {
  std::vector<InputOption> options = given;
  for (auto [index, input] : llvm::enumerate(signature.inputs))
    if (!isGiven[index])
      options.push_back({input.name, InputOption::Random, "", {}});
  FailureOr<std::vector<Tensor>> inputs = makeInputs(signature, options, seed, sizes);
  if (failed(inputs))
    return failure();
  for (auto [index, tensor] : llvm::enumerate(*inputs))
    if (!isGiven[index]) {
      std::optional<int64_t> longest;
      if (tracer)
        longest = getLongest(graph.getArgument(index), sizes, *tracer);
      if (longest)
        fillLengths(tensor, *longest, lengths, seed + index);
      avoidZeros(tensor, longest ? *longest + 1 : getIntegerBound(signature, sizes));
    }
  return inputs;
}

//===----------------------------------------------------------------------===//
// Expectations
//===----------------------------------------------------------------------===//

static double getEps(Type type) {
  auto floatType = dyn_cast<FloatType>(type);
  return floatType ? std::ldexp(1.0, 1 - int(floatType.getFPMantissaWidth())) : 0;
}

static double get(const Array &array, int64_t at) {
  return array.isFloat() ? array.values[at].real : double(array.values[at].integer);
}

double Expected::getWanted(int64_t at) const { return get(exact, at); }

/// Infinite where one is special, and the other isn't the same.
static double getDistance(double x, double y) {
  if (isSameSpecial(x, y))
    return 0;
  return std::isfinite(x - y) ? std::abs(x - y) : INFINITY;
}

double Expected::getRough(int64_t at) const {
  double wanted = get(exact, at), rough = get(plain.front(), at);
  for (const Array &other : ArrayRef(plain).drop_front())
    if (getDistance(get(other, at), wanted) > getDistance(rough, wanted))
      rough = get(other, at);
  return rough;
}

double Expected::getAllowed() const {
  double plainError = 0, largest = 0;
  for (int64_t at = 0; at < size(); ++at) {
    double wanted = getWanted(at), rough = getRough(at);
    if (!std::isfinite(wanted) || !std::isfinite(rough))
      continue;
    plainError = std::max(plainError, std::abs(rough - wanted));
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
  if (failed(exact)) // as the others would, with the same words
    return failure();
  std::vector<Expected> results(exact->size());
  for (auto [result, array] : llvm::zip_equal(results, *exact))
    result.exact = std::move(array);
  SmallVector<Arithmetic> plain = {Arithmetic::Plain, Arithmetic::PlainReversed,
                                   Arithmetic::PlainHalves};
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
