/* A cache that grows in place gives the bits of one that is copied; no other overlap is taken. */

#include "both.h"
#include "step.h"

#include <stdio.h>
#include <string.h>

enum { batch = 2, capacity = 37, heads = 2, width = 16, added = 3, steps = 9 };

static const DLDataType f32 = {kDLFloat, 32, 1}, i32 = {kDLInt, 32, 1};
static float query[batch * 2 * heads * added * width], rows[batch * heads * added * width];
static float contexts[2][batch * 2 * heads * added * width];
/* The caches of the two: one copied back and forth, one in place, with rows to spare. */
static float copied[2][batch * heads * capacity * width];
static float grown[batch * heads * capacity * width + capacity * width];
static int32_t length[batch];
static int wrong;

static int64_t query_shape[] = {batch, 2 * heads, added, width};
static int64_t rows_shape[] = {batch, heads, added, width};
static int64_t cache_shape[] = {batch, heads, capacity, width};
static int64_t batch_shape[] = {batch};

static DLTensor tensor(void *data, int rank, DLDataType type, int64_t *shape, int64_t *strides) {
  return (DLTensor){data, {kDLCPU, 0}, rank, type, shape, strides, 0};
}

static int run(float *from, float *to, int64_t *to_strides, float *context) {
  DLTensor q = tensor(query, 4, f32, query_shape, NULL), r = tensor(rows, 4, f32, rows_shape, NULL);
  DLTensor n = tensor(length, 1, i32, batch_shape, NULL);
  DLTensor c = tensor(from, 4, f32, cache_shape, NULL),
           o = tensor(to, 4, f32, cache_shape, to_strides);
  DLTensor out = tensor(context, 4, f32, query_shape, NULL);
  return step(&q, &r, &n, &c, &out, &o);
}

static void expect(int status, int expected, const char *message, const char *found) {
  if (status == expected && (!message || strcmp(message, found) == 0))
    return;
  ++wrong;
  printf("expected %d %s, found %d %s\n", expected, message ? message : "", status, found);
}

static void fill(float *data, int count, int seed) {
  for (int i = 0; i < count; ++i)
    data[i] = (float)((i * 7919L + seed * 104729L) % 2003) / 500 - 2;
}

static void decode(void) {
  fill(copied[0], batch * heads * capacity * width, 1);
  memcpy(grown, copied[0], sizeof copied[0]);
  length[1] = 5;
  for (int i = 0; i < steps; ++i) {
    fill(query, batch * 2 * heads * added * width, 2 + i);
    fill(rows, batch * heads * added * width, 100 + i);
    expect(run(copied[i % 2], copied[(i + 1) % 2], NULL, contexts[0]), 0, NULL, step_last_error());
    expect(run(grown, grown, NULL, contexts[1]), 0, NULL, step_last_error());
    wrong += memcmp(contexts[0], contexts[1], sizeof contexts[0]) != 0;
    wrong += memcmp(copied[(i + 1) % 2], grown, sizeof copied[0]) != 0;
    length[0] += added, length[1] += added;
  }
}

static void overlaps(void) {
  const char *message = "grown: expected memory separate from cache, found an overlap";
  int64_t wider[] = {(heads * capacity + 1) * width, capacity * width, width, 1};
  length[0] = length[1] = 0;
  expect(run(grown, grown + width, NULL, contexts[0]), -1, message, step_last_error());
  expect(run(grown, grown, wider, contexts[0]), -1, message, step_last_error());
  expect(run(grown, grown, NULL, grown), -1,
         "context: expected memory separate from cache, found an overlap", step_last_error());
  int64_t one_row[] = {1, 1, 1, 4}, eight[] = {1, 1, 8, 4}, one[] = {1};
  DLTensor r = tensor(rows, 4, f32, one_row, NULL), n = tensor(length, 1, i32, one, NULL);
  DLTensor c = tensor(grown, 4, f32, eight, NULL), change = tensor(query, 4, f32, eight, NULL);
  DLTensor o = c;
  expect(both(&r, &n, &c, &o, &change), -1, message, both_last_error());
}

int main(void) {
  decode();
  overlaps();
  printf("%d wrong\n", wrong);
  return wrong != 0;
}
