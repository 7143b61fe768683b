//===- Inputs.cpp - what a kernel is run on -------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"

#include "Npy.h"

#include "attnc/Diagnostics/Report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace attnc;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// `2x128x64`
static LogicalResult parseShape(StringRef text, SmallVectorImpl<int64_t> &shape) {
  SmallVector<StringRef> sizes;
  text.split(sizes, 'x');
  for (StringRef size : sizes)
    if (size.getAsInteger(10, shape.emplace_back()) || shape.back() < 0)
      return failure();
  return success(getNumElements(shape).has_value());
}

static FailureOr<InputOption> parseInput(StringRef text) {
  auto wrong = [&] {
    return reportUsage("--input", "expected NAME=@FILE.npy or NAME=random:2x8x64 (zeros, ones), "
                                  "found '" +
                                      text + "'");
  };
  auto [name, source] = text.split('=');
  InputOption option;
  option.name = name.str();
  if (name.empty() || source.empty())
    return wrong();
  if (source.consume_front("@")) {
    option.kind = InputOption::File;
    option.path = source.str();
    return source.empty() ? FailureOr<InputOption>(wrong()) : option;
  }
  auto [kind, shape] = source.split(':');
  int known = llvm::StringSwitch<int>(kind)
                  .Case("random", InputOption::Random)
                  .Case("zeros", InputOption::Zeros)
                  .Case("ones", InputOption::Ones)
                  .Default(-1);
  option.hasShape = source.contains(':');
  if (known < 0 || (option.hasShape && failed(parseShape(shape, option.shape))))
    return wrong();
  option.kind = static_cast<InputOption::Kind>(known);
  return option;
}

static FailureOr<OutputOption> parseOutput(StringRef text) {
  auto [name, path] = text.split('=');
  if (name.empty() || !path.consume_front("@") || path.empty())
    return reportUsage("--output", "expected NAME=@FILE.npy, found '" + text + "'");
  return OutputOption{name.str(), path.str()};
}

template <typename T>
static FailureOr<std::vector<T>> parseAll(ArrayRef<std::string> texts, StringRef flag,
                                          FailureOr<T> (*parse)(StringRef)) {
  std::vector<T> options;
  for (StringRef text : texts) {
    FailureOr<T> option = parse(text);
    if (failed(option))
      return failure();
    if (llvm::any_of(options, [&](const T &other) { return other.name == option->name; }))
      return reportUsage(flag, "expected '" + option->name + "' once, found it twice");
    options.push_back(*option);
  }
  return options;
}

FailureOr<std::vector<InputOption>> attnc::parseInputs(ArrayRef<std::string> texts) {
  return parseAll<InputOption>(texts, "--input", parseInput);
}

FailureOr<std::vector<OutputOption>> attnc::parseOutputs(ArrayRef<std::string> texts) {
  return parseAll<OutputOption>(texts, "--output", parseOutput);
}

FailureOr<size_t> attnc::findParameter(ArrayRef<Parameter> parameters, StringRef name,
                                       StringRef option) {
  for (auto [index, parameter] : llvm::enumerate(parameters))
    if (parameter.name == name)
      return index;
  auto names = llvm::map_range(parameters, [](const Parameter &p) { return p.name; });
  return reportError(option,
                     "expected one of " + llvm::join(names, ", ") + ", found '" + name + "'");
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

void Sizes::set(StringRef symbol, int64_t size, StringRef source) {
  sizes[symbol] = {size, source.str()};
}

std::optional<int64_t> Sizes::get(StringRef symbol) const {
  auto known = sizes.find(symbol);
  return known == sizes.end() ? std::nullopt : std::optional(known->second.size);
}

LogicalResult Sizes::bind(const Parameter &parameter, ArrayRef<int64_t> shape, StringRef option) {
  auto wrong = [&](const Twine &expected) {
    return reportError(option,
                       parameter.name + ": expected " + expected + ", found " + describe(shape));
  };
  if (shape.size() != parameter.shape.size())
    return wrong("rank " + Twine(parameter.shape.size()) + " as in " + describe(parameter));
  for (auto [index, size] : llvm::enumerate(shape)) {
    int64_t wanted = parameter.shape[index];
    if (!ShapedType::isDynamic(wanted) && wanted != size)
      return wrong("dimension " + Twine(index) + " to be " + Twine(wanted) + " as in " +
                   describe(parameter));
    StringRef symbol = parameter.symbols[index];
    if (symbol.empty())
      continue;
    auto [known, isNew] = sizes.try_emplace(symbol, Size{size, parameter.name});
    if (known->second.size != size)
      return wrong("dimension " + Twine(index) + ", " + symbol + ", to be " +
                   Twine(known->second.size) + " as in " + known->second.source);
  }
  return success();
}

std::optional<SmallVector<int64_t>> Sizes::getShape(const Parameter &parameter) const {
  SmallVector<int64_t> shape = parameter.shape;
  for (auto [size, symbol] : llvm::zip(shape, parameter.symbols)) {
    if (!ShapedType::isDynamic(size))
      continue;
    std::optional<int64_t> known = get(symbol);
    if (!known)
      return std::nullopt;
    size = *known;
  }
  return shape;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

namespace {
/// Repeatable on every machine: std's distributions are not.
class Generator {
public:
  Generator(uint64_t seed, uint64_t stream) : bits(seed * 0x9E3779B97F4A7C15 + stream) {}

  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  /// Box and Muller's transform.
  double normal() {
    double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }

private:
  std::mt19937_64 bits;
};
} // namespace

/// Floats are normal, integers below `bound`, bools evenly true.
static void fillRandom(Tensor &tensor, Generator generator, int64_t bound) {
  Type type = tensor.getElementType();
  if (type.isInteger(1))
    bound = 2;
  for (int64_t index = 0; index < tensor.size(); ++index)
    tensor.set(index,
               isa<FloatType>(type) ? generator.normal() : std::floor(generator.uniform() * bound));
}

int64_t attnc::getIntegerBound(const Signature &signature, const Sizes &sizes) {
  int64_t bound = 127;
  for (const Parameter &input : signature.inputs) {
    auto shape = sizes.getShape(input);
    if (!shape || !isa<FloatType>(input.elementType))
      continue;
    for (int64_t size : *shape)
      bound = std::min(bound, size);
  }
  return std::max<int64_t>(bound, 1);
}

static LogicalResult reportMissing(const Parameter &input, bool isNamed) {
  return reportError("--input", "expected " + input.name + "=… of " + describe(input) + ", found " +
                                    (isNamed ? "no shape" : "no input of that name"));
}

/// The tensors that are given; an empty one where a shape has yet to be found.
static FailureOr<std::vector<std::optional<Tensor>>>
makeGiven(const Signature &signature, ArrayRef<const InputOption *> options, Sizes &sizes) {
  std::vector<std::optional<Tensor>> tensors(signature.inputs.size());
  for (auto [index, option] : llvm::enumerate(options)) {
    const Parameter &input = signature.inputs[index];
    if (!option || (option->kind != InputOption::File && !option->hasShape))
      continue;
    if (option->kind == InputOption::File) {
      FailureOr<Tensor> read = readNpy(option->path, input.name, input.elementType);
      if (failed(read))
        return failure();
      tensors[index].emplace(std::move(*read));
    } else {
      tensors[index].emplace(input.elementType, option->shape);
    }
    if (failed(sizes.bind(input, tensors[index]->getShape(), "--input")))
      return failure();
  }
  return tensors;
}

/// The option of each input, null where there is none.
static FailureOr<std::vector<const InputOption *>> orderOptions(const Signature &signature,
                                                                ArrayRef<InputOption> options) {
  std::vector<const InputOption *> ordered(signature.inputs.size());
  for (const InputOption &option : options) {
    FailureOr<size_t> index = findParameter(signature.inputs, option.name, "--input");
    if (failed(index))
      return failure();
    ordered[*index] = &option;
  }
  return ordered;
}

LogicalResult attnc::bindInputs(const Signature &signature, ArrayRef<InputOption> options,
                                Sizes &sizes) {
  auto ordered = orderOptions(signature, options);
  return failure(failed(ordered) || failed(makeGiven(signature, *ordered, sizes)));
}

FailureOr<std::vector<Tensor>> attnc::makeInputs(const Signature &signature,
                                                 ArrayRef<InputOption> options, uint64_t seed,
                                                 Sizes &sizes) {
  auto ordered = orderOptions(signature, options);
  if (failed(ordered))
    return failure();
  auto given = makeGiven(signature, *ordered, sizes);
  if (failed(given))
    return failure();

  std::vector<Tensor> tensors;
  for (auto [index, input] : llvm::enumerate(signature.inputs)) {
    const InputOption *option = (*ordered)[index];
    if (!(*given)[index]) {
      auto shape = sizes.getShape(input);
      if (!shape)
        return reportMissing(input, option);
      (*given)[index].emplace(input.elementType, *shape);
      if (!option)
        reportNote(input.name + " is not given: random " + describe(*shape));
    }
    Tensor &tensor = tensors.emplace_back(std::move(*(*given)[index]));
    InputOption::Kind kind = option ? option->kind : InputOption::Random;
    if (kind == InputOption::Random)
      fillRandom(tensor, Generator(seed, index), getIntegerBound(signature, sizes));
    if (kind == InputOption::Ones)
      for (int64_t element = 0; element < tensor.size(); ++element)
        tensor.set(element, 1);
  }
  return tensors;
}
