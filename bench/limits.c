/* What one core can do at most: multiply and add, and read memory. */

#include <stdint.h>

#ifdef __AVX512F__
enum { kBytes = 64 };
#else
enum { kBytes = 32 };
#endif
typedef float Floats __attribute__((vector_size(kBytes)));
typedef int64_t Words __attribute__((vector_size(64), aligned(1)));

enum { kChains = 12, kMostFetches = 3 };

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

/* Prefetches into the L1 cache, or with a locality of 2 into L2, as __builtin_prefetch counts. */
static inline __attribute__((always_inline)) void prefetch(const char *address, int locality) {
  if (locality == 3)
    __builtin_prefetch(address, 0, 3);
  else
    __builtin_prefetch(address, 0, 2);
}

/* Reads chunks of a multiple of 256 bytes, and prefetches those `ahead` chunks on, as often as `fetches` says: a core
 * drops prefetches while it waits for as many lines as it can, so that each is repeated at half the distance. */
static inline __attribute__((always_inline)) int64_t read_fetching(const char *const *chunks, int64_t count,
                                                                   int64_t bytes, int64_t ahead, int fetches,
                                                                   int locality) {
  Words sums[4] = {{0}};
  for (int64_t i = 0; i < count; ++i) {
    const char *chunk = chunks[i], *next[kMostFetches];
    for (int fetch = 0; fetch < fetches; ++fetch) {
      int64_t to = i + ((ahead + (1 << fetch) - 1) >> fetch);
      next[fetch] = chunks[to < count ? to : i];
    }
    for (int64_t x = 0; x < bytes; x += 256)
      for (int line = 0; line < 4; ++line) {
        for (int fetch = 0; fetch < fetches; ++fetch)
          prefetch(next[fetch] + x + 64 * line, locality);
        sums[line] += *(const Words *)(chunk + x + 64 * line);
      }
  }
  sums[0] += sums[1] + sums[2] + sums[3];
  int64_t sum = 0;
  for (int word = 0; word < 8; ++word)
    sum += sums[0][word];
  return sum;
}

int64_t read_chunks(const char *const *chunks, int64_t count, int64_t bytes, int64_t ahead, int64_t fetches,
                    int64_t locality) {
  if (fetches == 0)
    return read_fetching(chunks, count, bytes, ahead, 0, 2);
  if (fetches == 1)
    return locality == 3 ? read_fetching(chunks, count, bytes, ahead, 1, 3)
                         : read_fetching(chunks, count, bytes, ahead, 1, 2);
  return locality == 3 ? read_fetching(chunks, count, bytes, ahead, kMostFetches, 3)
                       : read_fetching(chunks, count, bytes, ahead, kMostFetches, 2);
}
