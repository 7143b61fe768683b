//===- Verify.cpp - attnc verify ------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rule for errors: the kernel may be twice as far from float64 as the plain
// computation in the same types is (summed from either end, whichever is worse), and
// 4 eps of the largest result on top.
//
//===----------------------------------------------------------------------===//

#include "Evaluate.h"
#include "Inputs.h"
#include "Kernel.h"
#include "Options.h"
#include "Report.h"
#include "Spec.h"

#include "attnc/Dialect/Attn/Attn.h"
#include "attnc/Dialect/Attn/Sizes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace attnc;
using mlir::attn::reference::Arithmetic;
using mlir::attn::reference::Array;
namespace cl = llvm::cl;
namespace json = llvm::json;

static cl::list<std::string> dimTexts("dims", cl::CommaSeparated, cl::value_desc("len=33,batch=2"),
                                      cl::desc("Sizes of dimensions instead of the usual several"),
                                      cl::cat(category()), cl::sub(verifyCommand()));
static cl::opt<std::string> kernelPath("kernel", cl::value_desc("file"),
                                       cl::desc("Compile this instead of SPEC: an edited schedule"),
                                       cl::cat(category()), cl::sub(verifyCommand()));
static cl::opt<bool> asJson("json", cl::desc("Print JSON instead of words"), cl::cat(category()),
                            cl::sub(verifyCommand()));

static constexpr llvm::StringLiteral examples = R"(
Runs the compiled kernel beside the reference (float64, plain loops) for several sizes, on
normal inputs, on large ones, on empty lengths and false masks, and with NaN and infinities
in each input. Allowed is twice the error that a plain computation in the spec's own types
makes, and 4 eps of the largest result. NaN and infinities must stand where they belong.

Examples:
  attnc verify spec.mlir
  attnc verify spec.mlir --dims batch=1,len=500 --seed 7
  attnc verify spec.mlir --input lengths=@lengths.npy
  attnc compile spec.mlir --emit halide -o - > tuned.mlir
  attnc verify spec.mlir --kernel tuned.mlir            an edited schedule
)";

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// The size of each symbol.
using Dims = llvm::MapVector<StringRef, int64_t>;

static FailureOr<llvm::StringMap<int64_t>> parseDims() {
  llvm::StringMap<int64_t> dims;
  for (StringRef text : dimTexts) {
    auto [symbol, number] = text.split('=');
    int64_t size;
    if (symbol.empty() || number.getAsInteger(10, size) || size < 1)
      return reportUsage("--dims", "expected SYMBOL=SIZE, found '" + text + "'");
    dims[symbol] = size;
  }
  return dims;
}

namespace {
/// A symbol, and whether it stands in first places alone, as a batch does.
struct Symbol {
  StringRef name;
  bool isOuter;
};
} // namespace

static SmallVector<Symbol> getSymbols(const Signature &signature) {
  llvm::MapVector<StringRef, bool> found;
  for (const Parameter &input : signature.inputs)
    for (auto [dim, symbol] : llvm::enumerate(input.symbols))
      if (!symbol.empty() && ShapedType::isDynamic(input.shape[dim]))
        found.insert({symbol, true}).first->second &= dim == 0;
  return llvm::map_to_vector(found, [](auto entry) { return Symbol{entry.first, entry.second}; });
}

/// Ones; odd sizes; sizes that cross the tiles of kernels. Lengths of other names are other
/// sizes, unless the spec names none: then only equal ones are sure to fit together.
static std::vector<Dims> chooseDims(ArrayRef<Symbol> symbols, bool named,
                                    const llvm::StringMap<int64_t> &given) {
  static constexpr int64_t outer[] = {1, 2, 1};
  static constexpr int64_t inner[][3] = {{1, 1, 1}, {33, 21, 40}, {130, 197, 150}};
  std::vector<Dims> all;
  for (auto [outerSize, innerSizes] : llvm::zip(outer, inner)) {
    Dims dims;
    unsigned next = 0;
    for (const Symbol &symbol : symbols) {
      auto wanted = given.find(symbol.name);
      if (wanted != given.end())
        dims[symbol.name] = wanted->second;
      else
        dims[symbol.name] = symbol.isOuter ? outerSize : innerSizes[named ? next++ % 3 : 0];
    }
    if (all.empty() ||
        llvm::any_of(dims, [&](auto dim) { return all.back()[dim.first] != dim.second; }))
      all.push_back(dims);
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Inputs
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

/// The tensors that a region of `op` compares the argument with are as long as this.
static std::optional<int64_t> getKeyCount(Operation *op, const Dims &dims,
                                          mlir::attn::SizeTracer &tracer) {
  Value tensor;
  int64_t dim = 3;
  if (isa<mlir::attn::MaskOp, mlir::attn::ModifyScoreOp>(op))
    tensor = op->getOperand(0);
  if (auto attention = dyn_cast<mlir::attn::AttentionOp>(op)) {
    tensor = attention.getKey();
    dim = 2;
  }
  std::optional<mlir::attn::Size> size =
      tensor ? tracer.trace(tensor, dim) : std::optional<mlir::attn::Size>();
  if (!size)
    return std::nullopt;
  StringAttr symbol = tracer.getSymbol(*size);
  auto known = symbol ? dims.find(symbol.getValue()) : dims.end();
  return size->isConstant()    ? std::optional(size->constant)
         : known != dims.end() ? std::optional(known->second)
                               : std::nullopt;
}

/// Lengths of keys reach from 0 to all of them. Other integers stay as they are: below
/// what consumes them.
static void widenLengths(Tensor &tensor, BlockArgument argument, const Dims &dims,
                         mlir::attn::SizeTracer &tracer, uint64_t seed) {
  if (tensor.getShape().size() != 1 || isa<FloatType>(tensor.getElementType()))
    return;
  std::mt19937_64 bits(seed);
  for (Operation *user : argument.getUsers())
    if (std::optional<int64_t> keys = getKeyCount(user->getParentOp(), dims, tracer)) {
      for (int64_t index = 0; index < tensor.size(); ++index)
        tensor.set(index, bits() % (*keys + 1));
      return;
    }
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

static double getEps(Type type) {
  auto floatType = dyn_cast<FloatType>(type);
  return floatType ? std::ldexp(1.0, 1 - int(floatType.getFPMantissaWidth())) : 0;
}

static bool isSameSpecial(double x, double y) { return std::isnan(x) ? std::isnan(y) : x == y; }

static Comparison compare(const Tensor &ours, const Array &plain, const Array &reversed,
                          const Array &exact) {
  Comparison comparison;
  double plainError = 0, largest = 0;
  auto get = [&](const Array &array, int64_t at) {
    return array.isFloat() ? array.values[at].real : double(array.values[at].integer);
  };
  for (int64_t at = 0; at < ours.size(); ++at) {
    double wanted = get(exact, at), rough = get(plain, at), found = ours.get(at);
    double other = get(reversed, at);
    if (std::abs(other - wanted) > std::abs(rough - wanted))
      rough = other;
    if (std::isfinite(wanted) && std::isfinite(rough)) {
      plainError = std::max(plainError, std::abs(rough - wanted));
      largest = std::max(largest, std::abs(wanted));
      if (std::isfinite(found))
        comparison.error = std::max(comparison.error, std::abs(found - wanted));
      else
        ++comparison.misplaced;
    } else if (isSameSpecial(wanted, rough)) {
      comparison.misplaced += !isSameSpecial(wanted, found);
    } // else the types decide whether it overflows
  }
  double eps = getEps(ours.getElementType());
  // The plain computation treats f64 as f32.
  if (ours.getElementType().isF64())
    plainError *= std::ldexp(1.0, 24 - 53);
  comparison.allowed = 2 * plainError + 4 * eps * largest;
  return comparison;
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

namespace {
class Verifier {
public:
  Verifier(Graph graph, Kernel &kernel, Signature signature, std::vector<InputOption> given,
           uint64_t seed)
      : graph(std::move(graph)), kernel(kernel), signature(std::move(signature)),
        given(std::move(given)), seed(seed), tracer(this->graph.getFunction()) {}

  FailureOr<Case> verify(const Dims &dims, Kind kind);
  SmallVector<bool> getGiven() const;

private:
  FailureOr<std::vector<Tensor>> makeInputs(const Dims &dims, Kind kind, Sizes &sizes);

  Graph graph;
  Kernel &kernel;
  Signature signature;
  std::vector<InputOption> given;
  uint64_t seed;
  mlir::attn::SizeTracer tracer;
};
} // namespace

SmallVector<bool> Verifier::getGiven() const {
  return llvm::map_to_vector(signature.inputs, [&](const Parameter &input) {
    return llvm::any_of(given, [&](const InputOption &o) { return o.name == input.name; });
  });
}

FailureOr<std::vector<Tensor>> Verifier::makeInputs(const Dims &dims, Kind kind, Sizes &sizes) {
  SmallVector<bool> isGiven = getGiven();
  std::vector<InputOption> options = given;
  for (auto [index, input] : llvm::enumerate(signature.inputs)) {
    if (isGiven[index])
      continue;
    InputOption random{input.name, InputOption::Random, "", input.shape, /*hasShape=*/true};
    for (auto [size, symbol] : llvm::zip(random.shape, input.symbols))
      if (ShapedType::isDynamic(size))
        size = dims.lookup(symbol);
    options.push_back(random);
  }
  FailureOr<std::vector<Tensor>> inputs = attnc::makeInputs(signature, options, seed, sizes);
  if (failed(inputs))
    return failure();
  for (auto [index, tensor] : llvm::enumerate(*inputs))
    if (!isGiven[index]) {
      widenLengths(tensor, graph.getFunction().getArgument(index), dims, tracer, seed + index);
      applyKind(kind, index, tensor);
    }
  return inputs;
}

FailureOr<Case> Verifier::verify(const Dims &dims, Kind kind) {
  Sizes sizes;
  FailureOr<std::vector<Tensor>> inputs = makeInputs(dims, kind, sizes);
  if (failed(inputs))
    return failure();
  auto exact = graph.evaluate(*inputs, Arithmetic::Exact);
  auto plain = graph.evaluate(*inputs, Arithmetic::Plain);
  auto reversed = graph.evaluate(*inputs, Arithmetic::PlainReversed);
  FailureOr<std::vector<Tensor>> outputs = makeOutputs(signature, sizes);
  if (failed(exact) || failed(plain) || failed(reversed) || failed(outputs) ||
      failed(kernel.call(*inputs, *outputs)))
    return failure();
  Case result{dims, kind.describe(signature), {}};
  for (auto [ours, rough, other, wanted] : llvm::zip_equal(*outputs, *plain, *reversed, *exact))
    result.results.push_back(compare(ours, rough, other, wanted));
  return result;
}

//===----------------------------------------------------------------------===//
// Report
//===----------------------------------------------------------------------===//

static void print(const Case &tested, const Signature &signature) {
  llvm::raw_ostream &os = llvm::outs();
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
    dims[symbol] = size;
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

static LogicalResult report(ArrayRef<Case> cases, const Signature &signature, StringRef path,
                            bool inJson) {
  size_t wrong = llvm::count_if(cases, [](const Case &tested) {
    return !llvm::all_of(tested.results, [](const Comparison &r) { return r.isGood(); });
  });
  if (inJson) {
    json::Array all;
    for (const Case &tested : cases)
      all.push_back(toJson(tested, signature));
    llvm::outs() << llvm::formatv(
        "{0:2}\n", json::Value(json::Object{{"pass", wrong == 0}, {"cases", std::move(all)}}));
  } else if (wrong == 0) {
    llvm::outs() << cases.size() << " cases, all within the allowed error\n";
  }
  if (wrong > 0)
    return reportError(path, "expected errors within those allowed, found " + Twine(wrong) +
                                 " of " + Twine(cases.size()) + " cases beyond");
  return success();
}

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

static bool hasDims(func::FuncOp function) {
  return llvm::any_of(llvm::seq(function.getNumArguments()),
                      [&](unsigned arg) { return function.getArgAttr(arg, "attn.dims"); });
}

static LogicalResult checkDims(const llvm::StringMap<int64_t> &given, ArrayRef<Symbol> symbols) {
  auto names = llvm::map_range(symbols, [](const Symbol &s) { return s.name; });
  for (const auto &dim : given)
    if (!llvm::is_contained(names, dim.getKey()))
      return reportError("--dims", "expected one of " + llvm::join(names, ", ") + ", found '" +
                                       dim.getKey() + "'");
  return success();
}

static LogicalResult runVerify() {
  // Compiling resets the options.
  const bool inJson = asJson;
  const std::string path = specPath;
  const uint64_t inputSeed = seed;
  FailureOr<std::vector<InputOption>> given = parseInputs(inputTexts);
  FailureOr<llvm::StringMap<int64_t>> givenDims = parseDims();
  if (failed(given) || failed(givenDims))
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
  SmallVector<Symbol> symbols = getSymbols(signature);
  if (failed(checkDims(*givenDims, symbols)))
    return failure();
  std::unique_ptr<Spec> other = kernelPath.empty() ? nullptr : Spec::load(kernelPath);
  if (!kernelPath.empty() && !other)
    return failure();
  std::unique_ptr<Kernel> kernel = Kernel::compile(other ? *other : *spec, *target);
  if (!kernel)
    return failure();

  Verifier verifier(std::move(*graph), *kernel, signature, *given, inputSeed);
  std::vector<Case> cases;
  for (const Dims &dims : chooseDims(symbols, named, *givenDims)) {
    // Where there is one of everything, nothing is left beside a NaN.
    bool single = !dims.empty() && llvm::all_of(dims, [](auto dim) { return dim.second == 1; });
    for (Kind kind : getKinds(signature, verifier.getGiven())) {
      if (single && kind.kind == Kind::Special)
        continue;
      FailureOr<Case> tested = verifier.verify(dims, kind);
      if (failed(tested))
        return failure();
      cases.push_back(std::move(*tested));
      if (!inJson)
        print(cases.back(), signature);
    }
  }
  return report(cases, signature, path, inJson);
}

const Command attnc::verify = {verifyCommand(), runVerify, examples};
