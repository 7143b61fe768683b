//===- Selftest.cpp - a test that travels with a library ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program is the same for every spec. Beside it lie shapes, what the reference
// makes of inputs of these shapes, and the errors that are allowed. Floats are computed
// there as they are here, so that results alone take space.
//
//===----------------------------------------------------------------------===//

#include "Selftest.h"

#include "Cases.h"

#include "attnc/Target/Library/Library.h"
#include "attnc/Text/Escape.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace attnc;

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral program =
    R"(/* @NAME@_selftest.c - made by attnc: is @NAME@ right on this machine?
 *
 *   cc @NAME@_selftest.c lib@NAME@.a -lm -lpthread -ldl -o @NAME@_selftest
 *   ./@NAME@_selftest@ARGUMENT@
 *
 * Prints the largest error of each result beside the one that is allowed, for several
 * shapes, and ends with 0 where all are within, else with 1. What is expected was computed
 * in float64; of a large result every few elements are looked at. Allowed is twice the error
 * of a plain computation in the same types, and 4 eps of the largest element.
 *
 * With -D@NAME@_SELFTEST_NO_MAIN it is a function of another program.
 */
#include "@NAME@.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct vector {
  const char *name;
  int is_output;
  DLDataType dtype;
  int rank;
  const int64_t *shape;
  const int64_t *integers; /* an input's; NULL where it holds floats */
  const double *expected;  /* of an output: each step-th element; NAN: any will do */
  int64_t step;
  double allowed;
} vector;

typedef struct test {
  const char *sizes;
  const vector *tensors;
} test;

#include "@NAME@_selftest.inc"

/* A multiple of 1/64 from -2 to 2, which any float type holds. */
static double make_float(int64_t index, int tensor) {
  uint64_t bits = (uint64_t)(index + 1) * UINT64_C(0x9E3779B97F4A7C15);
  bits += (uint64_t)(tensor + 1) * UINT64_C(0xBF58476D1CE4E5B9);
  bits = (bits ^ bits >> 31) * UINT64_C(0x94D049BB133111EB);
  return ((int)((bits ^ bits >> 29) >> 56) - 128) / 64.0;
}

static uint64_t encode_f16(double value) {
  int exponent;
  double fraction = frexp(fabs(value), &exponent);
  uint64_t sign = value < 0 ? 0x8000 : 0;
  return value == 0 ? 0 : sign | (uint64_t)(exponent + 14) << 10 | (uint64_t)((2 * fraction - 1) * 1024);
}

static double decode_f16(uint64_t bits) {
  int exponent = (int)(bits >> 10 & 31);
  double fraction = (double)(bits & 1023);
  double value = exponent == 31 ? (fraction != 0 ? NAN : HUGE_VAL)
                 : exponent     ? ldexp(fraction + 1024, exponent - 25)
                                : ldexp(fraction, -24);
  return bits & 0x8000 ? -value : value;
}

static uint64_t encode_float(double value, DLDataType type) {
  uint64_t bits = 0;
  float single = (float)value;
  if (type.bits == 64)
    memcpy(&bits, &value, 8);
  else if (type.code == kDLFloat && type.bits == 16)
    bits = encode_f16(value);
  else
    memcpy(&bits, &single, 4);
  return type.code == kDLBfloat ? bits >> 16 : bits;
}

static double decode_float(uint64_t bits, DLDataType type) {
  double value;
  float single;
  if (type.bits == 64) {
    memcpy(&value, &bits, 8);
    return value;
  }
  if (type.code == kDLFloat && type.bits == 16)
    return decode_f16(bits);
  uint32_t word = (uint32_t)(type.code == kDLBfloat ? bits << 16 : bits);
  memcpy(&single, &word, 4);
  return single;
}

static int is_float(DLDataType type) { return type.code == kDLFloat || type.code == kDLBfloat; }

static double decode_integer(uint64_t bits, DLDataType type) {
  if (type.code == kDLInt && bits >> (type.bits - 1) & 1 && type.bits < 64)
    bits |= ~UINT64_C(0) << type.bits;
  return type.code == kDLInt ? (double)(int64_t)bits : (double)bits;
}

static int64_t count(const vector *tensor) {
  int64_t elements = 1;
  for (int i = 0; i < tensor->rank; ++i)
    elements *= tensor->shape[i];
  return elements;
}

/* Of a byte order in which an integer's lowest byte comes first. */
static void fill(const vector *tensor, int number, char *data) {
  int64_t elements = count(tensor);
  size_t size = tensor->dtype.bits / 8;
  for (int64_t i = 0; i < elements; ++i) {
    uint64_t bits = ~UINT64_C(0); /* of an output: NaN */
    if (!tensor->is_output)
      bits = tensor->integers ? (uint64_t)tensor->integers[i]
                              : encode_float(make_float(i, number), tensor->dtype);
    memcpy(data + (size_t)i * size, &bits, size);
  }
}

/* Whether an output is as expected. */
static int check(const vector *tensor, const char *data) {
  double error = 0;
  int64_t elements = count(tensor), misplaced = 0;
  size_t size = tensor->dtype.bits / 8;
  for (int64_t i = 0, n = 0; i < elements; i += tensor->step, ++n) {
    uint64_t bits = 0;
    memcpy(&bits, data + (size_t)i * size, size);
    double found = is_float(tensor->dtype) ? decode_float(bits, tensor->dtype)
                                           : decode_integer(bits, tensor->dtype);
    double wanted = tensor->expected[n];
    if (isnan(wanted) || found == wanted)
      continue;
    if (!isfinite(found) || !isfinite(wanted))
      ++misplaced;
    else if (fabs(found - wanted) > error)
      error = fabs(found - wanted);
  }
  int good = error <= tensor->allowed && !misplaced;
  printf("  %s: error %.2e, allowed %.2e", tensor->name, error, tensor->allowed);
  if (misplaced)
    printf(", NaN or infinity at %lld", (long long)misplaced);
  printf(good ? "\n" : "  WRONG\n");
  return good;
}

static int run(const test *self, void **data) {
  DLTensor tensors[tensor_count];
  const DLTensor *pointers[tensor_count];
  for (int i = 0; i < tensor_count; ++i) {
    const vector *tensor = &self->tensors[i];
    DLTensor one = {NULL, {kDLCPU, 0}, tensor->rank, tensor->dtype, NULL, NULL, 0};
    one.shape = (int64_t *)tensor->shape;
    data[i] = malloc((size_t)count(tensor) * (tensor->dtype.bits / 8) + 1);
    if (!(one.data = data[i])) {
      printf("  no memory\n");
      return 0;
    }
    fill(tensor, i, data[i]);
    tensors[i] = one;
    pointers[i] = &tensors[i];
  }
  if (@NAME@_call(NULL, pointers) != 0) {
    printf("  %s  WRONG\n", @NAME@_last_error());
    return 0;
  }
  int good = 1;
  for (int i = 0; i < tensor_count; ++i)
    if (self->tensors[i].is_output)
      good &= check(&self->tensors[i], data[i]);
  return good;
}

/* Gives 0, or 1 where a result is not as expected. */
int @NAME@_selftest(void);
int @NAME@_selftest(void) {
  int wrong = 0;
  for (int t = 0; t < test_count; ++t) {
    void *data[tensor_count] = {NULL};
    printf("%s\n", tests[t].sizes);
    wrong += !run(&tests[t], data);
    for (int i = 0; i < tensor_count; ++i)
      free(data[i]);
  }
  const char *target = @NAME@_target();
  printf("@NAME@ on %s: %d of %d shapes wrong\n", target ? target : "no target", wrong, test_count);
  return wrong != 0;
}

#ifndef @NAME@_SELFTEST_NO_MAIN
@MAIN@#endif
)";

static constexpr llvm::StringLiteral mainAlone = R"(int main(void) { return @NAME@_selftest(); }
)";

/// Of a library with a file of constants.
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

/// make_float of the program.
static double makeFloat(int64_t index, unsigned tensor) {
  uint64_t bits = uint64_t(index + 1) * 0x9E3779B97F4A7C15;
  bits += uint64_t(tensor + 1) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ bits >> 31) * 0x94D049BB133111EB;
  return (int((bits ^ bits >> 29) >> 56) - 128) / 64.0;
}

//===----------------------------------------------------------------------===//
// What it expects
//===----------------------------------------------------------------------===//

/// How many elements of a result are looked at.
static constexpr int64_t mostElements = 4096;

/// Elements apart that fall on every row and every column in turn.
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

/// Lines of several values; C has no empty array.
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
  // More digits than the error of any type but f64 can tell.
  const char *digits = expected.exact.elementType.isF64() ? "%.17g" : "%.11g";
  writeArray(os, "double", name, places, [&](int64_t at) {
    double wanted = expected.getWanted(at);
    if (std::isnan(wanted) || std::isfinite(wanted) != std::isfinite(expected.getRough(at)))
      os << "NAN"; // or the types decide whether it overflows
    else if (std::isinf(wanted))
      os << (wanted < 0 ? "-HUGE_VAL" : "HUGE_VAL");
    else
      os << llvm::format(digits, wanted);
  });
  return name;
}

/// What the program prints, as the inside of a literal that any compiler has room for.
static std::string quote(StringRef text) {
  return mlir::attn::escapeLiteral(mlir::attn::escapeText(text, /*most=*/1000));
}

static std::string getDtype(Type type) {
  StringRef code = type.isInteger(1)          ? "kDLBool"
                   : type.isBF16()            ? "kDLBfloat"
                   : isa<FloatType>(type)     ? "kDLFloat"
                   : type.isUnsignedInteger() ? "kDLUInt"
                                              : "kDLInt";
  return ("{" + code + ", " + Twine(8 * mlir::attn::getElementBytes(type)) + ", 1}").str();
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

LogicalResult attnc::addSelftest(Spec &spec, Graph &graph, StringRef name, StringRef target,
                                 bool hasWeights, Staging &files) {
  bool named = hasDims(graph.getFunction());
  if (failed(spec.lower(Stage::Fused, target)))
    return failure();
  Signature signature = spec.getSignature();
  graph.nameDims(spec.getFunction());
  InputMaker maker(graph.getFunction(), signature, /*given=*/{}, /*seed=*/0);
  std::string text = ("/* What " + name + "_selftest.c expects. */\n").str();
  llvm::raw_string_ostream os(text);
  Tables tables(os);
  for (const Dims &dims :
       chooseDims(graph.getFunction(), getSymbols(signature), named, /*given=*/{}))
    if (failed(addTest(maker, graph, dims, tables)))
      return failure();
  tables.end(signature.inputs.size() + signature.outputs.size());
  if (failed(files.add((name + "_selftest.inc").str(), text)))
    return failure();
  return files.add((name + "_selftest.c").str(), writeProgram(name, hasWeights));
}
