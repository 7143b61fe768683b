// A library of attnc in a C++ project: vectors in and out, errors as exceptions. Prints how
// far the kernel is from plain loops in float64.

#include "causal.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

constexpr int64_t heads = 8, width = 64;

struct Array {
  Array(int64_t batch, int64_t len)
      : shape{batch, heads, len, width}, data(size_t(batch * heads * len * width)) {}

  DLTensor view() { return {data.data(), {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape, nullptr, 0}; }

  int64_t shape[4];
  std::vector<float> data;
};

Array attend(Array &query, Array &key, Array &value) {
  Array context(query.shape[0], query.shape[2]);
  DLTensor q = query.view(), k = key.view(), v = value.view(), c = context.view();
  if (causal(&q, &k, &v, &c) != 0)
    throw std::runtime_error(causal_last_error());
  return context;
}

Array random(int64_t batch, int64_t len, std::mt19937 &bits) {
  Array array(batch, len);
  std::normal_distribution<float> normal;
  for (float &value : array.data)
    value = normal(bits);
  return array;
}

/// Element `x` of the context at position `row` of one head, whose arrays begin at `begin`.
double contextAt(const Array &query, const Array &key, const Array &value, size_t begin,
                 int64_t row, int64_t x) {
  double sum = 0, total = 0;
  for (int64_t other = 0; other <= row; ++other) {
    double score = 0;
    for (int64_t i = 0; i < width; ++i)
      score += double(query.data[begin + row * width + i]) * key.data[begin + other * width + i];
    double weight = std::exp(0.125 * score);
    sum += weight * value.data[begin + other * width + x];
    total += weight;
  }
  return sum / total;
}

double largestError(const Array &query, const Array &key, const Array &value,
                    const Array &context) {
  int64_t len = query.shape[2];
  double error = 0;
  for (int64_t head = 0; head < query.shape[0] * heads; ++head)
    for (int64_t row = 0; row < len; ++row)
      for (int64_t x = 0; x < width; x += 7) {
        size_t begin = size_t(head * len * width);
        double wanted = contextAt(query, key, value, begin, row, x);
        error = std::max(error, std::abs(context.data[begin + row * width + x] - wanted));
      }
  return error;
}

} // namespace

int main() try {
  std::mt19937 bits(1);
  Array query = random(2, 50, bits), key = random(2, 50, bits), value = random(2, 50, bits);
  double error = largestError(query, key, value, attend(query, key, value));
  std::printf("largest error %.1e: %s\n", error, error < 1e-5 ? "right" : "WRONG");

  Array shorter = random(2, 49, bits);
  try {
    attend(query, shorter, value);
  } catch (const std::runtime_error &refused) {
    std::printf("refused: %s\n", refused.what());
  }
  return error < 1e-5 ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception &failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return EXIT_FAILURE;
}
