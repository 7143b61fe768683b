/* Threads and memory of the caller's: the same bits whoever computes them. */

#include "chain.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { heads = 8, rows = 150, columns = 64, size = heads * rows * columns };

static float query[size], key[size], value[size], expected[size], found[size];
static int64_t shape[4] = {1, heads, rows, columns};
static int passed, failed;

static DLTensor tensor(float *data) {
  DLTensor result = {data, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape, NULL, 0};
  return result;
}

static int call(const chain_options *options, float *context) {
  DLTensor q = tensor(query), k = tensor(key), v = tensor(value), c = tensor(context);
  return chain_ex(options, &q, &k, &v, &c);
}

static void check(int is_right, const char *what) {
  ++*(is_right ? &passed : &failed);
  if (!is_right)
    printf("%s: %s\n", what, chain_last_error());
}

static chain_options defaults(void) {
  chain_options options = {0};
  options.size = sizeof options;
  return options;
}

/* Whether a call with these options gives the bits of one without. */
static int is_same(const chain_options *options) {
  memset(found, 0xff, sizeof found);
  return call(options, found) == 0 && memcmp(found, expected, sizeof found) == 0;
}

/*===------------------------------------------------------------------------===*
 * Threads
 *===------------------------------------------------------------------------===*/

typedef struct job {
  void (*task)(void *state, int index);
  void *state;
  int index;
} job;

static void *run_job(void *data) {
  job *self = data;
  self->task(self->state, self->index);
  return NULL;
}

/* What the hooks below were asked. */
typedef struct pool {
  int calls, most;
} pool;

static void note(void *data, int count) {
  pool *self = data;
  ++self->calls;
  if (count > self->most)
    self->most = count;
}

/* A thread for each of the last tasks; the first ones are left out. */
static void run_some(void *data, void (*task)(void *, int), void *state, int count) {
  enum { most_threads = 5 };
  pthread_t threads[most_threads];
  job jobs[most_threads];
  int started = count < most_threads ? count : most_threads;
  note(data, count);
  for (int i = 0; i < started; ++i) {
    job work = {task, state, count - 1 - i};
    jobs[i] = work;
    pthread_create(&threads[i], NULL, run_job, &jobs[i]);
  }
  for (int i = 0; i < started; ++i)
    pthread_join(threads[i], NULL);
}

static void run_backwards(void *data, void (*task)(void *, int), void *state, int count) {
  note(data, count);
  while (count-- > 0)
    task(state, count);
}

static void run_nothing(void *data, void (*task)(void *, int), void *state, int count) {
  (void)task;
  (void)state;
  note(data, count);
}

static void counts_of_threads(void) {
  chain_options options = defaults();
  for (options.threads = 0; options.threads <= 9; ++options.threads)
    check(is_same(&options), "a count of threads");
  options.threads = 1 << 30;
  check(is_same(&options), "many threads");
}

static void pools_of_the_caller(void) {
  void (*const hooks[])(void *, void (*)(void *, int), void *, int) = {run_some, run_backwards,
                                                                       run_nothing};
  for (int hook = 0; hook < 3; ++hook)
    for (int threads = 0; threads <= 4; ++threads) {
      pool asked = {0, 0};
      chain_options options = defaults();
      options.threads = threads;
      options.parallel = hooks[hook];
      options.pool = &asked;
      check(is_same(&options), "a pool of the caller");
      check(threads == 1 ? asked.calls == 0 : asked.calls > 0, "how often the pool is asked");
      check(threads == 0 || asked.most <= threads, "how many threads the pool is asked for");
    }
}

/*===------------------------------------------------------------------------===*
 * Memory
 *===------------------------------------------------------------------------===*/

typedef struct arena {
  int live, calls, left;
} arena;

static void *allocate(void *data, size_t bytes) {
  arena *self = data;
  if (__atomic_fetch_sub(&self->left, 1, __ATOMIC_RELAXED) <= 0)
    return NULL;
  __atomic_fetch_add(&self->live, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&self->calls, 1, __ATOMIC_RELAXED);
  return malloc(bytes);
}

static void deallocate(void *data, void *memory) {
  __atomic_fetch_sub(&((arena *)data)->live, 1, __ATOMIC_RELAXED);
  free(memory);
}

/* A kernel may have a way round what it doesn't get. */
static int is_right_without_memory(const chain_options *options) {
  int status = call(options, found);
  if (status == 0)
    return memcmp(found, expected, sizeof found) == 0;
  return status == chain_NO_MEMORY && chain_last_error()[0];
}

/* ThreadSanitizer doesn't see how the runtime orders a caller and its threads: what both touch
   is atomic throughout. */
static void memory_of_the_caller(void) {
  static arena memory;
  __atomic_store_n(&memory.left, 1 << 20, __ATOMIC_RELAXED);
  chain_options options = defaults();
  options.allocate = allocate;
  options.deallocate = deallocate;
  options.allocator = &memory;
  check(is_same(&options), "an allocator");
  int needed = __atomic_load_n(&memory.calls, __ATOMIC_RELAXED);
  check(needed > 0 && __atomic_load_n(&memory.live, __ATOMIC_RELAXED) == 0,
        "what an allocator gave comes back");
  for (int left = 0; left < needed; ++left) {
    __atomic_store_n(&memory.left, left, __ATOMIC_RELAXED);
    check(is_right_without_memory(&options), "no memory");
    check(__atomic_load_n(&memory.live, __ATOMIC_RELAXED) == 0,
          "what came before no memory is given back");
  }
}

/*===------------------------------------------------------------------------===*
 * Many callers
 *===------------------------------------------------------------------------===*/

typedef struct caller {
  chain_options options;
  int wrong;
  float out[size];
} caller;

static void *run_caller(void *data) {
  caller *self = data;
  for (int i = 0; i < 20; ++i)
    self->wrong +=
        call(&self->options, self->out) != 0 || memcmp(self->out, expected, sizeof expected) != 0;
  return NULL;
}

/* Each with options of its own: they are the call's, not the library's. */
static void callers_at_once(void) {
  static caller callers[3];
  pool asked = {0, 0};
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) {
    callers[i].options = defaults();
    callers[i].options.threads = i;
  }
  callers[2].options.parallel = run_some;
  callers[2].options.pool = &asked;
  for (int i = 0; i < 3; ++i)
    pthread_create(&threads[i], NULL, run_caller, &callers[i]);
  for (int i = 0; i < 3; ++i)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < 3; ++i)
    check(callers[i].wrong == 0, "callers at once");
}

int main(void) {
  unsigned state = 1;
  float *inputs[3] = {query, key, value};
  for (int i = 0; i < 3 * size; ++i) {
    state = state * 1664525 + 1013904223;
    inputs[i % 3][i / 3] = (float)(state >> 8) / (1 << 23) - 1;
  }
  printf("runs %s\n", chain_target());
  check(call(NULL, expected) == 0, "no options");
  counts_of_threads();
  pools_of_the_caller();
  memory_of_the_caller();
  callers_at_once();
  printf("%s, %d failed\n", passed >= 60 ? "passed" : "too few checks", failed);
  return failed != 0;
}
