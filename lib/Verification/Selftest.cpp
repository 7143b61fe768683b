//===- Selftest.cpp - a library's self-test in C --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program is the same for every spec. Its .inc file holds shapes, the reference's results on
// inputs of these shapes, and the allowed errors. The program computes float inputs by the formula
// here, so that only results take space.
//
//===----------------------------------------------------------------------===//

#include "attnc/Verification/Selftest.h"

#include "attnc/Execution/InputMaker.h"
#include "attnc/Target/Library/DLPack.h"
#include "attnc/Target/Library/Library.h"
#include "attnc/Text/Escape.h"
#include "attnc/Verification/Expected.h"
#include "attnc/Verification/TestSizes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace attnc;

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// selftest.c.in.
static constexpr char program[] = {
#include "selftest.c.in.inc"
    0};

static constexpr llvm::StringLiteral mainAlone = R"(int main(void) { return @NAME@_selftest(); }
)";

/// main of a library with a weights file.
static constexpr llvm::StringLiteral mainWithWeights = R"(int main(int argc, char **argv) {
  if (@NAME@_load(argc > 1 ? argv[1] : "@FILE@") == 0)
    return @NAME@_selftest();
  printf("%s\n", @NAME@_last_error());
  return 1;
}
)";

static std::string replaceAll(StringRef text, StringRef mark, StringRef by) {
  SmallVector<StringRef> parts;
  text.split(parts, mark);
  return llvm::join(parts, by);
}

static std::string writeProgram(StringRef name, bool hasWeights) {
  std::string text = replaceAll(program, "@MAIN@", hasWeights ? mainWithWeights : mainAlone);
  std::string file = mlir::attn::getWeightsFileName(name);
  text = replaceAll(text, "@ARGUMENT@", hasWeights ? " " + file : "");
  return replaceAll(replaceAll(text, "@FILE@", file), "@NAME@", name);
}

/// make_float of selftest.c.in.
static double makeFloat(int64_t index, unsigned tensor) {
  uint64_t bits = uint64_t(index + 1) * 0x9E3779B97F4A7C15;
  bits += uint64_t(tensor + 1) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ bits >> 31) * 0x94D049BB133111EB;
  return (int((bits ^ bits >> 29) >> 56) - 128) / 64.0;
}

//===----------------------------------------------------------------------===//
// The expected results
//===----------------------------------------------------------------------===//

/// Most elements of a result that are compared.
static constexpr int64_t mostElements = 4096;

/// A step between compared elements that visits every row and every column in turn.
static int64_t getStep(int64_t size) {
  int64_t step = llvm::divideCeil(std::max<int64_t>(size, 1), mostElements);
  while (std::gcd(step, size) != 1 && step > 1)
    ++step;
  return step;
}

namespace {
/// Writes the tables of the program.
class Tables {
public:
  explicit Tables(raw_ostream &os) : os(os) {}

  void addInput(const Parameter &parameter, const Tensor &tensor);
  void addOutput(const Parameter &parameter, const Expected &expected);
  void endTest(const Dims &dims);
  void end(size_t tensors);

private:
  std::string addIntegers(ArrayRef<int64_t> values);
  std::string addDoubles(const Expected &expected, int64_t step);
  void addVector(const Parameter &parameter, ArrayRef<int64_t> shape, bool isOutput,
                 const std::string &rest);
  std::string makeName() { return ("data_" + Twine(next++)).str(); }

  raw_ostream &os;
  unsigned next = 0;
  std::vector<std::string> vectors, tests;
};
} // namespace

/// Writes lines of several values; C has no empty array.
template <typename Range, typename Print>
static void writeArray(raw_ostream &os, StringRef type, StringRef name, Range values, Print print) {
  os << "static const " << type << ' ' << name << "[] = {";
  size_t count = 0;
  for (auto value : values) {
    os << (count++ % 12 == 0 ? "\n  " : " ");
    print(value);
    os << ',';
  }
  os << (count ? "\n};\n" : "0};\n");
}

std::string Tables::addIntegers(ArrayRef<int64_t> values) {
  std::string name = makeName();
  writeArray(os, "int64_t", name, values, [&](int64_t value) { os << value; });
  return name;
}

std::string Tables::addDoubles(const Expected &expected, int64_t step) {
  std::string name = makeName();
  SmallVector<int64_t> places;
  for (int64_t at = 0; at < expected.size(); at += step)
    places.push_back(at);
  // More digits than the error of any type but f64 resolves.
  const char *digits = expected.exact.elementType.isF64() ? "%.17g" : "%.11g";
  writeArray(os, "double", name, places, [&](int64_t at) {
    double wanted = expected.getWanted(at);
    if (std::isnan(wanted) || std::isfinite(wanted) != std::isfinite(expected.getWorstPlain(at)))
      os << "NAN"; // or the rounding decides whether it overflows
    else if (std::isinf(wanted))
      os << (wanted < 0 ? "-HUGE_VAL" : "HUGE_VAL");
    else
      os << llvm::format(digits, wanted);
  });
  return name;
}

/// Printed text as the inside of a literal, short enough for any compiler.
static std::string quote(StringRef text) {
  return mlir::attn::escapeLiteral(mlir::attn::escapeText(text, /*most=*/1000));
}

static std::string getDtype(Type type) {
  DLDataType dtype = *mlir::attn::getDLDataType(type);
  return ("{" + mlir::attn::getCodeName(dtype.code) + ", " + Twine(unsigned(dtype.bits)) + ", 1}")
      .str();
}

void Tables::addVector(const Parameter &parameter, ArrayRef<int64_t> shape, bool isOutput,
                       const std::string &rest) {
  std::string text;
  llvm::raw_string_ostream line(text);
  line << "{\"" << quote(parameter.name) << "\", " << isOutput << ", "
       << getDtype(parameter.elementType) << ", " << shape.size() << ", " << addIntegers(shape)
       << ", " << rest << "}";
  vectors.push_back(text);
}

void Tables::addInput(const Parameter &parameter, const Tensor &tensor) {
  std::string integers = "NULL";
  if (!isa<FloatType>(parameter.elementType)) {
    auto values = llvm::map_to_vector(llvm::seq(tensor.size()),
                                      [&](int64_t at) { return tensor.getInteger(at); });
    integers = addIntegers(values);
  }
  addVector(parameter, tensor.getShape(), /*isOutput=*/false, integers + ", NULL, 1, 0");
}

void Tables::addOutput(const Parameter &parameter, const Expected &expected) {
  int64_t step = getStep(expected.size());
  std::string rest;
  llvm::raw_string_ostream(rest) << "NULL, " << addDoubles(expected, step) << ", " << step << ", "
                                 << llvm::format("%.17g", expected.getAllowed());
  addVector(parameter, expected.exact.shape, /*isOutput=*/true, rest);
}

void Tables::endTest(const Dims &dims) {
  std::string name = makeName();
  writeArray(os, "vector", name, vectors, [&](StringRef vector) { os << vector; });
  vectors.clear();
  auto sizes =
      llvm::map_range(dims, [](auto dim) { return (dim.first + "=" + Twine(dim.second)).str(); });
  tests.push_back("{\"" + (dims.empty() ? "static shapes" : quote(llvm::join(sizes, " "))) +
                  "\", " + name + "}");
}

void Tables::end(size_t tensors) {
  writeArray(os, "test", "tests", tests, [&](StringRef test) { os << test; });
  os << "enum { tensor_count = " << tensors << ", test_count = " << tests.size() << " };\n";
}

static LogicalResult addTest(InputMaker &maker, Graph &graph, const Dims &dims, Tables &tables) {
  Sizes sizes = makeSizes(dims, "the test");
  FailureOr<std::vector<Tensor>> inputs = maker.make(sizes);
  if (failed(inputs))
    return failure();
  for (auto [number, tensor] : llvm::enumerate(*inputs))
    if (isa<FloatType>(tensor.getElementType()))
      for (int64_t at = 0; at < tensor.size(); ++at)
        tensor.set(at, makeFloat(at, number));
  FailureOr<std::vector<Expected>> expected = expectResults(graph, *inputs);
  if (failed(expected))
    return failure();
  for (auto [parameter, tensor] : llvm::zip_equal(maker.getSignature().inputs, *inputs))
    tables.addInput(parameter, tensor);
  for (auto [parameter, result] : llvm::zip_equal(maker.getSignature().outputs, *expected))
    tables.addOutput(parameter, result);
  tables.endTest(dims);
  return success();
}

FailureOr<std::map<std::string, std::string>>
attnc::emitSelftest(Spec &spec, Graph &graph, StringRef name, StringRef target, bool hasWeights) {
  bool named = hasDims(graph.getFunction());
  if (failed(spec.lower(Stage::Fused, target)))
    return failure();
  Signature signature = spec.getSignature();
  graph.nameDims(spec.getFunction());
  InputMaker maker(graph.getFunction(), signature, /*given=*/{}, /*seed=*/0);
  std::string text = ("/* Expected results of " + name + "_selftest.c. */\n").str();
  llvm::raw_string_ostream os(text);
  Tables tables(os);
  for (const Dims &dims :
       chooseDims(graph.getFunction(), getSymbols(signature), named, /*given=*/{}))
    if (failed(addTest(maker, graph, dims, tables)))
      return failure();
  tables.end(signature.inputs.size() + signature.outputs.size());
  std::string stem = (name + "_selftest").str();
  return std::map<std::string, std::string>{{stem + ".inc", text},
                                            {stem + ".c", writeProgram(name, hasWeights)}};
}
