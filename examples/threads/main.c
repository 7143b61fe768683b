/* Many callers at once, on one pool of threads that the program owns.
 *
 *   attnc compile ../causal/spec.mlir -o .
 *   cc main.c libcausal.a -lm -lpthread -ldl && ./a.out
 *
 * Each caller computes shapes of its own, again and again, and compares every result with
 * that of a call on a single thread: the same bits.
 */

#include "causal.h"
#include "pool.h"

#include <string.h>

/*===------------------------------------------------------------------------===*
 * The callers
 *===------------------------------------------------------------------------===*/

enum { workers = 3, callers = 2, calls = 1000, lengths = 5, heads = 8, width = 64 };

typedef struct caller {
  pool *threads;
  int number, wrong;
} caller;

static float *make_floats(size_t count, int seed) {
  float *values = malloc(count * sizeof *values);
  if (!values)
    abort();
  for (size_t i = 0; i < count; ++i)
    values[i] = (float)((i * 7919 + (size_t)seed * 104729) % 2003) / 1000 - 1;
  return values;
}

static int attend(const causal_options *options, int64_t len, float *in[3], float *out) {
  int64_t shape[] = {1, heads, len, width};
  DLTensor q = {in[0], {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape, NULL, 0}, k = q, v = q, c = q;
  k.data = in[1];
  v.data = in[2];
  c.data = out;
  return causal_ex(options, &q, &k, &v, &c);
}

/* `calls / lengths` calls on one shape. */
static void repeat(caller *self, int64_t len) {
  size_t size = (size_t)(heads * len * width);
  float *in[3], *expected = make_floats(size, 0), *found = make_floats(size, 0);
  for (int i = 0; i < 3; ++i)
    in[i] = make_floats(size, 10 * self->number + i);
  causal_options single = {.size = sizeof single, .threads = 1};
  causal_options pooled = {.size = sizeof pooled, .parallel = run_on_pool, .pool = self->threads};
  self->wrong += attend(&single, len, in, expected) != 0;
  for (int i = 0; i < calls / lengths; ++i) {
    memset(found, 0xff, size * sizeof *found);
    self->wrong +=
        attend(&pooled, len, in, found) != 0 || memcmp(found, expected, size * sizeof *found) != 0;
  }
  for (int i = 0; i < 3; ++i)
    free(in[i]);
  free(expected);
  free(found);
}

static void *call_often(void *data) {
  caller *self = data;
  for (int i = 0; i < lengths; ++i)
    repeat(self, 3 + 29 * i + 11 * self->number);
  return NULL;
}

int main(void) {
  pool threads;
  pthread_t calling[callers];
  caller each[callers];
  start_pool(&threads, workers);
  for (int i = 0; i < callers; ++i) {
    each[i] = (caller){&threads, i, 0};
    pthread_create(&calling[i], NULL, call_often, &each[i]);
  }
  int wrong = 0;
  for (int i = 0; i < callers; ++i) {
    pthread_join(calling[i], NULL);
    wrong += each[i].wrong;
  }
  stop_pool(&threads);
  printf("%d callers, %d calls each, %d wrong\n", callers, calls, wrong);
  return wrong != 0;
}
