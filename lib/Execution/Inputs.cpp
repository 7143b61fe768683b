//===- Inputs.cpp - input tensors for a kernel ----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Execution/Inputs.h"

#include "attnc/Diagnostics/Report.h"
#include "attnc/Execution/Npy.h"
#include "attnc/Import/Safetensors/Safetensors.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace attnc;
using mlir::attn::Safetensors;

FailureOr<size_t> attnc::findParameter(ArrayRef<Parameter> parameters, StringRef name,
                                       StringRef option) {
  for (auto [index, parameter] : llvm::enumerate(parameters))
    if (parameter.name == name)
      return index;
  auto names = llvm::map_range(parameters, [](const Parameter &p) { return p.name; });
  return reportError(option,
                     "expected one of " + llvm::join(names, ", ") + ", found '" + name + "'");
}

LogicalResult attnc::checkAllKnown(ArrayRef<SizeList> lists, const Signature &signature,
                                   ArrayRef<InputSource> given) {
  llvm::SetVector<StringRef> unknown;
  for (const Symbol &symbol : getSymbols(signature))
    unknown.insert(symbol.name);
  for (const SizeList &list : lists)
    unknown.remove(list.symbol);
  for (const Parameter &input : signature.inputs)
    if (llvm::any_of(given, [&](const InputSource &option) { return option.name == input.name; }))
      unknown.remove_if(
          [&](StringRef symbol) { return llvm::is_contained(input.symbols, symbol); });
  if (!unknown.empty())
    return reportError("--size", "expected sizes of " + llvm::join(unknown, ", ") + ", found none");
  return success();
}

namespace {
/// The same on every machine, unlike std's distributions.
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

/// The tensor of the input's name, or the only one.
static FailureOr<Tensor> readSafetensors(StringRef path, const Parameter &input) {
  FailureOr<Safetensors> file =
      Safetensors::open(path, UnknownLoc::get(input.elementType.getContext()));
  if (failed(file))
    return failure();
  const Safetensors::Entry *entry = file->find(input.name);
  if (!entry)
    entry = file->getOnly();
  if (!entry)
    return reportError("--input", path + ": expected a tensor '" + input.name + "', found none");
  if (!entry->type || entry->type.getElementType() != input.elementType)
    return reportError("--input", path + ": expected " + describe(input) + " for " + input.name +
                                      ", found elements " + entry->dtype);
  Tensor tensor(input.elementType, entry->type.getShape());
  llvm::copy(entry->data, tensor.data());
  return tensor;
}

bool attnc::isSafetensors(StringRef path) { return path.ends_with(".safetensors"); }

/// Bools are read as numpy does: kernels take bytes of 0 and 1 alone.
static FailureOr<Tensor> readTensor(StringRef path, const Parameter &input) {
  FailureOr<Tensor> tensor = isSafetensors(path) ? readSafetensors(path, input)
                                                 : readNpy(path, input.name, input.elementType);
  if (succeeded(tensor) && input.elementType.isInteger(1))
    for (char &byte : MutableArrayRef(tensor->data(), tensor->size()))
      byte = byte != 0;
  return tensor;
}

/// A tensor of zeros.
static FailureOr<Tensor> makeZeros(const Parameter &input, ArrayRef<int64_t> shape,
                                   StringRef place) {
  if (getNumElements(shape))
    return Tensor(input.elementType, shape);
  return reportError(place, "expected argument " + input.name + " to fit into memory, found " +
                                describe(shape));
}

/// The given tensors; empty ones if the shape is still unknown.
static FailureOr<std::vector<std::optional<Tensor>>>
makeGiven(const Signature &signature, ArrayRef<const InputSource *> options, Sizes &sizes) {
  std::vector<std::optional<Tensor>> tensors(signature.inputs.size());
  for (auto [index, option] : llvm::enumerate(options)) {
    const Parameter &input = signature.inputs[index];
    if (!option || (option->kind != InputSource::File && !option->hasShape))
      continue;
    FailureOr<Tensor> tensor = option->kind == InputSource::File
                                   ? readTensor(option->path, input)
                                   : makeZeros(input, option->shape, "--input");
    if (failed(tensor))
      return failure();
    tensors[index].emplace(std::move(*tensor));
    if (failed(sizes.bind(input, tensors[index]->getShape(), "--input")))
      return failure();
  }
  return tensors;
}

/// The option of each input; null if it has none.
static FailureOr<std::vector<const InputSource *>> orderOptions(const Signature &signature,
                                                                ArrayRef<InputSource> options) {
  std::vector<const InputSource *> ordered(signature.inputs.size());
  for (const InputSource &option : options) {
    FailureOr<size_t> index = findParameter(signature.inputs, option.name, "--input");
    if (failed(index))
      return failure();
    ordered[*index] = &option;
  }
  return ordered;
}

LogicalResult attnc::bindInputs(const Signature &signature, ArrayRef<InputSource> options,
                                Sizes &sizes) {
  auto ordered = orderOptions(signature, options);
  return failure(failed(ordered) || failed(makeGiven(signature, *ordered, sizes)));
}

FailureOr<std::vector<Tensor>> attnc::makeInputs(const Signature &signature,
                                                 ArrayRef<InputSource> options, uint64_t seed,
                                                 Sizes &sizes) {
  auto ordered = orderOptions(signature, options);
  if (failed(ordered))
    return failure();
  auto given = makeGiven(signature, *ordered, sizes);
  if (failed(given))
    return failure();

  std::vector<Tensor> tensors;
  std::vector<std::string> random;
  for (auto [index, input] : llvm::enumerate(signature.inputs)) {
    const InputSource *option = (*ordered)[index];
    if (!(*given)[index]) {
      auto shape = sizes.getShape(input);
      if (!shape)
        return reportMissing(input, option);
      if (option && option->kind == InputSource::Unread)
        shape->assign(shape->size(), 0);
      FailureOr<Tensor> zeros = makeZeros(input, *shape, "--size");
      if (failed(zeros))
        return failure();
      (*given)[index].emplace(std::move(*zeros));
      if (!option)
        random.push_back(llvm::formatv("{0} {1}[{2:$[, ]}]", input.name, input.elementType,
                                       llvm::make_range(shape->begin(), shape->end())));
    }
    Tensor &tensor = tensors.emplace_back(std::move(*(*given)[index]));
    InputSource::Kind kind = option ? option->kind : InputSource::Random;
    if (kind == InputSource::Random)
      fillRandom(tensor, Generator(seed, index), getIntegerBound(signature, sizes));
    if (kind == InputSource::Ones)
      for (int64_t element = 0; element < tensor.size(); ++element)
        tensor.set(element, 1);
  }
  if (!random.empty())
    reportNote("random, as not given: " + llvm::join(random, ", "));
  return tensors;
}
