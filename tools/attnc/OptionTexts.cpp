//===- OptionTexts.cpp - inputs, results and sizes on the command line ----===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "attnc/Diagnostics/Report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace attnc;

/// `2x128x64`
static LogicalResult parseShape(StringRef text, SmallVectorImpl<int64_t> &shape) {
  SmallVector<StringRef> sizes;
  text.split(sizes, 'x');
  for (StringRef size : sizes)
    if (size.getAsInteger(10, shape.emplace_back()) || shape.back() < 0)
      return failure();
  return success(getNumElements(shape).has_value());
}

static FailureOr<InputSource> parseInput(StringRef text) {
  auto wrong = [&] {
    return reportUsage(
        "--input",
        "expected NAME=@FILE.npy, NAME=@FILE.safetensors or NAME=random:2x8x64 (zeros, ones), "
        "found '" +
            text + "'");
  };
  auto [name, source] = text.split('=');
  InputSource option;
  option.name = name.str();
  if (name.empty() || source.empty())
    return wrong();
  if (source.consume_front("@")) {
    option.kind = InputSource::File;
    option.path = source.str();
    return source.empty() ? FailureOr<InputSource>(wrong()) : option;
  }
  auto [kind, shape] = source.split(':');
  int known = llvm::StringSwitch<int>(kind)
                  .Case("random", InputSource::Random)
                  .Case("zeros", InputSource::Zeros)
                  .Case("ones", InputSource::Ones)
                  .Default(-1);
  option.hasShape = source.contains(':');
  if (known < 0 || (option.hasShape && failed(parseShape(shape, option.shape))))
    return wrong();
  option.kind = static_cast<InputSource::Kind>(known);
  return option;
}

static FailureOr<OutputFile> parseOutput(StringRef text) {
  auto [name, path] = text.split('=');
  if (name.empty() || !path.consume_front("@") || path.empty())
    return reportUsage("--output",
                       "expected NAME=@FILE.npy or NAME=@FILE.safetensors, found '" + text + "'");
  return OutputFile{name.str(), path.str()};
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

FailureOr<std::vector<InputSource>> attnc::parseInputs() {
  return parseAll<InputSource>(inputTexts, "--input", parseInput);
}

FailureOr<std::vector<OutputFile>> attnc::parseOutputs(ArrayRef<std::string> texts) {
  auto outputs = parseAll<OutputFile>(texts, "--output", parseOutput);
  if (failed(outputs))
    return failure();
  for (auto [index, output] : llvm::enumerate(*outputs))
    for (const OutputFile &other : ArrayRef(*outputs).take_front(index))
      if (other.path == output.path && !isSafetensors(output.path))
        return reportUsage("--output", "expected another file than '" + output.path + "' of '" +
                                           other.name + "' for '" + output.name + "'");
  return outputs;
}

/// `len=256,512`; a symbol precedes its first size.
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
      return reportUsage("--size",
                         "expected SYMBOL=SIZE,… with sizes such as 256, found '" + text + "'");
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
