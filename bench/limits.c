/* What one core can do at most: multiply and add, and read memory. */

#include <stdint.h>

#ifdef __AVX512F__
enum { kBytes = 64 };
#else
enum { kBytes = 32 };
#endif
typedef float Floats __attribute__((vector_size(kBytes)));
typedef int64_t Words __attribute__((vector_size(64), aligned(1)));

enum { kChains = 12 };

/* FLOPs of `count` steps. */
double flops(int64_t count) { return 2.0 * kChains * (kBytes / sizeof(float)) * count; }

float multiply_add(int64_t count) {
  Floats sums[kChains], factor = {0}, term = {0};
  float result = 0;
  factor += 0.5f;
  term += 1.0f;
  for (int chain = 0; chain < kChains; ++chain)
    sums[chain] = term * (float)chain; // chains of equal values would be one
  for (int64_t i = 0; i < count; ++i)
    for (int chain = 0; chain < kChains; ++chain)
      sums[chain] = sums[chain] * factor + term;
  for (int chain = 0; chain < kChains; ++chain)
    result += sums[chain][0];
  return result;
}

/* Reads chunks of a multiple of 256 bytes, and has the L2 cache fetch those `ahead` chunks on. */
int64_t read_chunks(const char *const *chunks, int64_t count, int64_t bytes, int64_t ahead) {
  Words sums[4] = {{0}};
  for (int64_t i = 0; i < count; ++i) {
    const char *chunk = chunks[i], *next = chunks[i + ahead < count ? i + ahead : i];
    for (int64_t x = 0; x < bytes; x += 256)
      for (int line = 0; line < 4; ++line) {
        if (ahead)
          __builtin_prefetch(next + x + 64 * line, 0, 2);
        sums[line] += *(const Words *)(chunk + x + 64 * line);
      }
  }
  sums[0] += sums[1] + sums[2] + sums[3];
  int64_t sum = 0;
  for (int word = 0; word < 8; ++word)
    sum += sums[0][word];
  return sum;
}
