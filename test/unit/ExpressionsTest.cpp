//===- ExpressionsTest.cpp - each scalar op against C's own
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every case becomes a func of one pipeline, vectorised, and is compared with C
// element by element: integers exactly, floats within an error in units of the last place.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

using attnc::test::Kernel;
using Halide::Runtime::Buffer;

namespace {

/// `ops` computes %r from %a and %b.
template <typename T, typename R = T>
struct Case {
  std::string ops;
  std::function<R(T, T)> expected;
  double ulps = 0;
};

std::string func(const std::string &name, const std::string &ops, const std::string &type,
                 const std::string &resultType) {
  std::string at = "[%x] : !halide.func<" + type + ", 1>\n";
  std::string funcType = " : !halide.func<" + resultType + ", 1>\n";
  return "%" + name + " = halide.func \"" + name + "\" [%x] : " + resultType +
         " {\n%a = halide.at %p" + at + "%b = halide.at %q" + at + ops +
         "\nhalide.yield %r : " + resultType + "\n}\nhalide.output %" + name + " [?]" + funcType +
         "%" + name + "_l = halide.loops %" + name + funcType + "%" + name + "_o, %" + name +
         "_i = halide.split %" + name + "_l by 16 tail guard_with_if\nhalide.vectorize %" + name +
         "_i\n";
}

/// How far apart two floats are, in units of the last place of the expected one.
template <typename R>
double distance(R found, R expected) {
  if (found == expected || (std::isnan(double(found)) && std::isnan(double(expected))))
    return 0;
  if (!std::isfinite(double(found)) || !std::isfinite(double(expected)))
    return std::numeric_limits<double>::infinity();
  double magnitude = std::max(std::abs(double(expected)), double(std::numeric_limits<R>::min()));
  double ulp = std::ldexp(std::numeric_limits<R>::epsilon(), std::ilogb(magnitude));
  return std::abs(double(found) - double(expected)) / ulp;
}

template <typename T, typename R>
void check(const Case<T, R> &test, const Buffer<T> &a, const Buffer<T> &b, const Buffer<R> &out) {
  double worst = 0;
  int where = 0;
  for (int i = 0; i < a.width(); ++i) {
    double error = distance(out(i), test.expected(a(i), b(i)));
    if (!(error <= worst))
      worst = error, where = i;
  }
  EXPECT_LE(worst, test.ulps) << test.ops << "\n  at a = " << +a(where) << ", b = " << +b(where)
                              << ": expected " << +test.expected(a(where), b(where)) << ", found "
                              << +out(where);
}

template <typename T, typename R>
void run(const std::string &type, const std::string &resultType,
         const std::vector<Case<T, R>> &cases, Buffer<T> a, Buffer<T> b) {
  std::string input = " [?] : !halide.func<" + type + ", 1>\n";
  std::string ir =
      "halide.pipeline @e {\n%p = halide.input \"p\"" + input + "%q = halide.input \"q\"" + input;
  for (size_t i = 0; i < cases.size(); ++i)
    ir += func("f" + std::to_string(i), cases[i].ops, type, resultType);
  Kernel kernel(ir + "}\n");
  ASSERT_EQ(kernel.errors(), "");
  std::vector<Buffer<R>> outs(cases.size());
  std::vector<halide_buffer_t *> args{a, b};
  for (Buffer<R> &out : outs) {
    out = Buffer<R>(a.width());
    args.push_back(out);
  }
  ASSERT_EQ(kernel(args), 0);
  for (size_t i = 0; i < cases.size(); ++i)
    check(cases[i], a, b, outs[i]);
}

/// All pairs of `values`.
template <typename T>
std::pair<Buffer<T>, Buffer<T>> pairs(const std::vector<T> &values) {
  int n = values.size();
  Buffer<T> a(n * n), b(n * n);
  for (int i = 0; i < n * n; ++i)
    a(i) = values[i / n], b(i) = values[i % n];
  return {a, b};
}

const float inf = std::numeric_limits<float>::infinity();
const float nan = std::numeric_limits<float>::quiet_NaN();

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

template <typename T>
std::vector<T> integers() {
  T lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
  return {0,
          1,
          -1,
          2,
          3,
          -3,
          7,
          -7,
          8,
          16,
          -16,
          100,
          -100,
          highest,
          T(highest - 5),
          T(lowest + 1),
          T(lowest / 3)};
}

template <typename T>
std::vector<Case<T, T>> integerCases(const std::string &type) {
  using U = std::make_unsigned_t<T>;
  auto op = [&](const std::string &name) { return "%r = " + name + " %a, %b : " + type; };
  auto nonZero = [&](const std::string &name) {
    return "%one = arith.constant 1 : " + type + "\n%d = arith.ori %b, %one : " + type +
           "\n%r = " + name + " %a, %d : " + type;
  };
  auto floorDiv = [](T a, T d) { return T(a / d - (a % d != 0 && (a < 0) != (d < 0))); };
  auto shift = [&](const std::string &name) {
    return "%c = arith.constant 7 : " + type + "\n%s = arith.andi %b, %c : " + type +
           "\n%r = " + name + " %a, %s : " + type;
  };
  return {
      {op("arith.addi"), [](T a, T b) { return T(U(a) + U(b)); }},
      {op("arith.subi"), [](T a, T b) { return T(U(a) - U(b)); }},
      {op("arith.muli"), [](T a, T b) { return T(uint64_t(a) * uint64_t(b)); }},
      {nonZero("arith.divsi"), [](T a, T b) { return T(a / T(b | 1)); }},
      {nonZero("arith.remsi"), [](T a, T b) { return T(a % T(b | 1)); }},
      {nonZero("arith.divui"), [](T a, T b) { return T(U(a) / U(b | 1)); }},
      {nonZero("arith.remui"), [](T a, T b) { return T(U(a) % U(b | 1)); }},
      {nonZero("arith.floordivsi"), [=](T a, T b) { return floorDiv(a, T(b | 1)); }},
      {nonZero("arith.ceildivsi"),
       [=](T a, T b) { return T(floorDiv(a, T(b | 1)) + (a % T(b | 1) != 0)); }},
      {nonZero("arith.ceildivui"),
       [](T a, T b) { return T(U(a) / U(b | 1) + (U(a) % U(b | 1) != 0)); }},
      {"%c = arith.constant 16 : " + type + "\n%r = halide.mod %a, %c : " + type,
       [](T a, T) { return T(((a % 16) + 16) % 16); }},
      {"%c = arith.constant 16 : " + type + "\n%r = arith.floordivsi %a, %c : " + type,
       [=](T a, T) { return floorDiv(a, 16); }},
      {"%c = arith.constant 16 : " + type + "\n%r = arith.ceildivsi %a, %c : " + type,
       [=](T a, T) { return T(floorDiv(a, 16) + (a % 16 != 0)); }},
      {"%c = arith.constant 16 : " + type + "\n%r = arith.divsi %a, %c : " + type,
       [](T a, T) { return T(a / 16); }},
      {"%c = arith.constant 16 : " + type + "\n%r = arith.remsi %a, %c : " + type,
       [](T a, T) { return T(a % 16); }},
      {op("arith.andi"), [](T a, T b) { return T(a & b); }},
      {op("arith.ori"), [](T a, T b) { return T(a | b); }},
      {op("arith.xori"), [](T a, T b) { return T(a ^ b); }},
      {shift("arith.shli"), [](T a, T b) { return T(U(a) << (b & 7)); }},
      {shift("arith.shrsi"), [](T a, T b) { return T(a >> (b & 7)); }},
      {shift("arith.shrui"), [](T a, T b) { return T(U(a) >> (b & 7)); }},
      {op("arith.minsi"), [](T a, T b) { return std::min(a, b); }},
      {op("arith.maxsi"), [](T a, T b) { return std::max(a, b); }},
      {op("arith.minui"), [](T a, T b) { return T(std::min(U(a), U(b))); }},
      {op("arith.maxui"), [](T a, T b) { return T(std::max(U(a), U(b))); }},
      {"%r = math.absi %a : " + type, [](T a, T) { return T(a < 0 ? -a : a); }},
      {"%r = math.ctpop %a : " + type, [](T a, T) { return T(__builtin_popcountll(U(a))); }},
      {"%c = arith.cmpi ult, %a, %b : " + type + "\n%r = arith.select %c, %a, %b : " + type,
       [](T a, T b) { return U(a) < U(b) ? a : b; }},
      {"%c = arith.cmpi sge, %a, %b : " + type + "\n%r = arith.extui %c : i1 to " + type,
       [](T a, T b) { return T(a >= b); }},
      {"%c = arith.cmpi ne, %a, %b : " + type + "\n%r = arith.extsi %c : i1 to " + type,
       [](T a, T b) { return T(-(a != b)); }},
      {"%c = arith.cmpi uge, %a, %b : " + type + "\n%d = arith.trunci %b : " + type +
           " to i1\n%e = arith.cmpi slt, %c, %d : i1" + "\n%r = arith.extui %e : i1 to " + type,
       [](T a, T b) { return T(U(a) >= U(b) && !(b & 1)); }},
  };
}

template <typename T>
void runIntegers(const std::string &type) {
  auto [a, b] = pairs(integers<T>());
  run<T, T>(type, type, integerCases<T>(type), a, b);
}

TEST(Expressions, Int8) { runIntegers<int8_t>("i8"); }
TEST(Expressions, Int16) { runIntegers<int16_t>("i16"); }
TEST(Expressions, Int32) { runIntegers<int32_t>("i32"); }
TEST(Expressions, Int64) { runIntegers<int64_t>("i64"); }

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

const std::vector<float> specials = {0.0f, -0.0f,  1.0f,  -1.0f, 0.5f,   -0.5f, 1.5f,  -1.5f,
                                     2.5f, -2.5f,  3.7f,  -3.7f, 1e-20f, 1e20f, inf,   -inf,
                                     nan,  100.0f, -80.f, 2.0f,  -3.0f,  0.25f, 1e-3f, 0.49999997f};

Case<float, float> compare(const std::string &predicate, bool (*expected)(float, float)) {
  return {"%c = arith.cmpf " + predicate + ", %a, %b : f32\n%r = arith.uitofp %c : i1 to f32",
          [expected](float a, float b) { return float(expected(a, b)); }};
}

bool unordered(float a, float b) { return std::isnan(a) || std::isnan(b); }

TEST(Expressions, FloatComparisons) {
  auto [a, b] = pairs(specials);
  run<float, float>("f32", "f32",
                    {compare("oeq", [](float a, float b) { return a == b; }),
                     compare("ogt", [](float a, float b) { return a > b; }),
                     compare("oge", [](float a, float b) { return a >= b; }),
                     compare("olt", [](float a, float b) { return a < b; }),
                     compare("ole", [](float a, float b) { return a <= b; }),
                     compare("one", [](float a, float b) { return a < b || a > b; }),
                     compare("ord", [](float a, float b) { return !unordered(a, b); }),
                     compare("ueq", [](float a, float b) { return unordered(a, b) || a == b; }),
                     compare("ugt", [](float a, float b) { return unordered(a, b) || a > b; }),
                     compare("uge", [](float a, float b) { return unordered(a, b) || a >= b; }),
                     compare("ult", [](float a, float b) { return unordered(a, b) || a < b; }),
                     compare("ule", [](float a, float b) { return unordered(a, b) || a <= b; }),
                     compare("une", [](float a, float b) { return a != b; }),
                     compare("uno", [](float a, float b) { return unordered(a, b); }),
                     compare("true", [](float, float) { return true; }),
                     compare("false", [](float, float) { return false; })},
                    a, b);
}

float maximum(float a, float b) { return unordered(a, b) ? nan : std::max(a, b); }
float minimum(float a, float b) { return unordered(a, b) ? nan : std::min(a, b); }

TEST(Expressions, FloatArithmetic) {
  auto [a, b] = pairs(specials);
  auto op = [](const std::string &name) { return "%r = " + name + " %a, %b : f32"; };
  auto unary = [](const std::string &name) { return "%r = " + name + " %a : f32"; };
  run<float, float>("f32", "f32",
                    {{op("arith.addf"), [](float a, float b) { return a + b; }},
                     {op("arith.subf"), [](float a, float b) { return a - b; }},
                     {op("arith.mulf"), [](float a, float b) { return a * b; }},
                     {op("arith.divf"), [](float a, float b) { return a / b; }, 1},
                     {op("arith.remf"), [](float a, float b) { return std::fmod(a, b); }},
                     {op("arith.maximumf"), maximum},
                     {op("arith.minimumf"), minimum},
                     {op("arith.maxnumf"), [](float a, float b) { return std::fmax(a, b); }},
                     {op("arith.minnumf"), [](float a, float b) { return std::fmin(a, b); }},
                     {op("math.copysign"), [](float a, float b) { return std::copysign(a, b); }},
                     {op("math.powf"), [](float a, float b) { return std::pow(a, b); }, 3},
                     {op("math.atan2"), [](float a, float b) { return std::atan2(a, b); }, 2},
                     {unary("arith.negf"), [](float a, float) { return -a; }},
                     {unary("math.absf"), [](float a, float) { return std::abs(a); }},
                     {unary("math.floor"), [](float a, float) { return std::floor(a); }},
                     {unary("math.ceil"), [](float a, float) { return std::ceil(a); }},
                     {unary("math.trunc"), [](float a, float) { return std::trunc(a); }},
                     {unary("math.round"), [](float a, float) { return std::round(a); }},
                     {unary("math.roundeven"), [](float a, float) { return std::nearbyint(a); }},
                     {"%c = math.isnan %a : f32\n%r = arith.select %c, %b, %a : f32",
                      [](float a, float b) { return std::isnan(a) ? b : a; }},
                     {"%c = math.isfinite %a : f32\n%r = arith.uitofp %c : i1 to f32",
                      [](float a, float) { return float(std::isfinite(a)); }},
                     {"%c = math.isinf %a : f32\n%r = arith.sitofp %c : i1 to f32",
                      [](float a, float) { return -float(std::isinf(a)); }},
                     {"%c = arith.constant 3.0 : f32\n%r = math.powf %a, %c : f32",
                      [](float a, float) { return a * a * a; }, 2},
                     {"%i = arith.bitcast %a : f32 to i32\n%c = arith.constant 1 : i32\n"
                      "%j = arith.xori %i, %c : i32\n%r = arith.bitcast %j : i32 to f32",
                      [](float a, float) {
                        uint32_t bits;
                        std::memcpy(&bits, &a, 4);
                        bits ^= 1;
                        std::memcpy(&a, &bits, 4);
                        return a;
                      }}},
                    a, b);
}

/// The nearest bf16, ties to even.
float nearestBF16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits = std::isnan(x) ? bits : (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
  std::memcpy(&x, &bits, 4);
  return x;
}

/// By instructions or in f32, as the host has them; both take denormals as 0 or keep them.
TEST(Expressions, BF16Pairs) {
  auto [a, b] =
      pairs<float>({0, -0.f, 1, -1.5, 1.1f, 1 + 0x1p-8f, 1 + 0x3p-8f, 1 + 0x1.002p-8f, -3e30f,
                    3.38e38f, std::numeric_limits<float>::max(), 0x1p-126f, inf, -inf, nan});
  std::string pair = "%pair = halide.round_bf16_pair %a, %b\n%c = arith.constant ";
  std::string toFloat = "%r = arith.bitcast %i : i32 to f32";
  run<float, float>("f32", "f32",
                    {{pair + "16 : i32\n%i = arith.shli %pair, %c : i32\n" + toFloat,
                      [](float a, float) { return nearestBF16(a); }},
                     {pair + "-65536 : i32\n%i = arith.andi %pair, %c : i32\n" + toFloat,
                      [](float, float b) { return nearestBF16(b); }},
                     {pair + "0 : i32\n%r = halide.dot_bf16_pair %a, %pair, %pair",
                      [](float a, float b) {
                        float low = nearestBF16(a), high = nearestBF16(b);
                        return a + high * high + low * low;
                      },
                      2}},
                    a, b);
}

/// Random arguments of every size in [-range, range], and the special ones.
Buffer<float> arguments(float range) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> linear(-range, range), exponent(-30, 0);
  Buffer<float> result(1 << 20);
  for (int i = 0; i < result.width(); ++i)
    result(i) = i < int(specials.size()) ? specials[i]
                : i % 2 ? linear(random)
                        : std::copysign(range * std::exp2(exponent(random)), linear(random));
  return result;
}

Case<float, float> accurate(const std::string &name, double (*expected)(double), double ulps) {
  return {"%r = math." + name + " %a : f32",
          [expected](float a, float) { return float(expected(a)); }, ulps};
}

/// Results below 2^-125.5 count as 0.
double flushed(double x) { return std::abs(x) < 1.6625e-38 ? 0 : x; }

TEST(Expressions, FloatFunctions) {
  Buffer<float> a = arguments(200), b = a;
  run<float, float>(
      "f32", "f32",
      {{"%r = math.exp2 %a : f32",
        [](float a, float) { return a < -125.5f ? 0 : float(std::exp2(double(a))); }, 2.5},
       {"%r = math.exp %a : f32",
        [](float a, float) { return float(flushed(std::exp(double(a)))); }, 2},
       accurate("tanh", std::tanh, 3.5),
       accurate("erf", std::erf, 3),
       accurate("sqrt", std::sqrt, 1),
       accurate("log", std::log, 1),
       accurate("log2", std::log2, 1.5),
       accurate("log10", std::log10, 2),
       accurate("log1p", std::log1p, 1.5),
       accurate("expm1", std::expm1, 1.5),
       accurate("atan", std::atan, 1.5),
       {"%r = math.rsqrt %a : f32", [](float a, float) { return float(1 / std::sqrt(double(a))); },
        2}},
      a, b);
}

/// Up to 1e5 by polynomials.
TEST(Expressions, Sines) {
  for (float range : {2.0f, 1e3f, 1.1e5f, 1e30f}) {
    Buffer<float> a = arguments(range);
    run<float, float>("f32", "f32", {accurate("sin", std::sin, 3), accurate("cos", std::cos, 3)}, a,
                      a);
  }
}

/// Of numbers of all sizes and signs.
TEST(Expressions, Powers) {
  for (float range : {2.0f, 60.0f, 1e30f}) {
    Buffer<float> a = arguments(range), b(a.width());
    std::mt19937 random(2);
    std::uniform_real_distribution<float> exponent(-40, 40);
    b.for_each_value([&](float &x) { x = exponent(random); });
    run<float, float>(
        "f32", "f32",
        {{"%r = math.powf %a, %b : f32",
          [](float a, float b) { return float(std::pow(double(a), double(b))); }, 3},
         {"%m = math.absf %a : f32\n%r = math.powf %m, %b : f32",
          [](float a, float b) { return float(std::pow(std::abs(double(a)), double(b))); }, 3}},
        a, b);
  }
}

TEST(Expressions, Exp2BF16) {
  constexpr double kUlpsOf13Bits = 0x1p11;
  Buffer<float> a = arguments(130), b = a;
  run<float, float>(
      "f32", "f32",
      {{"%low = arith.constant -125.0 : f32\n%high = arith.constant 127.5 : f32\n"
        "%above = arith.maximumf %a, %low : f32\n"
        "%clamped = arith.minimumf %above, %high : f32\n%r = halide.exp2_bf16 %clamped",
        [](float a, float) {
          return std::isnan(a) ? a : std::exp2(std::min(std::max(a, -125.f), 127.5f));
        },
        kUlpsOf13Bits}},
      a, b);
}

/// Beside strict ops the functions still fuse, and may not promise what isn't so.
TEST(Expressions, FloatFunctionsOfStrictOps) {
  auto strict = [](const std::string &name, double (*expected)(double), double ulps) {
    Case<float, float> test = accurate(name, expected, ulps);
    test.ops = "%t = math." + name + " %a : f32\n%r = halide.strict_float %t : f32";
    return test;
  };
  auto isNaN = [](const std::string &name) {
    return Case<float, float>{
        "%one = arith.constant 1.0 : f32\n%zero = arith.constant 0.0 : f32\n%t = math." + name +
            " %a : f32\n%nan = arith.cmpf uno, %t, %t : f32\n"
            "%s = arith.select %nan, %one, %zero : f32\n%r = halide.strict_float %s : f32",
        [name](float a, float) {
          return float(std::isnan(a) || (name == "log" && a < 0) || (name == "log1p" && a < -1));
        }};
  };
  for (float range : {2.0f, 200.0f}) {
    Buffer<float> a = arguments(range), b = a;
    run<float, float>("f32", "f32",
                      {strict(
                           "exp", [](double x) { return flushed(std::exp(x)); }, 2),
                       strict("tanh", std::tanh, 3.5), strict("erf", std::erf, 3), isNaN("exp"),
                       isNaN("tanh"), isNaN("erf")},
                      a, b);
  }
}

TEST(Expressions, FloatFunctionsNearZero) {
  Buffer<float> a = arguments(2), b = a;
  run<float, float>("f32", "f32",
                    {accurate("exp2", std::exp2, 2.5), accurate("exp", std::exp, 2),
                     accurate("tanh", std::tanh, 3.5), accurate("erf", std::erf, 3)},
                    a, b);
}

TEST(Expressions, LogOfNormalNumbers) {
  Buffer<float> a = arguments(1e5f), b = a;
  a.for_each_value([](float &x) {
    x = std::isfinite(x) ? std::max(std::abs(x), std::numeric_limits<float>::min()) : 0;
  });
  run<float, float>("f32", "f32",
                    {{"%r = math.log %a fastmath<afn> : f32",
                      [](float a, float) { return float(std::log(double(a))); }, 1.5}},
                    a, b);
}

TEST(Expressions, SignsOfZero) {
  auto ofSign = [](const std::string &op, const std::string &type) {
    return "%one = arith.constant 1.0 : " + type + "\n%z = " + op + " %a : " + type +
           "\n%r = math.copysign %one, %z : " + type;
  };
  Buffer<float> a(2), b(2);
  a(0) = b(0) = 0, a(1) = b(1) = -0.0f;
  auto same = [](float a, float) { return std::signbit(a) ? -1.0f : 1.0f; };
  auto negated = [](float a, float) { return std::signbit(a) ? 1.0f : -1.0f; };
  std::vector<Case<float, float>> cases = {
      {ofSign("arith.negf", "f32"), negated},
      {ofSign("math.absf", "f32"), [](float, float) { return 1.0f; }}};
  for (const char *name : {"tanh", "expm1", "log1p", "erf", "sin"})
    cases.push_back({ofSign("math." + std::string(name), "f32"), same});
  run<float, float>("f32", "f32", cases, a, b);
  Buffer<double> c(2), d(2);
  c(0) = d(0) = 0, c(1) = d(1) = -0.0;
  run<double, double>(
      "f64", "f64",
      {{ofSign("arith.negf", "f64"), [](double a, double) { return std::signbit(a) ? 1.0 : -1.0; }},
       {ofSign("math.absf", "f64"), [](double, double) { return 1.0; }}},
      c, d);
}

/// Whose floor numbers a bucket.
TEST(Expressions, LogsOfPowers) {
  Buffer<float> ofTwo(277), ofTen(39);
  for (int i = 0; i < ofTwo.width(); ++i)
    ofTwo(i) = std::ldexp(1.0f, i - 149);
  for (int i = 0; i < ofTen.width(); ++i)
    ofTen(i) = float(std::pow(10.0, i));
  run<float, float>("f32", "f32", {accurate("log", std::log, 0), accurate("log2", std::log2, 0)},
                    ofTwo, ofTwo);
  run<float, float>("f32", "f32", {accurate("log10", std::log10, 0)}, ofTen, ofTen);
}

TEST(Expressions, DoubleFunctions) {
  auto [a, b] = pairs<double>({0.5, -0.5, 3.25, -20, 700, inf, -inf, nan});
  auto op = [](const std::string &name) { return "%r = math." + name + " %a : f64"; };
  run<double, double>("f64", "f64",
                      {{op("exp"), [](double a, double) { return std::exp(a); }, 1},
                       {op("exp2"), [](double a, double) { return std::exp2(a); }, 1},
                       {op("tanh"), [](double a, double) { return std::tanh(a); }, 1},
                       {op("erf"), [](double a, double) { return std::erf(a); }, 1},
                       {op("round"), [](double a, double) { return std::round(a); }}},
                      a, b);
}

/// Angles of rotary embeddings, whose sines become f32. The error is that of the sine beside 2.
TEST(Expressions, ShortSines) {
  constexpr double kUlpsOfF32 = 0x1p29;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> sign(-1, 1), exponent(-20, 30);
  Buffer<double> a(1 << 18);
  a.for_each_value(
      [&](double &x) { x = std::copysign(std::exp2(exponent(random)), sign(random)); });
  a(0) = 0, a(1) = std::numeric_limits<double>::infinity(), a(2) = std::nan("");
  auto above = [&](const std::string &name, double (*expected)(double)) {
    return Case<double, double>{"%two = arith.constant 2.0 : f64\n%s = math." + name +
                                    " %a fastmath<afn> : f64\n%r = arith.addf %two, %s : f64",
                                [expected](double a, double) { return 2 + expected(a); },
                                kUlpsOfF32};
  };
  run<double, double>("f64", "f64", {above("sin", std::sin), above("cos", std::cos)}, a, a);
}

TEST(Expressions, Casts) {
  auto [a, b] = pairs<float>({0, 1, -1, 2.9f, -2.9f, 100.5f, -100.5f, 1e6f});
  run<float, int32_t>("f32", "i32",
                      {{"%r = arith.fptosi %a : f32 to i32", [](float a, float) { return int(a); }},
                       {"%k = arith.constant 3.0e9 : f32\n%c = math.absf %a : f32\n"
                        "%d = arith.addf %c, %k : f32\n%r = arith.fptoui %d : f32 to i32",
                        [](float a, float) { return int(uint32_t(std::abs(a) + 3.0e9f)); }},
                       {"%i = arith.fptosi %a : f32 to i32\n%r = arith.addi %i, %i : i32",
                        [](float a, float) { return 2 * int(a); }},
                       {"%c = math.absf %a : f32\n%r = arith.fptoui %c : f32 to i32",
                        [](float a, float) { return int(std::abs(a)); }},
                       {"%c = arith.fptosi %a : f32 to i32\n%d = arith.trunci %c : i32 to i8\n"
                        "%r = arith.extsi %d : i8 to i32",
                        [](float a, float) { return int(int8_t(int(a))); }},
                       {"%c = arith.fptosi %a : f32 to i32\n%d = arith.trunci %c : i32 to i8\n"
                        "%r = arith.extui %d : i8 to i32",
                        [](float a, float) { return int(uint8_t(int(a))); }}},
                      a, b);
  auto [i, j] = pairs(integers<int32_t>());
  run<int32_t, float>(
      "i32", "f32",
      {{"%r = arith.sitofp %a : i32 to f32", [](int a, int) { return float(a); }},
       {"%r = arith.uitofp %a : i32 to f32", [](int a, int) { return float(uint32_t(a)); }}},
      i, j);
}

// 16-bit floats are computed in f32 and rounded once.
TEST(Expressions, HalfPrecision) {
  auto [a, b] = pairs<float>({0.5f, -0.5f, 3.25f, -2.0f, 10.0f, 0.0f});
  for (std::string type : {"f16", "bf16"}) {
    double ulps = type == "f16" ? 8192 : 65536;
    auto op = [&](const std::string &name, const std::string &operands) {
      return "%h = arith.truncf %a : f32 to " + type + "\n%k = arith.truncf %b : f32 to " + type +
             "\n%s = " + name + operands + " : " + type + "\n%r = arith.extf %s : " + type +
             " to f32";
    };
    run<float, float>("f32", "f32",
                      {{op("math.exp", " %h"), [](float a, float) { return std::exp(a); }, ulps},
                       {op("arith.addf", " %h, %k"), [](float a, float b) { return a + b; }, ulps},
                       {op("arith.mulf", " %h, %k"), [](float a, float b) { return a * b; }, ulps},
                       {op("arith.maximumf", " %h, %k"), maximum, 0}},
                      a, b);
  }
}

} // namespace
