/* Incremental decoding with a cache that the program owns.
 *
 *   attnc compile ../grouped/spec.mlir -o .
 *   cc main.c libgrouped.a -lm -lpthread -ldl && ./a.out
 *
 * The cache has room for `capacity` positions. A step writes one row of keys and values,
 * and calls the kernel on a view of the rows so far: the outer strides are the cache's,
 * nothing is copied. What the steps give is compared with one call on the whole sequence.
 */

#include "grouped.h"

#include <math.h>
#include <stdio.h>

enum { query_heads = 8, key_heads = 2, width = 64, capacity = 100, steps = 70 };

typedef float sequence[key_heads][capacity][width];

static float query[query_heads][steps][width], whole[query_heads][steps][width];
static sequence key_cache, value_cache;
static const DLDataType f32 = {kDLFloat, 32, 1};

/* The first `rows` rows of each head. */
static DLTensor view(sequence cache, int64_t *shape, int64_t rows) {
  static int64_t strides[] = {0, capacity * width, width, 1};
  shape[0] = 1, shape[1] = key_heads, shape[2] = rows, shape[3] = width;
  return (DLTensor){cache, {kDLCPU, 0}, 4, f32, shape, strides, 0};
}

static float make_float(int seed) { return (float)((seed * 7919L) % 2003) / 500 - 2; }

/* What a model would compute from the token at `row`. */
static void append(int row) {
  for (int head = 0; head < key_heads; ++head)
    for (int x = 0; x < width; ++x) {
      key_cache[head][row][x] = make_float(1 + 64 * (100 * head + row) + x);
      value_cache[head][row][x] = make_float(7 + 64 * (200 * head + row) + x);
    }
}

static void check(int status) {
  if (status != 0)
    fprintf(stderr, "%s\n", grouped_last_error());
}

/* The context of the position `row`, which sees the cache up to itself. */
static void step(int row, float context[query_heads][1][width]) {
  int64_t key_shape[4], value_shape[4], shape[] = {1, query_heads, 1, width};
  int64_t strides[] = {0, steps * width, width, 1};
  DLTensor q = {&query[0][row], {kDLCPU, 0}, 4, f32, shape, strides, 0};
  DLTensor c = {context, {kDLCPU, 0}, 4, f32, shape, NULL, 0};
  append(row);
  DLTensor k = view(key_cache, key_shape, row + 1), v = view(value_cache, value_shape, row + 1);
  check(grouped(&q, &k, &v, &c));
}

static void prefill(void) {
  int64_t key_shape[4], value_shape[4], shape[] = {1, query_heads, steps, width};
  DLTensor q = {query, {kDLCPU, 0}, 4, f32, shape, NULL, 0}, c = q;
  DLTensor k = view(key_cache, key_shape, steps), v = view(value_cache, value_shape, steps);
  c.data = whole;
  check(grouped(&q, &k, &v, &c));
}

int main(void) {
  static float context[steps][query_heads][1][width];
  for (int i = 0; i < query_heads * steps * width; ++i)
    (&query[0][0][0])[i] = make_float(3 + i);
  for (int row = 0; row < steps; ++row)
    step(row, context[row]);
  prefill();

  float error = 0;
  for (int row = 0; row < steps; ++row)
    for (int head = 0; head < query_heads; ++head)
      for (int x = 0; x < width; ++x)
        error = fmaxf(error, fabsf(context[row][head][0][x] - whole[head][row][x]));
  printf("%d steps, at most %.1e from the whole at once: %s\n", steps, error,
         error < 1e-5f ? "right" : "WRONG");
  return !(error < 1e-5f);
}
