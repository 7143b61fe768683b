//===- Verify.cpp - attnc verify ------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the kernel beside the reference, and holds it to the rule for errors of Cases.h.
//
//===----------------------------------------------------------------------===//

#include "Cases.h"
#include "Kernel.h"
#include "Options.h"
#include "Spec.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Diagnostics/Terminal.h"
#include "attnc/Text/Escape.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace mlir;
using namespace attnc;
namespace cl = llvm::cl;
namespace json = llvm::json;

static cl::opt<std::string> kernelPath("kernel", cl::value_desc("file"),
                                       cl::desc("Compile this instead of SPEC: an edited schedule"),
                                       cl::cat(category()), cl::sub(verifyCommand()));
static cl::opt<bool> allCases("all", cl::desc("Every case, however long a large graph takes"),
                              cl::cat(category()), cl::sub(verifyCommand()));
static cl::opt<bool> asJson("json", cl::desc("Print JSON instead of words"), cl::cat(category()),
                            cl::sub(verifyCommand()));

static constexpr llvm::StringLiteral examples = R"(
Runs the compiled kernel beside the reference (float64, plain loops) for several sizes, on
normal inputs, on large ones, on empty lengths and false masks, and with NaN and infinities
in each input. Allowed is twice the error that a plain computation in the spec's own types
makes, and 4 eps of the largest result. NaN and infinities must stand where they belong.
Large graphs get smaller sizes and fewer cases, and the number of those left out is said.

Examples:
  attnc verify spec.mlir
  attnc verify spec.mlir --size batch=1,len=500 --seed 7
  attnc verify encoder.mlir --size batch=2,len=100 --all
  attnc verify spec.mlir --input lengths=@lengths.npy
  attnc compile spec.mlir --emit halide -o - > tuned.mlir
  attnc verify spec.mlir --kernel tuned.mlir            an edited schedule
)";

//===----------------------------------------------------------------------===//
// Kinds of inputs
//===----------------------------------------------------------------------===//

namespace {
/// One kind of inputs. A special value goes into one input at a time.
struct Kind {
  enum { Normal, Large, Empty, Special } kind;
  size_t input = 0;

  std::string describe(const Signature &signature) const {
    static constexpr const char *names[] = {"normal", "large", "empty", "NaN and inf in "};
    return names[kind] + (kind == Special ? signature.inputs[input].name : "");
  }
};
} // namespace

static SmallVector<Kind> getKinds(const Signature &signature, ArrayRef<bool> isGiven) {
  SmallVector<Kind> kinds = {{Kind::Normal}, {Kind::Large}};
  bool hasIntegers = false;
  for (auto [index, input] : llvm::enumerate(signature.inputs))
    if (!isGiven[index] && isa<FloatType>(input.elementType))
      kinds.push_back({Kind::Special, index});
    else
      hasIntegers |= !isGiven[index];
  if (hasIntegers)
    kinds.push_back({Kind::Empty});
  return kinds;
}

static void applyKind(Kind kind, size_t index, Tensor &tensor) {
  bool isFloat = isa<FloatType>(tensor.getElementType());
  // Products of two are about 1e4. Weights, of rank 2 and below, would add to that.
  if (kind.kind == Kind::Large && isFloat && tensor.getShape().size() > 2)
    for (int64_t at = 0; at < tensor.size(); ++at)
      tensor.set(at, 100 * tensor.get(at));
  if (kind.kind == Kind::Empty && !isFloat)
    for (int64_t at = 0; at < (tensor.size() + 1) / 2; ++at)
      tensor.set(at, 0);
  if (kind.kind == Kind::Special && kind.input == index && tensor.size() > 0) {
    tensor.set(tensor.size() - 1, NAN);
    if (tensor.size() > 2)
      tensor.set(tensor.size() / 2, INFINITY);
  }
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

/// What all cases may take, in multiplications: some seconds.
static constexpr double kBudget = 4e9;
/// What one size may take, so that other sizes and kinds of inputs have their share.
static constexpr double kBudgetOfSize = kBudget / 8;

namespace {
struct PlannedCase {
  Dims dims;
  Kind kind;
  bool runs = true;
};
} // namespace

static std::vector<PlannedCase> listCases(ArrayRef<Dims> sizes, ArrayRef<Kind> kinds) {
  std::vector<PlannedCase> cases;
  for (const Dims &dims : sizes) {
    // Where there is one of everything, nothing is left beside a NaN.
    bool single = !dims.empty() && llvm::all_of(dims, [](auto dim) { return dim.second == 1; });
    for (Kind kind : kinds)
      if (!single || kind.kind != Kind::Special)
        cases.push_back({dims, kind});
  }
  return cases;
}

/// Every size runs with normal inputs; the other kinds run in their order, small sizes first,
/// as far as the budget reaches.
static size_t leaveOut(std::vector<PlannedCase> &cases, const WorkEstimate &work) {
  double spent = 0;
  for (auto kind : {Kind::Normal, Kind::Large, Kind::Empty, Kind::Special})
    for (PlannedCase &planned : cases) {
      if (planned.kind.kind != kind)
        continue;
      spent += work.get(planned.dims);
      planned.runs = kind == Kind::Normal || spent <= kBudget;
    }
  return llvm::count_if(cases, [](const PlannedCase &planned) { return !planned.runs; });
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

namespace {
struct Comparison {
  double error = 0, allowed = 0;
  /// NaN or infinities where there should be none, or none where there should be.
  int64_t misplaced = 0;

  bool isGood() const { return misplaced == 0 && error <= allowed; }
};

struct Case {
  Dims dims;
  std::string inputs;
  SmallVector<Comparison> results;
};
} // namespace

/// The largest number of a type; what is beyond by an error is infinite.
static double getLargest(Type type) {
  auto floatType = dyn_cast<FloatType>(type);
  return floatType ? APFloat::getLargest(floatType.getFloatSemantics()).convertToDouble()
                   : INFINITY;
}

static Comparison compare(const Tensor &ours, const Expected &expected) {
  Comparison comparison;
  comparison.allowed = expected.getAllowed();
  const double limit = getLargest(ours.getElementType()) - comparison.allowed;
  for (int64_t at = 0; at < ours.size(); ++at) {
    double wanted = expected.getWanted(at), rough = expected.getRough(at), found = ours.get(at);
    if (std::isfinite(wanted) && std::isfinite(rough)) {
      if (std::isfinite(found))
        comparison.error = std::max(comparison.error, std::abs(found - wanted));
      else
        comparison.misplaced +=
            std::abs(wanted) <= limit || found != std::copysign(INFINITY, wanted);
    } else if (isSameSpecial(wanted, rough)) {
      comparison.misplaced += !isSameSpecial(wanted, found);
    } // else the types decide whether it overflows
  }
  return comparison;
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

static FailureOr<Case> verifyCase(Graph &graph, InputMaker &maker, Kernel &kernel, const Dims &dims,
                                  Kind kind) {
  const Signature &signature = maker.getSignature();
  Sizes sizes = makeSizes(dims, "--size");
  FailureOr<std::vector<Tensor>> inputs = maker.make(sizes);
  if (failed(inputs))
    return failure();
  for (auto [index, tensor] : llvm::enumerate(*inputs))
    if (!maker.getGiven()[index])
      applyKind(kind, index, tensor);
  FailureOr<std::vector<Expected>> expected = expectResults(graph, *inputs);
  FailureOr<std::vector<Tensor>> outputs =
      makeOutputs(signature, sizes, graph.getFunction(), *inputs);
  if (failed(expected) || failed(outputs) || failed(kernel.call(*inputs, *outputs)))
    return failure();
  Case result{dims, kind.describe(signature), {}};
  for (auto [ours, wanted] : llvm::zip_equal(*outputs, *expected))
    result.results.push_back(compare(ours, wanted));
  return result;
}

//===----------------------------------------------------------------------===//
// Report
//===----------------------------------------------------------------------===//

static void print(const Case &tested, const Signature &signature) {
  TerminalStream os(llvm::outs());
  for (auto [symbol, size] : tested.dims)
    os << symbol << '=' << size << ' ';
  os << tested.inputs << '\n';
  for (auto [result, output] : llvm::zip(tested.results, signature.outputs)) {
    os << "  " << output.name
       << llvm::format(": error %.2e, allowed %.2e", result.error, result.allowed);
    if (result.misplaced > 0)
      os << ", NaN or infinity misplaced at " << result.misplaced;
    os << (result.isGood() ? "" : "  WRONG") << '\n';
  }
}

static json::Value toJson(const Case &tested, const Signature &signature) {
  json::Object dims;
  for (auto [symbol, size] : tested.dims)
    dims[mlir::attn::escapeJson(symbol)] = size;
  json::Array results;
  for (auto [result, output] : llvm::zip(tested.results, signature.outputs))
    results.push_back(json::Object{{"name", output.name},
                                   {"error", result.error},
                                   {"allowed", result.allowed},
                                   {"misplaced", result.misplaced},
                                   {"pass", result.isGood()}});
  return json::Object{
      {"dims", std::move(dims)}, {"inputs", tested.inputs}, {"results", std::move(results)}};
}

static LogicalResult report(ArrayRef<Case> cases, size_t leftOut, const Signature &signature,
                            StringRef path, bool inJson) {
  size_t wrong = llvm::count_if(cases, [](const Case &tested) {
    return !llvm::all_of(tested.results, [](const Comparison &r) { return r.isGood(); });
  });
  if (inJson) {
    json::Array all;
    for (const Case &tested : cases)
      all.push_back(toJson(tested, signature));
    llvm::outs() << llvm::formatv("{0:2}\n",
                                  json::Value(json::Object{{"pass", wrong == 0},
                                                           {"left_out", int64_t(leftOut)},
                                                           {"cases", std::move(all)}}));
  } else if (wrong == 0) {
    llvm::outs() << cases.size() << " cases, all within the allowed error\n";
  }
  if (!inJson && leftOut > 0)
    llvm::outs() << leftOut << " more left out of a large graph: --all runs them\n";
  if (wrong > 0)
    return reportError(path, "expected errors within those allowed, found " + Twine(wrong) +
                                 " of " + Twine(cases.size()) + " cases beyond");
  return success();
}

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

/// All combinations of `--size` with the sizes of given inputs; of what neither names, the usual
/// ones.
static FailureOr<std::vector<Dims>> chooseSizes(func::FuncOp graph, const Signature &signature,
                                                bool named, ArrayRef<SizeList> lists,
                                                ArrayRef<InputOption> given,
                                                llvm::function_ref<bool(const Dims &)> affordable) {
  Sizes ofInputs;
  if (failed(bindInputs(signature, given, ofInputs)))
    return failure();
  SmallVector<Symbol> symbols = getSymbols(signature);
  std::vector<Dims> sizes;
  for (Dims wanted : combine(lists)) {
    for (const Symbol &symbol : symbols)
      if (auto size = ofInputs.get(symbol.name); size && !wanted.count(symbol.name))
        wanted[symbol.name] = *size;
    llvm::append_range(sizes, chooseDims(graph, symbols, named, wanted, affordable));
  }
  return sizes;
}

static LogicalResult runVerify() {
  // Compiling resets the options.
  const bool inJson = asJson, all = allCases;
  const std::string path = specPath;
  const uint64_t inputSeed = seed;
  FailureOr<std::vector<InputOption>> given = parseInputs(inputTexts);
  FailureOr<std::vector<SizeList>> lists = parseSizes();
  if (failed(given) || failed(lists))
    return failure();
  std::unique_ptr<Spec> spec = Spec::load();
  FailureOr<std::string> target = spec ? getTarget() : FailureOr<std::string>();
  if (failed(target) || failed(checkRunsHere(*target)))
    return failure();
  bool named = hasDims(spec->getFunction());
  FailureOr<Graph> graph = Graph::copy(*spec);
  if (failed(graph) || failed(spec->lower(Stage::Fused, *target)))
    return failure();
  Signature signature = spec->getSignature();
  graph->nameDims(spec->getFunction());
  if (failed(checkSizes(*lists, getSymbols(signature))))
    return failure();
  std::unique_ptr<Spec> other = kernelPath.empty() ? nullptr : Spec::load(kernelPath);
  if (!kernelPath.empty() && !other)
    return failure();
  std::unique_ptr<Kernel> kernel = Kernel::compile(other ? *other : *spec, *target);
  if (!kernel)
    return failure();

  InputMaker maker(graph->getFunction(), signature, *given, inputSeed);
  WorkEstimate work(graph->getFunction());
  auto affordable = [&](const Dims &dims) { return all || work.get(dims) <= kBudgetOfSize; };
  FailureOr<std::vector<Dims>> sizes =
      chooseSizes(graph->getFunction(), signature, named, *lists, *given, affordable);
  if (failed(sizes))
    return failure();
  std::vector<PlannedCase> planned = listCases(*sizes, getKinds(signature, maker.getGiven()));
  size_t leftOut = all ? 0 : leaveOut(planned, work);
  std::vector<Case> cases;
  for (const PlannedCase &next : planned) {
    if (!next.runs)
      continue;
    FailureOr<Case> tested = verifyCase(*graph, maker, *kernel, next.dims, next.kind);
    if (failed(tested))
      return failure();
    cases.push_back(std::move(*tested));
    if (!inJson)
      print(cases.back(), signature);
  }
  return report(cases, leftOut, signature, path, inJson);
}

const Command attnc::verify = {verifyCommand(), runVerify, examples};
